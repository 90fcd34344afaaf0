"""Agents: Durable Objects that jobs start, each with an instance of its own. Only inside a Worker."""

from __future__ import annotations

import time
from typing import Any

from workers import DurableObject

from lunorash.codec import decode_json
from lunorash.errors import LunoraError

__all__ = ["Agent"]


class Agent(DurableObject):  # type: ignore[misc]
    """An agent. Derive from it in ``lunora/agents.py`` and write `run`.

    A job whose target is ``agents.support`` starts a fresh instance of the class ``Support``, once, however often the
    job is delivered; the job has succeeded when the instance has been told, and `run` goes on by itself.

    Example:
        ::

            class Support(Agent):
                async def run(self, params):
                    ...
    """

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        ctx.storage.sql.exec(
            "CREATE TABLE IF NOT EXISTS _lunora_agent (params TEXT NOT NULL, at REAL NOT NULL)"
        ).toArray()

    async def run(self, params: dict[str, Any]) -> None:  # noqa: ARG002 - for those that derive from it
        """What the agent does.

        If it raises, the platform calls it again, up to six times, with growing pauses.

        Args:
            params: the job's arguments.
        """
        raise LunoraError("AGENT_WITHOUT_RUN", f"{type(self).__name__} has no method run(params); write one")

    async def start(self, params: str) -> bool:
        """Called for a job: start, unless it was started before; returns whether it was started now."""
        storage = self.ctx.storage
        started: list[bool] = []

        def once() -> None:
            if not storage.sql.exec("SELECT 1 FROM _lunora_agent").toArray():
                now = int(time.time() * 1000)
                storage.sql.exec("INSERT INTO _lunora_agent VALUES (?, ?)", params, now).toArray()
                # called, not awaited: it belongs to the transaction
                storage.setAlarm(now + 1).close()
                started.append(True)

        storage.transactionSync(once)
        return bool(started)

    async def alarm(self, alarm_info: Any = None) -> None:  # noqa: ARG002 - the platform passes it
        """Run, soon after `start`."""
        (row,) = self.ctx.storage.sql.exec("SELECT params FROM _lunora_agent").toArray()
        await self.run(decode_json(row["params"], what="the agent's parameters"))
