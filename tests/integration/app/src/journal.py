"""What the probes really did, kept in a Durable Object of its own so that it survives every crash."""

from __future__ import annotations

import json
from typing import Any

from workers import DurableObject


class JournalDO(DurableObject):  # type: ignore[misc]
    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        self._sql = ctx.storage.sql
        self._sql.exec("CREATE TABLE IF NOT EXISTS entries (job TEXT, attempt INTEGER, event TEXT, at REAL)").toArray()

    async def write(self, job: str, attempt: int, event: str, at: float) -> None:
        self._sql.exec("INSERT INTO entries VALUES (?, ?, ?, ?)", job, attempt, event, at).toArray()

    async def read(self) -> str:
        return json.dumps([dict(row) for row in self._sql.exec("SELECT * FROM entries ORDER BY rowid").toArray()])

    async def read_behind(self, number: int) -> str:
        """Entries behind a number, some at a time; each has its own as `number`."""
        rows = self._sql.exec(
            "SELECT rowid AS number, * FROM entries WHERE rowid > ? ORDER BY rowid LIMIT 2000", number
        )
        return json.dumps([dict(row) for row in rows.toArray()])


def journal(env: Any) -> Any:
    """The one journal of the Worker."""
    return env.JOURNAL.get(env.JOURNAL.idFromName("journal"))
