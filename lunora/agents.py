"""Agents that jobs start: Durable Objects, one for each."""

from __future__ import annotations

from typing import Any

from lunorash.server.agents import Agent


class Support(Agent):
    """Answers a question, in its own time."""

    async def run(self, params: dict[str, Any]) -> None:
        """Answer the question that it was started with."""
        print(f"support for {params['user_id']}: {params['question']}")
