"""The admin API of jobs: find them, count them, look at one, cancel it, run it now, schedule another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from lunorash.errors import LunoraError, shown
from lunorash.http import HttpRequest
from lunorash.refs import AgentReference, Target, WorkflowReference
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.options import MAX_TAG, MAX_TAGS, RunOptions
from lunorash.scheduler.pool import MAX_PRIORITY, PoolStatus
from lunorash.scheduler.record import JobRecord, Page
from lunorash.scheduler.retry import Backoff, RetryPolicy
from lunorash.studio.asking import (
    Asked,
    DelayField,
    IdField,
    InstantField,
    LimitField,
    PoolField,
    PrefixField,
    QueryInstant,
    Told,
)

__all__ = [
    "Cancelled",
    "Counted",
    "Due",
    "FilterQuery",
    "Found",
    "JobQuery",
    "JobsQuery",
    "OneJob",
    "PageQuery",
    "Records",
    "ScheduleBody",
    "Scheduled",
    "StateQuery",
    "Status",
    "cancel_job",
    "count_jobs",
    "find_jobs",
    "get_job",
    "get_status",
    "list_jobs",
    "page_of",
    "run_job_now",
    "scheduling",
]

# -- what is asked -------------------------------------------------------------------------------------------


class PageQuery(Asked):
    """Which page.

    Args:
        cursor: the cursor of the page before; none, or an empty one, for the first.
        limit: how many at most. There may be fewer when arguments are large, and more to come.
    """

    cursor: str | None = None
    limit: LimitField = 100


class StateQuery(PageQuery):
    """Jobs of one state.

    Args:
        state: which; else those that run, then those that wait.
    """

    state: State | None = None


class FilterQuery(Asked):
    """Which jobs are meant; all conditions have to hold. Instants are epoch milliseconds.

    Args:
        state: may be given several times: in one of these states.
        function: what they call: a path, a module or folder of them, or a pattern such as ``billing:*``.
        pool: the workpool that they run in.
        tag: one of their tags.
        error: the code of their last error.
        id_prefix: how their ids begin.
        created_from: scheduled then or later.
        created_before: scheduled earlier.
        due_from: their next attempt is due then or later, or their last was.
        due_before: it is due earlier.
        ended_from: came to rest then or later.
        ended_before: came to rest earlier.
    """

    state: list[State] = Field(default_factory=list, json_schema_extra={"uniqueItems": True})
    function: str | None = Field(None, min_length=1, max_length=256)
    pool: PoolField | None = None
    tag: str | None = Field(None, min_length=1, max_length=256)
    error: str | None = Field(None, min_length=1, max_length=256)
    id_prefix: PrefixField | None = None
    created_from: QueryInstant | None = None
    created_before: QueryInstant | None = None
    due_from: QueryInstant | None = None
    due_before: QueryInstant | None = None
    ended_from: QueryInstant | None = None
    ended_before: QueryInstant | None = None

    def wanted(self) -> JobFilter:
        """The filter."""
        conditions = self.model_dump(include=set(FilterQuery.model_fields), exclude={"state", "function"})
        return JobFilter(state=self.state or None, target=self.function, **conditions)


class JobsQuery(PageQuery, FilterQuery):
    """Jobs that a filter chooses, in the order of their instants: when they ended, or else are due.

    Args:
        order: from the latest instant back, or from the earliest on.
    """

    order: Literal["newest", "soonest"] = "newest"


class JobQuery(Asked):
    """One job.

    Args:
        id: its id.
    """

    id: IdField


class RetryFields(Asked):
    """What to do when a job fails; see `RetryPolicy`.

    Args:
        max_attempts: retries after the first attempt.
        backoff: whether each wait doubles, or grows by the first.
        base_ms: the first wait.
        max_ms: the longest wait.
        jitter: the share of each wait that is random.
    """

    max_attempts: int = Field(5, ge=1, le=1000)
    backoff: Backoff = "exponential"
    base_ms: int = Field(30_000, ge=1)
    max_ms: int | None = Field(None, ge=1)
    jitter: float = Field(0.0, ge=0, le=1)


TagField = Annotated[str, Field(min_length=1, max_length=MAX_TAG)]


class OptionFields(Asked):
    """Options of one job; see `RunOptions`.

    Args:
        id: the job's id; else one is minted.
        retry: what to do when it fails.
        timeout_ms: how long one attempt may take, up to 24 hours.
        shard_key: which shard a mutation runs on.
        pool: the workpool that it runs in.
        priority: which jobs of its pool it goes before.
        expires_at: when it is too late to start it, in epoch milliseconds.
        tags: words to find it by.
        on_complete: the path of a mutation or an action that is called once for each of its endings.
    """

    id: IdField | None = None
    retry: RetryFields | None = None
    timeout_ms: int | None = Field(None, ge=1, le=86_400_000)
    shard_key: str | None = Field(None, min_length=1, max_length=256)
    pool: PoolField | None = None
    priority: int = Field(0, ge=-MAX_PRIORITY, le=MAX_PRIORITY)
    expires_at: InstantField | None = None
    tags: list[TagField] = Field(default_factory=list, max_length=MAX_TAGS)
    on_complete: str | None = Field(None, min_length=1, max_length=200)

    def run_options(self) -> RunOptions:
        """The options as a scheduler takes them."""
        given = self.model_dump(exclude_unset=True, exclude={"timeout_ms", "retry"})
        retry = None if self.retry is None else RetryPolicy.from_dict(self.retry.model_dump())
        return RunOptions(retry=retry, timeout=self.timeout_ms, **given)


class ScheduleBody(Asked):
    """A job to schedule: now, at an instant, or after a delay.

    Args:
        target: a function's path, ``workflows.<name>`` or ``agents.<name>``.
        args: its arguments by name. Integers of any size arrive as they were sent.
        at: when, in epoch milliseconds; a past instant means now.
        delay_ms: or how many milliseconds from now.
        options: its options.
    """

    target: str = Field(min_length=1, max_length=200)
    args: dict[str, Any] = Field(default_factory=dict)
    at: InstantField | None = None
    delay_ms: DelayField | None = None
    options: OptionFields | None = None


# -- what is told --------------------------------------------------------------------------------------------


class Records(Told):
    """A page of jobs.

    Args:
        records: the jobs, without their failures.
        truncated: whether there are more.
        cursor: asks for the next page; not there on the last.
    """

    records: tuple[JobRecord, ...]
    truncated: bool
    cursor: str | None = None


class Found(Records):
    """A page of the jobs that a filter chose. It may be short, or empty, with more to come.

    Args:
        scanned: how many jobs were looked at.
    """

    scanned: int


class Counted(Told):
    """How many jobs a filter chose.

    Args:
        count: how many were found.
        exact: whether all jobs were looked at; if not, there may be more.
    """

    count: int
    exact: bool


class OneJob(Told):
    """A job with its last failures.

    Args:
        record: the job; null if there is none by that id.
    """

    record: JobRecord | None


class Cancelled(Told):
    """Whether a job was cancelled.

    Args:
        cancelled: whether there was one that had not ended.
    """

    cancelled: bool


class Due(Told):
    """Whether a job is due now.

    Args:
        id: of the job.
        due: whether it waits, and is due. False if it runs, has ended, or there is none.
    """

    id: str
    due: bool


class Scheduled(Told):
    """A job that was scheduled.

    Args:
        id: its id.
    """

    id: str


class OriginStatus(Told):
    """Whether the scheduler reaches its Worker.

    Args:
        url: where it calls.
        reachable: whether it does.
        reason: why not.
        unreachable_since: since when not.
        next_probe: when it is tried again.
        failed_probes: how often it was tried since.
    """

    url: str | None
    reachable: bool
    reason: str | None
    unreachable_since: int | None
    next_probe: int | None
    failed_probes: int


class Status(Told, extra="allow"):
    """How the scheduler is doing. Instants are epoch milliseconds.

    Args:
        now: its time.
        backlog: jobs that wait.
        due: those of them that are due.
        in_flight: jobs that run.
        dead: dead letters.
        counted_up_to: where counting stops.
        next_due: when the next job is due.
        alarm: when it wakes.
        origin: whether it reaches its Worker.
        pools: the first hundred workpools by name.
    """

    now: int
    backlog: int
    due: int
    in_flight: int
    dead: int
    counted_up_to: int
    next_due: int | None
    alarm: int | None
    origin: OriginStatus
    pools: tuple[PoolStatus, ...]


# -- who does it ---------------------------------------------------------------------------------------------


async def list_jobs(request: HttpRequest, asked: StateQuery) -> Told:
    """List what runs and what waits, or the jobs of one state."""
    states: tuple[State, ...] = ("running", "pending") if asked.state is None else (asked.state,)
    return page_of(await request.scheduler().list(states=states, cursor=asked.cursor or None, limit=asked.limit))


async def find_jobs(request: HttpRequest, asked: JobsQuery) -> Told:
    """Find the jobs that a filter chooses. A page looks at a bounded number of jobs, so it may be short or empty."""
    page = await request.scheduler().jobs(
        asked.wanted(), order=asked.order, cursor=asked.cursor or None, limit=asked.limit
    )
    return Found(**_fields(page), scanned=page.scanned)


async def count_jobs(request: HttpRequest, asked: FilterQuery) -> Told:
    """Count the jobs that a filter chooses, looking at a bounded number of them."""
    counted = await request.scheduler().count(asked.wanted())
    return Counted(count=counted.count, exact=counted.exact)


async def get_job(request: HttpRequest, asked: JobQuery) -> Told:
    """Show a job, its arguments and its last failed attempts included."""
    return OneJob(record=await request.scheduler().get(asked.id))


async def get_status(request: HttpRequest, _asked: None) -> Told:
    """Tell how the scheduler is doing."""
    return Status(**await request.scheduler().status())


async def cancel_job(request: HttpRequest, asked: JobQuery) -> Told:
    """Cancel a job. An attempt that is running is not stopped, but none follows it."""
    return Cancelled(cancelled=await request.scheduler().cancel(asked.id))


async def run_job_now(request: HttpRequest, asked: JobQuery) -> Told:
    """Make a job that waits due now. It starts as soon as its pool and its origin have room for it."""
    return Due(id=asked.id, due=await request.scheduler().run_now(asked.id))


def scheduling(
    workflows: Mapping[str, str], agents: Mapping[str, str]
) -> Callable[[HttpRequest, ScheduleBody], Awaitable[Told]]:
    """Make what schedules a job.

    Args:
        workflows: the bindings of workflows, by name.
        agents: the bindings of agents, by name.
    """

    def target_of(text: str) -> Target:
        kind, _, name = text.partition(".")
        if kind == "workflows" and name in workflows:
            return WorkflowReference(name, workflows[name])
        if kind == "agents" and name in agents:
            return AgentReference(name, agents[name])
        if kind in ("workflows", "agents") and ":" not in text:
            raise LunoraError("FUNCTION_NOT_FOUND", f"there is no {kind.removesuffix('s')} {shown(name)}")
        return text

    async def schedule_job(request: HttpRequest, asked: ScheduleBody) -> Told:
        """Schedule a job: at an instant, after a delay, or now."""
        if asked.at is not None and asked.delay_ms is not None:
            raise LunoraError("INVALID_INPUT", "there is at and delay_ms; give one of them, or neither for now")
        scheduler, target, options = request.scheduler(), target_of(asked.target), _options(asked.options)
        if asked.at is not None:
            return Scheduled(id=await scheduler.run_at(asked.at, target, asked.args, options))
        return Scheduled(id=await scheduler.run_after(asked.delay_ms or 0, target, asked.args, options))

    return schedule_job


def _options(given: OptionFields | None) -> RunOptions:
    return RunOptions() if given is None else given.run_options()


def page_of(page: Page) -> Records:
    """A page as it is told."""
    return Records(**_fields(page))


def _fields(page: Page) -> dict[str, Any]:
    # `truncated` is the original's word for "there is more"
    more = {} if page.cursor is None else {"cursor": page.cursor}
    return {"records": page.jobs, "truncated": page.cursor is not None, **more}
