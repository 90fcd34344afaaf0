"""Watches the workpools: no more of a pool runs than its cap, in its order, and nothing is kept that is not so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from lunorash.scheduler.pool import AGEING_MS
from lunorash.scheduler.store import Row

from .journal import Journal, Run
from .platform import Platform
from .scheduler_object import SchedulerObject
from .tables import Change, Tables

__all__ = ["Pools"]


class Pools:
    """The pools' watcher.

    Args:
        platform: whose pools.
        journal: learns what is broken, and knows what runs.
        tables: the rows.
    """

    def __init__(self, platform: Platform[SchedulerObject], journal: Journal, tables: Tables) -> None:
        self._platform = platform
        self._journal = journal
        self._tables = tables
        self._members: dict[str, dict[str, Row]] = defaultdict(dict)
        """Of each pool the jobs that run or wait."""
        self._running: dict[str, set[str]] = defaultdict(set)
        self.caps: Mapping[str, Collection[int]] = {}
        """Of each pool all caps that it may have."""
        self._largest: dict[str, int] = {}
        """The largest cap that each pool ever had."""
        self._homes: dict[str, str] = {}
        """The pools of jobs that ever ran."""

    def check(self, changes: Mapping[str, Sequence[Change]]) -> None:
        """After a transaction: look at the pools that it had to do with."""
        touched = {change.key: None for change in changes.get("pools", ())}
        for change in changes.get("jobs", ()):
            row = change.new or change.old
            if row is None or row["pool"] is None:
                continue
            touched[row["pool"]] = None
            if change.new is not None and row["state"] in ("pending", "running"):
                self._members[row["pool"]][row["id"]] = row
            else:
                self._members[row["pool"]].pop(row["id"], None)
        for name in touched:
            pool = self._tables.pools.get(name)
            if pool is None:
                self._journal.violate("a job has its pool", "%s is not there", name)
                return
            self._largest[name] = max(self._largest.get(name, 0), pool["max_concurrency"])
            self._check(pool)

    def has_room(self, name: str) -> bool:
        """Whether a pool may start another job."""
        pool = self._tables.pools[name]
        running = sum(job["state"] == "running" for job in self._members[name].values())
        return not pool["paused"] and running < pool["max_concurrency"]

    def _check(self, pool: Row) -> None:
        name, violate = pool["name"], self._journal.violate
        jobs = self._members[name].values()
        waiting = [job for job in jobs if job["state"] == "pending"]
        if pool["max_concurrency"] not in self.caps[name]:
            violate("a pool has the cap that was asked for", "%s has %d", name, pool["max_concurrency"])
        ready_at = min((job["due"] for job in waiting), default=None) if self.has_room(name) else None
        if pool["ready_at"] != ready_at:
            violate("a pool is ready when its rows say so", "%s is not, at %s: %s", name, ready_at, pool)
        running = {job["id"]: job for job in jobs if job["state"] == "running"}
        started = [running[job] for job in running.keys() - self._running[name]]
        self._running[name] = set(running)
        if not started:
            return
        self._journal.count("starts in a pool")
        self._homes |= dict.fromkeys(running, name)
        if len(running) > pool["max_concurrency"]:
            violate(
                "a pool never exceeds its cap", "%s runs %s, its cap is %d", name, [*running], pool["max_concurrency"]
            )
        if pool["paused"]:
            violate("a paused pool starts nothing", "%s started %s", name, started)
        last = max(map(_rank, started))
        now = self._platform.now()
        for job in waiting:
            if job["due"] <= now and _rank(job) < last:
                violate("a pool keeps its order", "%s was passed over by one of %s", job, started)

    def starts(self, run: Run) -> None:
        """A function begins to run: really, not by the rows."""
        name = self._homes.get(run.attempt.job)
        if name is None:
            return
        runs = [
            other.attempt.job
            for job, home in self._homes.items()
            if home == name
            for other in self._journal.runs.get(job, ())
            if other.ended is None
            and not (other.stubborn or other.unheard() or self._platform.clock.jumped_since(other.since))
        ]
        if len(runs) >= self._largest[name] and not run.stubborn:
            self._journal.violate("no more of a pool runs than its cap", "%s starts beside %s", run.attempt.job, runs)


def _rank(job: Row) -> tuple[int, int, str]:
    return job["due"] - job["priority"] * AGEING_MS, job["due"], job["id"]
