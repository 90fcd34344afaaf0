"""The admin API of cron jobs: what there is, what has run, and running one now."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.crons import CronJob
from lunorash.crons.description import describe
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError, shown
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.shard.client import Shards
from lunorash.studio.admin import guarded

__all__ = ["cron_routes"]

_PREFIX: Final = "/_lunora/admin/cron-jobs"
_MAX_LIMIT: Final = 100


def cron_routes(
    crons: Mapping[str, Sequence[CronJob]],
    *,
    shards: Callable[[HttpRequest], Shards | None],
    run: Callable[[HttpRequest, CronJob], Awaitable[CronRun]],
    clock: Callable[[], float] = time.time,
) -> list[Route]:
    """Make the routes.

    Args:
        crons: the app's cron jobs, by expression.
        shards: where runs are recorded, in the environment of a request; None for an app without shards.
        run: runs a job now, as a tick would.
        clock: the time, in seconds since the epoch.
    """
    jobs = {job.name: job for _, same in sorted(crons.items()) for job in same}

    async def list_jobs(request: HttpRequest) -> HttpAnswer:
        record = shards(request)
        last = [] if record is None or not jobs else await record.last_cron_runs(sorted(jobs))
        runs = {run.name: run for run in last}
        now = datetime.fromtimestamp(clock(), UTC)
        return HttpAnswer(
            body={"jobs": [describe(jobs[name], after=now, last_run=runs.get(name)) for name in sorted(jobs)]}
        )

    async def list_runs(request: HttpRequest) -> HttpAnswer:
        name, limit = request.parameter("name"), _limit(request)
        record = shards(request)
        runs = [] if record is None else await record.cron_runs(name, limit)
        return HttpAnswer(body={"runs": [run.to_dict() for run in runs]})

    async def run_now(request: HttpRequest) -> HttpAnswer:
        job = _find(jobs, await request.json())
        ended = await run(request, job)
        if ended.outcome == "skipped":
            reason = "the run before is still under way"
            return HttpAnswer(body={"name": job.name, "ran": False, "reason": reason})
        if ended.outcome == "failed":
            again = "" if ended.job is None else f" (it is tried again as the job {ended.job})"
            told = ended.bounded()
            raise LunoraError(
                "CRON_JOB_FAILED",
                f"the cron job {shown(job.name)} failed: {told.error_code}: {told.error_message}{again}",
            )
        result = None if ended.result is None else decode_json(ended.result, max_depth=MAX_ENVELOPE_DEPTH)
        return HttpAnswer(body={"name": job.name, "ran": True, "result": result})

    return [
        Route(method="GET", path=_PREFIX, handler=guarded(list_jobs)),
        Route(method="GET", path=f"{_PREFIX}/runs", handler=guarded(list_runs)),
        Route(method="POST", path=f"{_PREFIX}/run", handler=guarded(run_now)),
    ]


def _find(jobs: Mapping[str, CronJob], body: dict[str, Any]) -> CronJob:
    if set(body) != {"name"} or not isinstance(body["name"], str):
        raise LunoraError("INVALID_INPUT", 'the body must be {"name": "<cron job>"} and nothing else')
    if not jobs:
        raise LunoraError(
            "CRON_JOBS_NOT_CONFIGURED",
            "this app has no cron jobs; declare them in lunora/crons.py and run `lunora codegen`",
        )
    job = jobs.get(body["name"])
    if job is None:
        raise LunoraError("CRON_JOB_NOT_FOUND", f"there is no cron job {shown(body['name'])}")
    return job


def _limit(request: HttpRequest) -> int:
    given = request.parameter("limit") or "20"
    if not (given.isascii() and given.isdigit() and len(given) <= 3 and 1 <= int(given) <= _MAX_LIMIT):
        raise LunoraError("INVALID_INPUT", f"limit is {given[:20]!r}; it must be a whole number from 1 to {_MAX_LIMIT}")
    return int(given)
