"""Recording how attempts ended: finds the jobs that an event is about, and writes what `judge` says of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.job import Result
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.verdict import Event, Failed, NeverBegan, Refused, Succeeded, Unavailable, judge

__all__ = ["PROBE", "Settling"]

PROBE: Final = "[]"
"""The jobs of a probe."""


class Settling:
    """Ends attempts. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        breaker: told when an origin does not take what it is sent.
        pooling: told when a job leaves its slot.
        random: numbers in [0, 1), for the jitter of retries.
    """

    def __init__(self, store: Store, breaker: Breaker, pooling: Pooling, random: Callable[[], float]) -> None:
        self._store = store
        self._breaker = breaker
        self._pooling = pooling
        self._random = random

    def record(self, dispatch_id: str, result: Result, now: int) -> None:
        """A receiver says how one attempt ended. Nothing happens if nobody waits for that attempt any more."""
        event = _event(result)
        for job in self._store.execute(queries.AWAITING, result.job, dispatch_id, result.attempt):
            # After its lease ended an attempt is only waited for to learn that it did succeed.
            if job["state"] == "running" or isinstance(event, Succeeded):
                self._end(job, event, now)

    def end_all(self, dispatch: Row, event: Event, now: int) -> None:
        """The same happened to all jobs of a dispatch that are still running."""
        for job in self._store.execute(queries.RUNNING_IN, dispatch["jobs"], dispatch["id"]):
            self._end(job, event, now)

    def cut_off(self, dispatch: Row, reason: str, now: int) -> None:
        """It was our own end that failed before the dispatch began: that says nothing about the origin or the job."""
        if dispatch["jobs"] == PROBE:
            self._breaker.probing(dispatch["origin"], now)
        self.end_all(dispatch, NeverBegan(reason, blamed=False), now)

    def never_began(self, dispatch: Row, reason: str, now: int) -> None:
        """The origin had the dispatch, or should have had it, and did not begin."""
        origin = self._breaker.look(dispatch["origin"])
        if dispatch["jobs"] == PROBE:
            self._breaker.failed(dispatch["origin"], reason, now)
        else:
            self._breaker.trip(dispatch["origin"], reason, now)
        for job in self._store.execute(queries.RUNNING_IN, dispatch["jobs"], dispatch["id"]):
            proved = (origin.proved_at or 0) > (job["refunded_at"] or 0)
            self._end(job, NeverBegan(reason, proved=proved), now)

    def charge_refusal(self, job: Row, now: int) -> None:
        """Charge a pending job for the dispatch that did not begin; see `Refused`."""
        charged = {**job, "charged": job["charged"] + 1}
        self._end(charged, Refused(job["error_message"] or "its dispatch did not begin"), now)

    def _end(self, job: Row, event: Event, now: int) -> None:
        verdict = judge(job, event, now=now, random=self._random)
        if verdict.recorded:
            self._store.execute(
                queries.RECORD_ATTEMPT,
                job["id"],
                job["attempt"],
                job["incarnation"],
                job["dispatch"],
                job["started"],
                now,
                verdict.code,
                verdict.message,
            )
        self._store.execute(
            queries.END_ATTEMPT,
            verdict.state,
            verdict.due,
            verdict.charged,
            int(verdict.alone),
            job["dispatch"] if verdict.late_success_counts else None,
            verdict.cut_offs,
            verdict.refunded_at,
            int(verdict.suspected),
            verdict.unavailable_since,
            now if verdict.ended else None,
            verdict.code,
            verdict.message,
            job["id"],
        )
        self._pooling.changed(job["pool"])


def _event(result: Result) -> Event:
    if result.outcome == "ok":
        return Succeeded()
    if result.outcome == "unavailable":
        return Unavailable(result.code or "FUNCTION_NOT_FOUND", result.message or "")
    return Failed(result.code or "ATTEMPT_FAILED", result.message or "", result.retryable)
