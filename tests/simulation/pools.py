"""Watches the workpools: no more of a pool runs than its cap, in its order, and nothing is kept that is not so."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from lunorash.scheduler.pool import AGEING_MS
from lunorash.scheduler.store import Row

from .journal import Journal, Run
from .platform import Platform
from .scheduler_object import SchedulerObject

__all__ = ["Pools"]

_TOUCHED: Final = (
    "CREATE TEMP TABLE touched_pools (name TEXT PRIMARY KEY) WITHOUT ROWID",
    *(
        f"CREATE TEMP TRIGGER touch_pool_{event}_{table} AFTER {event} ON main.{table} WHEN {name} IS NOT NULL "
        f"BEGIN INSERT OR IGNORE INTO touched_pools VALUES ({name}); END"
        for table, event, name in (
            ("jobs", "INSERT", "NEW.pool"),
            ("jobs", "UPDATE", "NEW.pool"),
            ("pools", "INSERT", "NEW.name"),
            ("pools", "UPDATE", "NEW.name"),
        )
    ),
)

_POOLS: Final = """
SELECT name, max_concurrency, paused, ready_at,
    (SELECT count(*) FROM jobs WHERE pool = name AND state = 'running') AS running,
    (SELECT min(due) FROM jobs WHERE pool = name AND state = 'pending') AS due
FROM touched_pools LEFT JOIN pools USING (name)
"""


class Pools:
    """The pools' watcher.

    Args:
        platform: whose pools.
        journal: learns what is broken, and knows what runs.
    """

    def __init__(self, platform: Platform[SchedulerObject], journal: Journal) -> None:
        self._platform = platform
        self._journal = journal
        self._running: dict[str, set[str]] = defaultdict(set)
        self._largest: dict[str, int] = {}
        """The largest cap that each pool ever had."""
        self._homes: dict[str, str] = {}
        """The pools of jobs that ever ran."""
        self._watching = False
        self._seen = -1
        """The version of the rows that were looked at last."""

    def check(self) -> None:
        """After a transaction: look at the pools that it had to do with."""
        rows = self._platform.storage.rows
        if not self._watching:
            if not rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'history'"):
                return
            for statement in _TOUCHED:
                rows.execute(statement)
            self._watching = True
        if self._seen == rows.version:
            return
        touched = rows.execute(_POOLS)
        if touched:
            rows.execute("DELETE FROM touched_pools")
        self._seen = rows.version
        for pool in touched:
            if pool["max_concurrency"] is None:
                self._journal.violate("a job has its pool", "%s is not there", pool["name"])
                return
            self._largest[pool["name"]] = max(self._largest.get(pool["name"], 0), pool["max_concurrency"])
            self._check(pool)

    def _check(self, pool: Row) -> None:
        name, violate = pool["name"], self._journal.violate
        may_start = not pool["paused"] and pool["running"] < pool["max_concurrency"]
        if pool["ready_at"] != (pool["due"] if may_start else None):
            violate("a pool is ready when its rows say so", "%s is not: %s", name, pool)
        jobs = self._platform.storage.rows.execute(
            "SELECT id, state, due, priority FROM jobs WHERE pool = ? AND state IN ('pending', 'running')", name
        )
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
        for job in jobs:
            if job["state"] == "pending" and job["due"] <= now and _rank(job) < last:
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
