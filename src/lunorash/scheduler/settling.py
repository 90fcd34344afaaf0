"""Recording how attempts ended: finds the jobs that an event is about, and writes what `judge` says of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.history import KNOWN_MS, Retention
from lunorash.scheduler.job import Result
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.verdict import Event, Failed, NeverBegan, Refused, Succeeded, Unavailable, Verdict, judge

__all__ = ["PROBE", "Settling"]

PROBE: Final = "[]"
"""The jobs of a probe."""

_TOO_LATE: Final = "its expires_at passed before it could be started"


class Settling:
    """Ends attempts. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        breaker: told when an origin does not take what it is sent.
        pooling: told when a job leaves its slot.
        endings: hears of jobs that come to rest.
        journal: hears how attempts ended.
        random: numbers in [0, 1), for the jitter of retries.
        retention: says whether jobs that have succeeded are kept.
    """

    def __init__(  # noqa: PLR0917 - the parts of the engine
        self,
        store: Store,
        breaker: Breaker,
        pooling: Pooling,
        endings: Endings,
        journal: Journal,
        random: Callable[[], float],
        *,
        retention: Retention,
    ) -> None:
        self._store = store
        self._breaker = breaker
        self._pooling = pooling
        self._journal = journal
        self._random = random
        self._endings = endings
        self._history = retention.history_ms > 0

    def record(self, dispatch_id: str, results: Sequence[Result], now: int) -> int:
        """A receiver says how attempts ended. Nothing happens to those that nobody waits for any more.

        Returns:
            how many jobs of the dispatch it has settled.
        """
        told = json.dumps([[result.job, result.attempt] for result in results])
        awaited = {(row["id"], row["told"]): row for row in self._store.execute(queries.AWAITING, told, dispatch_id)}
        ends: list[tuple[Row, Event]] = []
        for result in results:
            event, job = _event(result), awaited.get((result.job, result.attempt))
            # After its lease ended an attempt is only waited for to learn that it did succeed.
            if job and (job["state"] == "running" or isinstance(event, Succeeded)):
                ends.append((job, event))
                del awaited[result.job, result.attempt]
        self._end(ends, now)
        return len(ends)

    def end_all(self, dispatch: Row, event: Event, now: int) -> None:
        """The same happened to all jobs of a dispatch that are still running."""
        running = self._store.execute(queries.RUNNING_IN, dispatch["jobs"], dispatch["id"])
        self._end([(job, event) for job in running], now)

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
        running = self._store.execute(queries.RUNNING_IN, dispatch["jobs"], dispatch["id"])
        proved_at = origin.proved_at or 0
        self._end([(job, NeverBegan(reason, proved=proved_at > (job["refunded_at"] or 0))) for job in running], now)

    def charge_refusal(self, job_id: str, now: int) -> None:
        """Charge a pending job for the dispatch that did not begin; see `Refused`."""
        for job in self._store.execute(queries.SUSPECT, job_id):
            charged = {**job, "charged": job["charged"] + 1}
            self._end([(charged, Refused(job["error_message"] or "its dispatch did not begin"))], now)

    def _end(self, ends: Iterable[tuple[Row, Event]], now: int) -> None:
        succeeded: list[Row] = []
        results: dict[str, Succeeded] = {}
        for job, event in ends:
            verdict = judge(job, event, now=now, random=self._random)
            self._pooling.changed(job["pool"])
            self._journal.ended(job, verdict, now, ran=isinstance(event, Succeeded | Failed))
            if verdict.state == "succeeded" and isinstance(event, Succeeded):
                succeeded.append(job)
                results[job["id"]] = event
            else:
                self._write(job, verdict, now)
        if succeeded:
            self._succeed(succeeded, results, now)

    def expire(self, jobs: Sequence[Row], now: int) -> None:
        """Jobs that may start have come too late for that."""
        expired = self._store.execute(queries.EXPIRE, now, "JOB_EXPIRED", _TOO_LATE, _ids(jobs))
        for row in expired:
            self._pooling.changed(row["pool"])
            self._journal.happened("expired", row, now, code="JOB_EXPIRED")
        self._endings.ended(expired, "expired", now)

    def _succeed(self, jobs: Sequence[Row], results: Mapping[str, Succeeded], now: int) -> None:
        """Write all successes together; without history their rows go, unless one is needed to know a call again."""
        self._endings.reconsidered(jobs)
        self._endings.ended(jobs, "succeeded", now, kept=self._history, results=results)
        if self._history:
            self._store.execute(queries.SUCCEED, now, _ids(jobs))
            return
        remembered: list[Row] = []
        gone: list[Row] = []
        for job in jobs:
            (gone if job["numbered"] or now - job["created"] >= KNOWN_MS else remembered).append(job)
        if remembered:
            self._store.execute(queries.SUCCEED, None, _ids(remembered))
            self._store.execute(queries.REMEMBER, now + KNOWN_MS, remembered[0]["id"], _ids(remembered))
        if gone:
            self._store.execute(queries.FORGET, _ids(gone))
            self._store.execute(queries.DELETE_ATTEMPTS, _ids(gone))

    def _write(self, job: Row, verdict: Verdict, now: int) -> None:
        if verdict.recorded:
            self._store.execute(
                queries.RECORD_ATTEMPT,
                job["id"],
                job["attempt"],
                job["incarnation"],
                job["dispatch"],
                job["started"],
                now,
                verdict.outcome,
                verdict.code,
                verdict.message,
                verdict.traceback,
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
        match verdict.state:
            case "dead" | "canceled":
                self._endings.ended([job], verdict.state, now)


def _ids(jobs: Iterable[Row]) -> str:
    return json.dumps([job["id"] for job in jobs])


def _event(result: Result) -> Event:
    if result.outcome == "ok":
        return Succeeded(result.result, result.result_omitted)
    if result.outcome == "unavailable":
        return Unavailable(result.code or "FUNCTION_NOT_FOUND", result.message or "")
    return Failed(
        result.code or "ATTEMPT_FAILED",
        result.message or "",
        retryable=result.retryable,
        shared=result.shared,
        retry_after_ms=result.retry_after_ms,
        traceback=result.traceback,
    )
