"""Deleting what has rested long enough, a little in each pass, so that nothing waits for it."""

from __future__ import annotations

import json
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.history import KNOWN_MS, History
from lunorash.scheduler.store import Row, Store

__all__ = ["PRUNED_PER_PASS", "TOMBSTONE_MS", "Pruning"]

TOMBSTONE_MS: Final = 24 * 60 * 60 * 1000
PRUNED_PER_PASS: Final = 100
_REMEMBERED_PER_PASS: Final = 10  # each of them holds at most the jobs of a dispatch


class Pruning:
    """Deletes history. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        history: says how long they are kept, and how many there are.
    """

    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history

    def prune(self, now: int) -> int:
        """Delete jobs that were kept long enough, and the oldest of those that are too many.

        For its first ten minutes of rest none of these is: the call that scheduled it may be repeated.
        Beside them go those that were only remembered, of a few dispatches, and cancels whose job never came.

        Args:
            now: epoch milliseconds.

        Returns:
            how many were deleted of those that were kept, at most `PRUNED_PER_PASS`.
        """
        due = self.next_due(self._store.execute(queries.WHEN_TO_WAKE)[0])
        if due is None or due > now:
            return 0
        kept = self._history.retention
        pruned = self._store.execute(
            queries.PRUNE, now - kept.succeeded_ms, now - kept.unsuccessful_ms, now - kept.dead_ms, PRUNED_PER_PASS
        )
        self._history.add(-sum(row["state"] != "dead" for row in pruned))
        too_many = min(self._history.excess(), PRUNED_PER_PASS - len(pruned))
        if too_many > 0:
            oldest = self._store.execute(queries.PRUNE_OLDEST, now - KNOWN_MS, too_many)
            self._history.add(-len(oldest))
            pruned += oldest
        if pruned:
            self._store.execute(queries.DELETE_ATTEMPTS, json.dumps([row["id"] for row in pruned]))
        self._store.execute(queries.PRUNE_TOMBSTONES, now - TOMBSTONE_MS, PRUNED_PER_PASS)
        for row in self._store.execute(queries.PRUNE_REMEMBERED, now, _REMEMBERED_PER_PASS):
            self._store.execute(queries.FORGET, row["jobs"])
            self._store.execute(queries.DELETE_ATTEMPTS, row["jobs"])
        return len(pruned)

    def next_due(self, seen: Row) -> int | None:
        """When there is something to delete next, in epoch milliseconds; None if there never is.

        Args:
            seen: what `queries.WHEN_TO_WAKE` has found.
        """
        kept = self._history.retention
        too_many = seen["kept"] > kept.history_limit
        rest_for = {
            "succeeded": KNOWN_MS if too_many else kept.succeeded_ms,
            "canceled": KNOWN_MS if too_many else kept.unsuccessful_ms,
            "expired": KNOWN_MS if too_many else kept.unsuccessful_ms,
            "dead": kept.dead_ms,
            "remembered": 0,
            "buried": TOMBSTONE_MS,
        }
        return min((seen[what] + time for what, time in rest_for.items() if seen[what] is not None), default=None)
