"""Durable deferred jobs: what an app imports.

`SchedulerDO` can only be imported inside a Worker; the rest also on the host, for tests and tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lunorash.retrying import NonRetryableError, RetryAfter, raise_for_retry
from lunorash.scheduler.calls import JobCall
from lunorash.scheduler.client import Scheduler, create_scheduler
from lunorash.scheduler.completion import Completion, CompletionError
from lunorash.scheduler.job_filter import Changed, JobFilter
from lunorash.scheduler.options import RunOptions
from lunorash.scheduler.pool import PoolPage, PoolStatus
from lunorash.scheduler.queue_workpool import QueueCall, QueueWorkpool, create_queue_workpool
from lunorash.scheduler.record import DeadGroup, DeadGroups, Failure, JobCount, JobRecord, Page
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.workpool import Workpool, create_workpool

if TYPE_CHECKING:
    from lunorash.scheduler.durable_object import SchedulerDO

__all__ = [
    "Changed",
    "Completion",
    "CompletionError",
    "DeadGroup",
    "DeadGroups",
    "Failure",
    "JobCall",
    "JobCount",
    "JobFilter",
    "JobRecord",
    "NonRetryableError",
    "Page",
    "PoolPage",
    "PoolStatus",
    "QueueCall",
    "QueueWorkpool",
    "RetryAfter",
    "RetryPolicy",
    "RunOptions",
    "Scheduler",
    "SchedulerDO",
    "Workpool",
    "create_queue_workpool",
    "create_scheduler",
    "create_workpool",
    "raise_for_retry",
]


def __getattr__(name: str) -> Any:
    if name == "SchedulerDO":
        from lunorash.scheduler.durable_object import SchedulerDO

        return SchedulerDO
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
