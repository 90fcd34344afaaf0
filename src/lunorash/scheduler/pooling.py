"""Which jobs may start: those without a pool that are due, and those whose pool has room.

The slots of a pool are its running rows, counted whenever one of its jobs has come, gone or changed its state;
there is no counter that could leak. What is kept beside them is only when the pool's next job may start, so that a
pass finds the pools that are ready and meets no other, and the alarm is not armed for what waits for room.
"""

from __future__ import annotations

import heapq
from itertools import islice

from lunorash.errors import LunoraError
from lunorash.scheduler import queries
from lunorash.scheduler.pool import AGEING_MS, DEFAULT_MAX_CONCURRENCY
from lunorash.scheduler.store import Row, Store

__all__ = ["Pooling"]


class Pooling:
    """The pools of a SchedulerDO. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: set[str] = set()

    # -- pools -----------------------------------------------------------------------------------------

    def declare(self, name: str, max_concurrency: int) -> None:
        """Code says what a pool's cap is. One that it has said before does not undo what was set by hand since."""
        self._store.execute(queries.DECLARE_POOL, name, max_concurrency)
        self._changed.add(name)

    def set(
        self,
        name: str,
        *,
        declared: int | None = None,
        paused: bool | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        """Pause or resume a pool, or change its cap. What is None stays as it is.

        Args:
            name: which.
            declared: the cap that code asks for; a pool that is not there is made with it.
            paused: whether it starts nothing from now on.
            max_concurrency: a cap set by hand, which holds until code asks for another one.

        Raises:
            LunoraError: ``POOL_NOT_FOUND``.
        """
        if declared is not None:
            self.declare(name, declared)
        if not self._store.execute(queries.KNOWN_POOL, name):
            raise LunoraError(
                "POOL_NOT_FOUND", f"there is no pool {name!r}; a pool comes to be with its first job, or in code"
            )
        if paused is not None or max_concurrency is not None:
            self._store.execute(queries.SET_POOL, None if paused is None else int(paused), max_concurrency, name)
            self._changed.add(name)

    # -- their jobs ------------------------------------------------------------------------------------

    def join(self, name: str | None) -> None:
        """A job was scheduled, in a pool or in none."""
        if name is not None and name not in self._changed:
            self._store.execute(queries.JOIN_POOL, name, DEFAULT_MAX_CONCURRENCY)
            self._changed.add(name)

    def changed(self, name: str | None) -> None:
        """A job, of a pool or of none, waits or runs that did not before, or no longer does."""
        if name is not None:
            self._changed.add(name)

    def refresh(self) -> None:
        """Find out when the next job of each pool that has changed may start: not at all while it is full or paused."""
        for name in sorted(self._changed):
            self._store.execute(queries.REFRESH_POOL, name)
        self._changed.clear()

    def forget(self) -> None:
        """The operation is over. If it was undone, so is what had changed."""
        self._changed.clear()

    # -- what may start --------------------------------------------------------------------------------

    def startable(self, limit: int, now: int) -> list[Row]:
        """The jobs that may start now, what has waited longest first.

        A pool stands in that line where its own jobs stand by the time they fell due; which of them goes when it is
        its turn, their priority decides as well.

        Args:
            limit: how many at most. So many pools are looked at, too.
            now: epoch milliseconds.

        Returns:
            rows of jobs; if all of them are claimed, no pool has more running than its cap.
        """
        self.refresh()
        lines = [[(row["due"], row) for row in self._store.execute(queries.DUE, now, limit)]]
        for pool in self._store.execute(queries.READY_POOLS, now, limit):
            rows = self._next_of(pool["name"], min(pool["room"], limit), now)
            lines.append(list(zip(sorted(row["due"] for row in rows), rows, strict=True)))
        merged = heapq.merge(*lines, key=lambda place: place[0])
        return [row for _, row in islice(merged, limit)]

    def _next_of(self, pool: str, room: int, now: int) -> list[Row]:
        levels = [
            self._store.execute(queries.DUE_IN_POOL, pool, level["priority"], now, room)
            for level in self._store.execute(queries.PRIORITIES_IN_POOL, pool)
        ]
        return list(islice(heapq.merge(*levels, key=_rank), room))


def _rank(job: Row) -> tuple[int, int, str]:
    """The order in a pool. Ageing needs no clock: two jobs that wait gain alike, so a head start stays what it is."""
    return job["due"] - job["priority"] * AGEING_MS, job["due"], job["id"]
