"""Watches the alarm: it stands whenever anything waits, early enough, and no more often than there is work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lunorash.scheduler.engine import KEEP_AWAKE_MS, MAX_OPEN_DISPATCHES
from lunorash.scheduler.history import DEAD_RETENTION_MS, HISTORY_MS
from lunorash.scheduler.pruning import TOMBSTONE_MS

from .journal import Journal
from .platform import Platform
from .pools import Pools
from .rows import Rows
from .scheduler_object import SchedulerObject
from .tables import Change, Tables

__all__ = ["Wakes"]

_OVERSLEPT_MS: Final = 5_000
_PROBES_MS: Final = 48_000


@dataclass(slots=True)
class _Waiting:
    """What there is to wake for."""

    lease: int | None = None
    """The earliest of the open dispatches."""
    due: int | None = None
    """When the next job may start."""
    probe: int | None = None
    """When the origin's breaker looks again."""
    pruned: int | None = None
    """When the next row is to go."""


class Wakes:
    """The alarm's watcher.

    Args:
        platform: whose alarm.
        journal: counts what happens.
        tables: what waits.
        pools: which of it may start.
        rows: what there was to do.
        outages: how many there are.
    """

    def __init__(
        self,
        platform: Platform[SchedulerObject],
        journal: Journal,
        tables: Tables,
        pools: Pools,
        rows: Rows,
        *,
        outages: int,
    ) -> None:
        self._platform = platform
        self._tables = tables
        self._pools = pools
        self._outages = outages
        self._journal = journal
        self._rows = rows
        self._waiting = _Waiting()
        self._measured = 0
        self._was = False, False
        self._open_ms = 0
        self._homeless_ms = 0
        self._trips = 0
        self._probing = False
        self._probing_ms = 0
        self._probes = 0
        self._idle: tuple[int, int, int] | None = None
        """When the last pass was one that had nothing to do: the changes so far, the room, the time."""

    def committed(self, changes: Mapping[str, Sequence[Change]], origin: str | None) -> None:
        """After a transaction: find out what waits now.

        Args:
            changes: what it did.
            origin: where the object sends dispatches.
        """
        tables, waiting = self._tables, self._waiting
        if "dispatches" in changes:
            waiting.lease = min((row["lease"] for row in tables.dispatches.values()), default=None)
            if len(tables.dispatches) > MAX_OPEN_DISPATCHES:
                self._journal.violate("at most a hundred dispatches are open", "%d are", len(tables.dispatches))
        if "jobs" in changes or "pools" in changes:
            self._look_at_jobs()
        if not changes.keys().isdisjoint(("jobs", "remembered", "tombstones")):
            waiting.pruned = min(self._pruned(), default=None)
        if "dispatches" in changes or "jobs" in changes:
            self._look_for_limbo()
        breaker = tables.origins.get(origin or "")
        waiting.probe = breaker["probe_at"] if breaker else None
        self._measure(len(tables.dispatches), origin is None, waiting.probe is not None)

    def _look_at_jobs(self) -> None:
        rooms: dict[str | None, bool] = {None: True}
        due: int | None = None
        for row in self._tables.jobs.values():
            if row["state"] == "pending" and (due is None or row["due"] < due):
                pool = row["pool"]
                if pool not in rooms:
                    rooms[pool] = self._pools.has_room(pool)
                if rooms[pool]:
                    due = row["due"]
        self._waiting.due = due

    def _pruned(self) -> Iterator[int]:
        for row in self._tables.jobs.values():
            if row["ended"] is not None:
                yield row["ended"] + (DEAD_RETENTION_MS if row["state"] == "dead" else HISTORY_MS)
        for row in self._tables.remembered.values():
            yield row["until"]
        for row in self._tables.tombstones.values():
            yield row["called"] + TOMBSTONE_MS

    def _look_for_limbo(self) -> None:
        for row in self._tables.jobs.values():
            if row["state"] == "running" and row["dispatch"] not in self._tables.dispatches:
                self._journal.violate("what runs has a dispatch", "%s has none", row["id"])

    def check(self) -> None:
        """After a transaction, a pass, or headers that came: is an alarm armed, and early enough?"""
        platform, waiting = self._platform, self._waiting
        if platform.object is None or platform.clock_is_new:
            return
        now = platform.now()
        reasons: list[int] = []
        if waiting.lease is not None:
            reasons.append(min(waiting.lease, now + KEEP_AWAKE_MS))
        if waiting.due is not None:
            open_dispatches = len(self._tables.dispatches)
            if min(platform.object.dispatcher.room(), MAX_OPEN_DISPATCHES - open_dispatches) > 0:
                reasons.append(max(waiting.due, waiting.probe or 0))
        if waiting.pruned is not None:
            reasons.append(waiting.pruned)
        if not reasons or platform.firing or platform.object.dispatcher.claiming:
            return
        latest = max(min(reasons), now + 1)
        armed = platform.storage.alarm
        if armed is None or armed > latest:
            self._journal.violate(
                "whatever waits has an alarm",
                "it stands %s, needed in %d ms: %s",
                "nowhere" if armed is None else f"in {armed - now} ms", latest - now, waiting,
            )  # fmt: skip

    def answered(self) -> None:
        """A call was answered: whoever calls the object wakes it, if its alarm was lost."""
        armed, now = self._platform.storage.alarm, self._platform.now()
        if armed is not None and armed < now - _OVERSLEPT_MS and not self._platform.firing:
            self._journal.violate("whoever calls wakes it", "its alarm is %d ms late", now - armed)

    def passed(self, before: int, after: int) -> None:
        """A pass has ended. One without anything to do is not followed by another until something changes."""
        started = self._platform.object
        if before != after or started is None:
            self._idle = None
            return
        idle = after, started.dispatcher.room(), self._platform.clock.steady()
        last, self._idle = self._idle, idle
        self._journal.count("idle passes")
        if last is None or self._platform.clock.jumped_since(last[2]):
            return
        if last[:2] == idle[:2] and idle[2] - last[2] < KEEP_AWAKE_MS - 1_000:
            self._journal.violate("it does not spin", "two passes with nothing to do in %d ms", idle[2] - last[2])

    def check_count(self) -> None:
        """Are wake-ups bounded by the work?

        Each of these may wake the object, at most so often:

        - a start of the object, once, and once more for the alarm it interrupted;
        - a clock that jumps, for what falls due by it and for what was waited for;
        - a pool that is resumed, or whose cap is changed;
        - a job that is scheduled, canceled or redriven, when it falls due, and once more if the alarm had to
          stand early for something that then went away;
        - a dispatch, for the claim, for the room it leaves, for its lease, and for its job's retry;
        - every 30 s with dispatches open;
        - without an origin, when it looks again: after 1 s, 2 s, 4 s, ... and then once a minute less its jitter;
        - a job that has come to rest, when it is pruned, and so the cancel of one that was not there.
        """
        counts = self._journal.counts
        allowed = (
            10
            + 2 * counts["lives of the object"]
            + 4 * counts["clock jumps"]
            + 2 * self._rows.landed
            + 2 * counts["pool changes"]
            + 4 * counts["dispatches"]
            + 2 * self._open_ms // KEEP_AWAKE_MS
            + 8 * self._outages
            + self._homeless_ms // _PROBES_MS
            + 2 * self._rows.ended
        )
        firings = counts["firings of the object"]
        if firings > allowed:
            self._journal.violate("wake-ups are bounded by the work", "%d, allowed are %d", firings, allowed)

    def probed(self) -> None:
        """A probe was sent. Each time the breaker opens: one at once, then after 1 s, 2 s, 4 s, ... up to a minute."""
        self._probes += 1
        counts = self._journal.counts
        allowed = (
            9 * self._trips + self._probing_ms // _PROBES_MS + counts["lives of the object"] + 2 * counts["clock jumps"]
        )
        if self._probes > allowed:
            self._journal.violate("probes back off", "%d were sent, allowed are %d", self._probes, allowed)

    def _measure(self, open_dispatches: int, homeless: bool, probing: bool) -> None:
        """Add up for how long dispatches were open, no origin was known, the breaker was open."""
        now = self._platform.clock.steady()
        passed = now - self._measured
        self._measured = now
        if self._was[0]:
            self._open_ms += passed
        if self._was[1]:
            self._homeless_ms += passed
        if self._probing:
            self._probing_ms += passed
        elif probing:
            self._trips += 1
        self._probing = probing
        self._was = open_dispatches > 0, homeless
