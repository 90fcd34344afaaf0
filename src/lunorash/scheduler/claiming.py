"""Taking what is due: opens dispatches, and counts every attempt before it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.batching import BatchSizes, batches
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.job import Attempt, Dispatch
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.settling import Settling
from lunorash.scheduler.store import Row, Store
from lunorash.traceparent import child_of

__all__ = ["LEASE_MS", "UNCONFIGURED", "Claiming"]

LEASE_MS: Final = 60_000
UNCONFIGURED: Final = ""
"""The origin of an object that has none: its breaker is what keeps the alarm from spinning."""


class Claiming:
    """Claims jobs. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        breaker: says whether the origin may be called.
        pooling: says which jobs may start.
        settling: charges jobs that their origin refuses, and ends those that have come too late.
        journal: hears of the attempts that start.
        mint_id: mints ids of dispatches.
        mint_span: mints ids of spans.
        origin: where dispatches go; `UNCONFIGURED` if the deployment does not say.
        origin_problem: why there is none.
        sizes: the most that one dispatch carries.
    """

    def __init__(
        self,
        store: Store,
        breaker: Breaker,
        pooling: Pooling,
        settling: Settling,
        journal: Journal,
        *,
        mint_id: Callable[[], str],
        mint_span: Callable[[], str],
        origin: str,
        origin_problem: str,
        sizes: BatchSizes,
    ) -> None:
        self._store = store
        self._breaker = breaker
        self._pooling = pooling
        self._settling = settling
        self._journal = journal
        self._mint_id = mint_id
        self._mint_span = mint_span
        self._origin = origin
        self._origin_problem = origin_problem
        self._sizes = sizes

    def claim(self, free: int, now: int) -> list[Dispatch]:
        """Claim what is due, as far as there is room, here and in its pool.

        Args:
            free: how many dispatches may be opened.
            now: epoch milliseconds.

        Returns:
            what is to be sent; while the origin's breaker is open at most its probe.
        """
        due = self._in_time(self._startable(free, now), now) if free > 0 else []
        if not due:
            return []
        origin = self._breaker.look(self._origin)
        if origin.probe_at is not None and origin.probe_at > now:
            return []
        if self._origin == UNCONFIGURED:
            self._breaker.failed(UNCONFIGURED, self._origin_problem, now)
            return []
        if origin.probe_at is not None:
            self._breaker.probing(self._origin, now + LEASE_MS)
            return [self._open([], now)]
        sent = []
        for row in due:
            # The first probe after the refusal came back: had there been an outage, it would have failed.
            if row["suspected"] and (origin.proved_at or 0) > row["refunded_at"] > (origin.failed_at or 0):
                self._settling.charge_refusal(row["id"], now)
            else:
                sent.append(row)
        return [self._open(batch, now) for batch in batches(sent, free, self._sizes)]

    def _startable(self, free: int, now: int) -> list[Row]:
        """What may start, enough to fill the dispatches; only if there are mutations can they hold as many as those."""
        due = self._pooling.startable(free * self._sizes.actions, now)
        if len(due) < free * self._sizes.actions or all(row["kind"] != "mutation" for row in due):
            return due
        return self._pooling.startable(free * max(self._sizes.mutations, self._sizes.actions), now)

    def _in_time(self, jobs: list[Row], now: int) -> list[Row]:
        """Those for which it is not too late; the others expire."""
        late = [job for job in jobs if job["expires_at"] is not None and job["expires_at"] <= now]
        if not late:
            return jobs
        self._settling.expire(late, now)
        return [job for job in jobs if job not in late]

    def _open(self, jobs: list[Row], now: int) -> Dispatch:
        dispatch_id, ids = self._mint_id(), [job["id"] for job in jobs]
        carried = json.dumps(ids)
        self._store.execute(queries.OPEN_DISPATCH, dispatch_id, self._origin, now, now + LEASE_MS, carried)
        claimed = {row["id"]: row for row in self._store.execute(queries.CLAIM, dispatch_id, now, carried)}
        for job in jobs:
            self._pooling.changed(job["pool"])
        started = [claimed[job_id] for job_id in ids]
        self._journal.started(started, dispatch_id, now)
        return Dispatch(id=dispatch_id, attempts=tuple(self._attempt(job) for job in started))

    def _attempt(self, job: Row) -> Attempt:
        traceparent = job["traceparent"]
        return _attempt(job, traceparent and child_of(traceparent, self._mint_span()))


def _attempt(job: Row, traceparent: str | None) -> Attempt:
    return Attempt(
        job=job["id"],
        incarnation=job["incarnation"],
        number=job["attempt"],
        charged=job["charged"],
        max_attempts=json.loads(job["retry"])["max_attempts"],
        redrives=job["redrives"],
        target=job["target"],
        args=job["args"],
        scheduled_for=job["scheduled_for"],
        timeout_ms=job["timeout_ms"],
        shard_key=job["shard_key"],
        wants_result=bool(job["completes"]),
        traceparent=traceparent,
    )
