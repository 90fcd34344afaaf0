"""The admin API: look at jobs and steer them, for operators, the studio and the command line.

Everything lives under ``/_lunora/admin/v1`` and needs the admin token; what the first release had is found without the
version too. `admin_operations` is the table of all there is: routes and the API's document are made from it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from lunorash.crons import CronJob
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.shard.client import Shards
from lunorash.studio import (
    bulk_routes,
    cron_routes,
    dead_routes,
    fires_routes,
    function_routes,
    job_routes,
    pool_routes,
)
from lunorash.studio import statistics_routes as stats
from lunorash.studio.admin_token import guarded
from lunorash.studio.asking import Told
from lunorash.studio.operation import PREFIX, SCHEDULING, STORED, Operation, routes_of

__all__ = ["PREFIX", "AdminParts", "admin_operations", "admin_routes", "guarded"]


def _nothing(*_args: Any) -> Any:
    raise LunoraError("INTERNAL", "there is no app behind this table of operations")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminParts:
    """What the admin API has to know of an app. Without any of it the operations can be described, and not done.

    Args:
        functions: the app's functions.
        workflows: the bindings of workflows, by name.
        agents: the bindings of agents, by name.
        crons: its cron jobs, by expression.
        shards: its shards in the environment of a request; None for an app without.
        run_cron: runs a cron job now, as a tick would.
        runner: makes what runs functions, in the environment of a request.
        clock: the time, in seconds since the epoch.
    """

    functions: FunctionTable = field(default_factory=lambda: FunctionTable({}))
    workflows: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    crons: Mapping[str, Sequence[CronJob]] = field(default_factory=dict)
    shards: Callable[[HttpRequest], Shards | None] = _nothing
    run_cron: Callable[[HttpRequest, CronJob], Awaitable[CronRun]] = _nothing
    runner: Callable[[HttpRequest], function_routes.Runner] = _nothing
    clock: Callable[[], float] = time.time


class Document(Told, extra="allow"):
    """An OpenAPI document.

    Args:
        openapi: the version of the specification that it follows.
    """

    openapi: str


def admin_operations(parts: AdminParts) -> tuple[Operation, ...]:
    """Everything that the admin API does.

    Args:
        parts: the app that it is about.

    Example:
        >>> [each.path for each in admin_operations(AdminParts()) if each.name == "count_jobs"]
        ['/scheduled/count']
    """
    jobs, dead, bulk, pools = job_routes, dead_routes, bulk_routes, pool_routes
    cron = cron_routes.CronHandlers(crons=parts.crons, shards=parts.shards, run=parts.run_cron, clock=parts.clock)
    function = function_routes.FunctionHandlers(
        functions=parts.functions, workflows=parts.workflows, agents=parts.agents, runner=parts.runner
    )
    schedule = jobs.scheduling(parts.workflows, parts.agents)
    fires = fires_routes.telling_fires(parts.crons, parts.clock)
    one = (*STORED, "INVALID_SCHEDULE_ID")
    pool = (*STORED, "POOL_NOT_FOUND")

    @cache
    def document() -> str:
        from lunorash.studio.openapi import openapi_document  # only who asks for it pays for it

        return json.dumps(openapi_document(operations))

    async def get_openapi(_request: HttpRequest, _asked: None) -> HttpAnswer:
        """Tell what the admin API is, as an OpenAPI 3.1 document."""
        return HttpAnswer(encoded=document())

    first_release = (
        Operation("GET", "/scheduled", jobs.list_jobs, jobs.StateQuery, jobs.Records, STORED),
        Operation("GET", "/scheduled/get", jobs.get_job, jobs.JobQuery, jobs.OneJob, one),
        Operation("GET", "/scheduled/status", jobs.get_status, None, jobs.Status, STORED),
        Operation("POST", "/scheduled/cancel", jobs.cancel_job, jobs.JobQuery, jobs.Cancelled, one),
        Operation("POST", "/scheduled/cancel-many", bulk.cancel_many, bulk.ChangeBody, bulk.ChangedJobs, one),
        Operation("GET", "/scheduled/dead", dead.list_dead, jobs.PageQuery, jobs.Records, STORED),
        Operation("POST", "/scheduled/dead/retry", dead.retry_dead, jobs.JobQuery, dead.Retried, one),
        Operation("POST", "/scheduled/dead/cancel", dead.remove_dead, jobs.JobQuery, dead.Removed, one),
        Operation("POST", "/scheduled/dead/retry-many", bulk.retry_many_dead, bulk.ChangeBody, bulk.ChangedJobs, one),
        Operation("POST", "/scheduled/dead/cancel-many", bulk.remove_many_dead, bulk.ChangeBody, bulk.ChangedJobs, one),
        Operation("GET", "/scheduled/pools", pools.list_pools, jobs.PageQuery, pools.Pools, STORED),
        Operation("POST", "/scheduled/pools/pause", pools.pause_pool, pools.PoolBody, pools.OnePool, pool),
        Operation("POST", "/scheduled/pools/resume", pools.resume_pool, pools.PoolBody, pools.OnePool, pool),
        Operation("POST", "/scheduled/pools/cap", pools.cap_pool, pools.CapBody, pools.OnePool, pool),
        Operation("GET", "/cron-jobs", cron.list_crons, None, cron_routes.CronJobs, _RUNS),
        Operation("GET", "/cron-jobs/runs", cron.list_cron_runs, cron_routes.RunsQuery, cron_routes.CronRuns, _RUNS),
        Operation("POST", "/cron-jobs/run", cron.run_cron, cron_routes.CronBody, cron_routes.CronRan, _CRON),
        Operation("POST", "/run", function.run_function, function_routes.RunBody, function_routes.Value, _RUN),
    )
    operations = (
        *(replace(operation, older=True) for operation in first_release),
        Operation("GET", "/scheduled/jobs", jobs.find_jobs, jobs.JobsQuery, jobs.Found, one),
        Operation("GET", "/scheduled/count", jobs.count_jobs, jobs.FilterQuery, jobs.Counted, one),
        Operation("POST", "/scheduled/schedule", schedule, jobs.ScheduleBody, jobs.Scheduled, (*one, *SCHEDULING)),
        Operation("POST", "/scheduled/run-now", jobs.run_job_now, jobs.JobQuery, jobs.Due, one),
        Operation("GET", "/scheduled/dead/groups", dead.group_dead, None, dead.Groups, STORED),
        Operation("GET", "/scheduled/statistics", stats.get_statistics, stats.MinutesQuery, stats.Minutes, STORED),
        Operation("GET", "/cron-jobs/fires", fires, None, fires_routes.Fires),
        Operation("GET", "/functions", function.list_functions, None, function_routes.Functions),
        Operation("GET", "/openapi.json", get_openapi, None, Document),
    )
    return operations


_RUNS: Final = ("SHARD_UNAVAILABLE",)
_CRON: Final = ("CRON_JOBS_NOT_CONFIGURED", "CRON_JOB_FAILED", "CRON_JOB_NOT_FOUND", "SHARD_UNAVAILABLE")
_RUN: Final = ("ATTEMPT_FAILED", "FUNCTION_NOT_FOUND", "SHARD_NOT_CONFIGURED", "SHARD_UNAVAILABLE")


def admin_routes(parts: AdminParts) -> list[Route]:
    """The routes of the admin API."""
    return list(routes_of(admin_operations(parts)))
