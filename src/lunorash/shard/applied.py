"""Which jobs have had their effect on a shard: written with the effect, so that it happens once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from lunorash.contexts import Job
from lunorash.scheduler.store import Store

__all__ = ["APPLIED_RETENTION_MS", "Applied", "Key"]

APPLIED_RETENTION_MS: Final = 365 * 24 * 60 * 60 * 1000
"""How long it is remembered that a job has had its effect: longer than any retry of it can take."""
_PRUNED: Final = 20
_SHORT: Final = 10_000
"""Results up to so many characters are written together: those of a full batch stay well below what one parameter of a
Durable Object holds, 2 MB."""

Key = tuple[str, str]
"""The id and the incarnation of a job."""


class Applied:
    """The record of a shard. Used inside the transactions that have the effects.

    Args:
        store: the shard's database; its tables are up to date.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._oldest: int | None = None
        """Nothing on record is older than this; None when that has to be looked up."""

    def results(self, jobs: Iterable[Job]) -> dict[Key, str]:
        """The results of those jobs that have had their effect, as JSON text."""
        asked = json.dumps([[job.id, job.incarnation] for job in jobs])
        rows = self._store.execute(
            """
            SELECT job, incarnation, result FROM json_each(?) AS asked CROSS JOIN _lunora_applied
            ON job = asked.value ->> 0 AND incarnation = asked.value ->> 1
            """,
            asked,
        )
        return {(row["job"], row["incarnation"]): row["result"] for row in rows}

    def add(self, results: Mapping[Key, str], now: int) -> None:
        """Record that jobs have had their effect.

        Args:
            results: of each, JSON text.
            now: epoch milliseconds.
        """
        short = [[*key, result] for key, result in results.items() if len(result) <= _SHORT]
        self._store.execute(
            """
            INSERT INTO _lunora_applied SELECT value ->> 0, value ->> 1, value ->> 2, ? FROM json_each(?)
            """,
            now,
            json.dumps(short),
        )
        for key, result in results.items():
            if len(result) > _SHORT:
                self._store.execute("INSERT INTO _lunora_applied VALUES (?, ?, ?, ?)", *key, result, now)
        self._prune(now, len(results))

    def _prune(self, now: int, added: int) -> None:
        if self._oldest is None:
            self._oldest = self._store.execute("SELECT min(at) AS at FROM _lunora_applied")[0]["at"]
        self._oldest = now if self._oldest is None else min(self._oldest, now)
        if now - self._oldest < APPLIED_RETENTION_MS:
            return
        self._oldest = None
        self._store.execute(
            """
            DELETE FROM _lunora_applied WHERE (job, incarnation) IN (
                SELECT job, incarnation FROM _lunora_applied WHERE at <= ? ORDER BY at LIMIT ?
            )
            """,
            now - APPLIED_RETENTION_MS,
            _PRUNED + 2 * added,
        )
