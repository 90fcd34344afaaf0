"""The admin API of cron jobs: what there is, what has run, and running one now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.crons import CronJob
from lunorash.crons.description import describe
from lunorash.crons.runs import CronRun, RunOutcome, Trigger
from lunorash.errors import LunoraError, shown
from lunorash.http import HttpRequest
from lunorash.scheduler.retry import RetryPolicy
from lunorash.shard.client import Shards
from lunorash.studio.asking import Asked, LimitField, Told

__all__ = ["CronBody", "CronHandlers", "CronJobs", "CronRan", "CronRuns", "RunsQuery"]


class RunsQuery(Asked):
    """Runs of cron jobs.

    Args:
        name: of this cron job only.
        limit: how many at most.
    """

    name: str | None = Field(None, min_length=1)
    limit: LimitField = 20


class CronBody(Asked):
    """A cron job.

    Args:
        name: which.
    """

    name: str


class Run(Told):
    """One run of a cron job. Instants are epoch milliseconds.

    Args:
        name: the cron job's name.
        scheduled_for: when it was to run.
        trigger: what made it run: its time, or a person.
        started: when it began.
        ended: when it ended; null while it has not, or if whatever ran it is gone.
        outcome: how it ended.
        result: what the function returned, if that is short.
        error_code: why it failed.
        error_message: the same in words.
        job: the job that it was handed to, to be tried again.
    """

    name: str
    scheduled_for: int
    trigger: Trigger
    started: int
    ended: int | None
    outcome: RunOutcome
    result: Any
    error_code: str | None
    error_message: str | None
    job: str | None


class Cron(Told):
    """A cron job.

    Args:
        name: its name.
        cron: its expression, in Cloudflare's dialect.
        english: what that means.
        target: what it calls.
        args: with which arguments.
        overlap: whether it runs while its run before is still under way.
        timeout_ms: how long a run may take.
        retry: what happens when it fails.
        next: when it fires next, ISO 8601.
        last_run: what it did last.
    """

    name: str
    cron: str
    english: str
    target: str
    args: dict[str, Any]
    overlap: str
    timeout_ms: int
    retry: RetryPolicy | None
    next: str | None
    last_run: Run | None


class CronJobs(Told):
    """The app's cron jobs.

    Args:
        jobs: by name.
    """

    jobs: tuple[Cron, ...]


class CronRuns(Told):
    """What has run.

    Args:
        runs: the newest first.
    """

    runs: tuple[Run, ...]


class CronRan(Told):
    """What became of a run by hand.

    Args:
        name: the cron job's name.
        ran: whether it ran.
        result: what it returned, if it ran.
        reason: why it did not.
    """

    name: str
    ran: bool
    result: Any = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class CronHandlers:
    """Who answers for an app's cron jobs.

    Args:
        crons: the app's cron jobs, by expression.
        shards: where runs are recorded, in the environment of a request; None for an app without shards.
        run: runs a job now, as a tick would.
        clock: the time, in seconds since the epoch.
    """

    crons: Mapping[str, Sequence[CronJob]]
    shards: Callable[[HttpRequest], Shards | None]
    run: Callable[[HttpRequest, CronJob], Awaitable[CronRun]]
    clock: Callable[[], float]

    async def list_crons(self, request: HttpRequest, _asked: None) -> Told:
        """List the app's cron jobs: when they fire, what they run, how the last run ended."""
        jobs, record = self._jobs, self.shards(request)
        last = [] if record is None or not jobs else await record.last_cron_runs(sorted(jobs))
        runs = {run.name: run for run in last}
        now = datetime.fromtimestamp(self.clock(), UTC)
        told = [describe(jobs[name], after=now, last_run=runs.get(name)) for name in sorted(jobs)]
        return CronJobs(jobs=tuple(_cron(job) for job in told))

    async def list_cron_runs(self, request: HttpRequest, asked: RunsQuery) -> Told:
        """List the last runs of cron jobs, the newest first."""
        record = self.shards(request)
        runs = [] if record is None else await record.cron_runs(asked.name, asked.limit)
        return CronRuns(runs=tuple(Run(**run.to_dict()) for run in runs))

    async def run_cron(self, request: HttpRequest, asked: CronBody) -> Told:
        """Run a cron job now, the way its trigger does."""
        job = self._find(asked.name)
        ended = await self.run(request, job)
        if ended.outcome == "skipped":
            return CronRan(name=job.name, ran=False, reason="the run before is still under way")
        if ended.outcome == "failed":
            again = "" if ended.job is None else f" (it is tried again as the job {ended.job})"
            told = ended.bounded()
            raise LunoraError(
                "CRON_JOB_FAILED",
                f"the cron job {shown(job.name)} failed: {told.error_code}: {told.error_message}{again}",
            )
        result = None if ended.result is None else decode_json(ended.result, max_depth=MAX_ENVELOPE_DEPTH)
        return CronRan(name=job.name, ran=True, result=result)

    @property
    def _jobs(self) -> dict[str, CronJob]:
        return {job.name: job for _, same in sorted(self.crons.items()) for job in same}

    def _find(self, name: str) -> CronJob:
        jobs = self._jobs
        if not jobs:
            raise LunoraError(
                "CRON_JOBS_NOT_CONFIGURED",
                "this app has no cron jobs; declare them in lunora/crons.py and run `lunora codegen`",
            )
        if name not in jobs:
            raise LunoraError("CRON_JOB_NOT_FOUND", f"there is no cron job {shown(name)}")
        return jobs[name]


def _cron(told: dict[str, Any]) -> Cron:
    retry, last = told["retry"], told["last_run"]
    return Cron(
        **{
            **told,
            "retry": None if retry is None else RetryPolicy.from_dict(retry),
            "last_run": None if last is None else Run(**last),
        }
    )
