"""An agent that notes in the journal which instance of it runs."""

from __future__ import annotations

import time
from typing import Any

from journal import journal

from lunorash.server.agents import Agent


class Courier(Agent):
    """Runs once for each instance."""

    async def run(self, params: dict[str, Any]) -> None:
        """Note the instance, and what it was started with."""
        await journal(self.env).write(self.ctx.id.name, 0, f"agent {params['tag']}", time.time() * 1000)
