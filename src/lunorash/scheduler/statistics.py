"""What is known of jobs in numbers: since the scheduler came to be, by pool; and for each minute of the last day.

Transitions are counted in memory and written once in a while, two rows for all of them: a job costs no row more.
What is read is what was written: a crash can lose the last second's counts, but nothing that was shown is ever taken
back, which a monitoring system would take for a start from zero.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeVar

from lunorash.errors import LunoraError, shown
from lunorash.scheduler import queries
from lunorash.scheduler.histogram import Histogram
from lunorash.scheduler.journal import Transition
from lunorash.scheduler.store import Store

__all__ = ["COUNTERS", "FLUSH_S", "MAX_MINUTES", "MAX_POOLS", "OTHER_POOLS", "Statistics", "Tally"]

K = TypeVar("K")

COUNTERS: Final = (
    "scheduled", "started", "succeeded", "failed", "retries", "refunds", "dead", "canceled", "expired", "redriven",
    "dropped",
)  # fmt: skip
"""``failed``, ``retries`` and ``refunds`` count attempts, ``started`` too; all others jobs."""

_COUNTERS: Final = {
    "scheduled": "scheduled",
    "started": "started",
    "succeeded": "succeeded",
    "retrying": "retries",
    "refunded": "refunds",
    "dead": "dead",
    "canceled": "canceled",
    "expired": "expired",
    "redriven": "redriven",
    "dropped": "dropped",
}

FLUSH_S: Final = 1
"""How long counts stay in memory before they are written."""
MAX_POOLS: Final = 50
OTHER_POOLS: Final = "(other)"
"""Stands for the pools that came after the first `MAX_POOLS`: a label must not have any number of values."""
MAX_MINUTES: Final = 24 * 60

_MINUTE_MS: Final = 60_000
_TOTALS: Final = 0
"""Where the minute would stand, in the row of the totals."""
_PRUNED: Final = 100


class Tally:
    """Counts, and how late attempts started and how long they ran."""

    __slots__ = ("counts", "duration", "lateness")

    def __init__(self) -> None:
        self.counts: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.lateness = Histogram()
        self.duration = Histogram()

    def count(self, transition: Transition) -> None:
        """Add one transition."""
        self.counts[_COUNTERS[transition["event"]]] += 1
        if transition.get("failed"):
            self.counts["failed"] += 1
        late_ms, ran_ms = transition.get("late_ms"), transition.get("ran_ms")
        if late_ms is not None:
            self.lateness.observe(late_ms)
        if ran_ms is not None:
            self.duration.observe(ran_ms)

    def add(self, other: Tally) -> None:
        """Add all of another one."""
        for name, count in other.counts.items():
            self.counts[name] += count
        self.lateness.add(other.lateness)
        self.duration.add(other.duration)

    def summary(self) -> dict[str, Any]:
        """As the admin API shows a minute."""
        return {**self.counts, "lateness": self.lateness.summary(), "duration": self.duration.summary()}

    def to_dict(self) -> dict[str, Any]:
        """As it is stored and travels: only the counters that are not 0."""
        return {
            "counts": {name: count for name, count in self.counts.items() if count},
            "lateness": self.lateness.to_list(),
            "duration": self.duration.to_list(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Tally:
        """Read what `to_dict` wrote."""
        tally = cls()
        tally.counts |= stored["counts"]
        tally.lateness = Histogram.from_list(stored["lateness"])
        tally.duration = Histogram.from_list(stored["duration"])
        return tally


def _tally(tallies: dict[K, Tally], key: K) -> Tally:
    tally = tallies.get(key)
    if tally is None:
        tally = tallies[key] = Tally()
    return tally


class Statistics:
    """The numbers of a SchedulerDO.

    Args:
        store: where they are kept.
        flush_soon: asks for a `flush` within a second or so; called once until that has been done.
    """

    def __init__(self, store: Store, flush_soon: Callable[[], object] = lambda: None) -> None:
        self._store = store
        self._flush_soon = flush_soon
        self._minutes: dict[int, Tally] = {}
        self._pools: dict[str, Tally] = {}
        self._asked = False

    def count(self, transition: Transition) -> None:
        """A transition that has been committed."""
        if not self._asked:
            self._asked = True
            self._flush_soon()
        minute = transition["at"] - transition["at"] % _MINUTE_MS
        _tally(self._minutes, minute).count(transition)
        _tally(self._pools, transition["pool"] or "").count(transition)

    def flush(self, now: int) -> None:
        """Write what was counted, in a transaction; it stays in memory if that fails."""
        self._asked = False
        if not self._minutes:
            return

        def work() -> None:
            for minute, tally in self._minutes.items():
                stored = self._minute(minute)
                stored.add(tally)
                self._write(minute, stored.to_dict())
            totals = self._totals()
            for pool, tally in self._pools.items():
                name = pool if pool in totals or len(totals) < MAX_POOLS else OTHER_POOLS
                totals.setdefault(name, Tally()).add(tally)
            self._write(_TOTALS, {pool: tally.to_dict() for pool, tally in totals.items()})
            self._store.execute(queries.PRUNE_STATISTICS, now - MAX_MINUTES * _MINUTE_MS, _PRUNED)

        self._store.transaction(work)
        self._minutes, self._pools = {}, {}

    def totals(self, now: int) -> dict[str, Any]:
        """What there was since the scheduler came to be, by pool; ``""`` is what has none."""
        self.flush(now)
        return {pool: tally.to_dict() for pool, tally in self._totals().items()}

    def minutes(self, minutes: int, now: int) -> dict[str, Any]:
        """The last minutes, the oldest first, the one that is not over among them.

        Args:
            minutes: how many, 1 to `MAX_MINUTES`.
            now: epoch milliseconds.

        Raises:
            LunoraError: ``INVALID_INPUT``.
        """
        if isinstance(minutes, bool) or not isinstance(minutes, int) or not 1 <= minutes <= MAX_MINUTES:
            raise LunoraError(
                "INVALID_INPUT", f"minutes is {shown(minutes)}; it must be a whole number from 1 to {MAX_MINUTES:,}"
            )
        self.flush(now)
        last = now - now % _MINUTE_MS
        first = last - (minutes - 1) * _MINUTE_MS
        stored = {
            row["minute"]: Tally.from_dict(json.loads(row["counts"]))
            for row in self._store.execute(queries.STATISTICS, first, last)
        }
        return {
            "now": now,
            "minutes": [
                {"minute": minute, **stored.get(minute, Tally()).summary()}
                for minute in range(first, last + 1, _MINUTE_MS)
            ],
        }

    def _minute(self, minute: int) -> Tally:
        rows = self._store.execute(queries.STATISTICS, minute, minute)
        return Tally.from_dict(json.loads(rows[0]["counts"])) if rows else Tally()

    def _totals(self) -> dict[str, Tally]:
        rows = self._store.execute(queries.STATISTICS, _TOTALS, _TOTALS)
        stored = json.loads(rows[0]["counts"]) if rows else {}
        return {pool: Tally.from_dict(tally) for pool, tally in stored.items()}

    def _write(self, minute: int, counts: dict[str, Any]) -> None:
        self._store.execute(queries.COUNT, minute, json.dumps(counts, separators=(",", ":")))
