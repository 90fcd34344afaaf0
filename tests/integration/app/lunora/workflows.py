"""A workflow that notes in the journal which instance of it runs."""

from __future__ import annotations

import time
from typing import Any

from journal import journal
from workers import WorkflowEntrypoint


class Errand(WorkflowEntrypoint):  # type: ignore[misc]
    """Runs once for each instance."""

    async def run(self, event: Any, _step: Any) -> None:
        """Note the instance, and what it was started with."""
        entry = f"workflow {event['payload']['tag']}"
        await journal(self.env).write(event["instanceId"], 0, entry, time.time() * 1000)
