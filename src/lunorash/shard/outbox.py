"""What a mutation has asked of the scheduler, kept in its own transaction until the SchedulerDO has it.

Rows are numbered per shard, and the SchedulerDO stores the last number it accepted together with what it did about
it, so that a row that is sent twice, however late, is recognised.
"""

from __future__ import annotations

import json
from typing import Any, Final

from lunorash.scheduler.store import Store

__all__ = ["PAGE", "Outbox"]

PAGE: Final = 100


class Outbox:
    """The outbox of a shard.

    Args:
        store: the shard's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def last_number(self) -> int:
        """The number of the newest row there ever was."""
        rows = self._store.execute("SELECT seq FROM sqlite_sequence WHERE name = '_lunora_outbox'")
        return int(rows[0]["seq"]) if rows else 0

    def add(self, kind: str, job_id: str, body: dict[str, Any]) -> None:
        """Add a row at the end."""
        self._store.execute(
            "INSERT INTO _lunora_outbox (kind, id, body) VALUES (?, ?, ?)", kind, job_id, json.dumps(body)
        )

    def find(self, job_id: str) -> dict[str, Any] | None:
        """The job of that id that has not been sent yet."""
        rows = self._store.execute(
            "SELECT body FROM _lunora_outbox WHERE kind = 'schedule' AND id = ? ORDER BY number DESC LIMIT 1", job_id
        )
        if not rows:
            return None
        body: dict[str, Any] = json.loads(rows[0]["body"])
        return body

    def take_back(self, job_id: str, after: int) -> bool:
        """Remove a job that was added after a number, as if it had never been; False if there is none."""
        return bool(
            self._store.execute(
                "DELETE FROM _lunora_outbox WHERE kind = 'schedule' AND id = ? AND number > ? RETURNING number",
                job_id,
                after,
            )
        )

    def is_empty(self) -> bool:
        """Whether everything has been sent."""
        return not self._store.execute("SELECT 1 FROM _lunora_outbox LIMIT 1")

    def page(self) -> list[dict[str, Any]]:
        """The oldest rows, at most `PAGE`, as the SchedulerDO takes them."""
        rows = self._store.execute(f"SELECT number, kind, id, body FROM _lunora_outbox ORDER BY number LIMIT {PAGE}")  # noqa: S608
        return [{**row, "body": json.loads(row["body"])} for row in rows]

    def forget(self, up_to: int) -> None:
        """Remove what the SchedulerDO has accepted."""
        self._store.execute("DELETE FROM _lunora_outbox WHERE number <= ?", up_to)
