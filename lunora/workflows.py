"""Workflows that jobs start."""

from __future__ import annotations

from typing import Any

from workers import WorkflowEntrypoint


class Onboarding(WorkflowEntrypoint):  # type: ignore[misc]
    """What happens in the first days of a trial."""

    async def run(self, event: Any, step: Any) -> None:
        """Welcome the user."""

        @step.do("welcome")  # type: ignore[untyped-decorator]
        async def welcome() -> str:
            user_id = event["payload"]["user_id"]
            print(f"onboarding {user_id}: welcome")
            return str(user_id)

        await welcome()
