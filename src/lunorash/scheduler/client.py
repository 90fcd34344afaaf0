"""The scheduler as an app uses it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

from lunorash.codec import decode_json
from lunorash.errors import LunoraError, shown
from lunorash.refs import Target
from lunorash.scheduler.calls import Catalog, JobCall, make_job, make_jobs
from lunorash.scheduler.ids import check_id, mint_id
from lunorash.scheduler.job import NewJob, State
from lunorash.scheduler.job_filter import MAX_CHANGED, Change, Changed, JobFilter, check_limit, states_to_change
from lunorash.scheduler.object_stub import object_stub, web_socket_to
from lunorash.scheduler.options import Delay, Instant, RunOptions, delay_ms, instant_ms
from lunorash.scheduler.pool import PoolPage, PoolStatus, change_of_pool
from lunorash.scheduler.record import DeadGroup, DeadGroups, JobCount, JobRecord, Page
from lunorash.scheduler.walking import Order, check_order

__all__ = ["Scheduler", "create_scheduler", "stub_of"]

_ANY: Final = JobFilter()
_SCHEDULED: Final[tuple[State, ...]] = ("running", "pending")
_PAUSES_S: Final = (0.05, 0.2)  # between tries of a call that may be repeated


def create_scheduler(*, namespace: Any, instance_name: str = "default", catalog: Catalog | None = None) -> Scheduler:
    """Make a client of a SchedulerDO.

    Args:
        namespace: the Durable Object binding, ``env.SCHEDULER``.
        instance_name: which SchedulerDO; each name has jobs of its own, for one tenant say.
        catalog: what can be run, to refuse an unknown function, or arguments that it does not take, when it is
            scheduled; None to let any well-formed path through.

    Raises:
        LunoraError: ``SCHEDULER_NOT_CONFIGURED`` without a namespace.

    Example:
        A job two weeks from now::

            scheduler = create_scheduler(namespace=env.SCHEDULER)
            job_id = await scheduler.run_after(timedelta(days=14), "billing:end_trial", {"user_id": "u1"})
    """
    return Scheduler(stub_of(namespace, instance_name), catalog=catalog)


def stub_of(namespace: Any, instance_name: str) -> Callable[[], Any]:
    """What makes stubs of one SchedulerDO.

    Raises:
        LunoraError: ``SCHEDULER_NOT_CONFIGURED`` without a namespace.
    """
    if namespace is None:
        raise LunoraError(
            "SCHEDULER_NOT_CONFIGURED",
            "there is no binding to a SchedulerDO; bind the class as SCHEDULER under durable_objects in wrangler.jsonc "
            "and pass namespace=env.SCHEDULER",
        )
    return lambda: object_stub(namespace, instance_name)


class Scheduler:
    """Schedules jobs and looks after them. Made by `create_scheduler`.

    Args:
        stub: makes a stub of the SchedulerDO; a stub that failed may go on failing, so each try gets its own.
        catalog: what can be run, if that is known.
        now: the current time in epoch milliseconds.
        mint: mints ids.
    """

    def __init__(
        self,
        stub: Callable[[], Any],
        *,
        catalog: Catalog | None = None,
        now: Callable[[], int] = lambda: int(time.time() * 1000),
        mint: Callable[[], str] = mint_id,
    ) -> None:
        self._stub = stub
        self._catalog = catalog
        self._now = now
        self._mint = mint

    async def watch(self, until: int) -> Any:
        """Open a WebSocket that tells when something has changed; see `lunorash.scheduler.live`.

        Args:
            until: when it ends, in epoch milliseconds.

        Returns:
            the platform's answer to a request for an upgrade.

        Raises:
            LunoraError: ``TOO_MANY_WATCHERS``.
        """
        answer = await web_socket_to(self._stub(), {"x-lunora-until": str(until)})
        if answer.status != 101:
            raise LunoraError("TOO_MANY_WATCHERS", "too many watch already; close a page of the studio")
        return answer

    async def run_after(
        self, delay: Delay, target: Target, args: Mapping[str, Any] | None = None, options: RunOptions | None = None
    ) -> str:
        """Run a function after a delay.

        Args:
            delay: milliseconds or a `timedelta`, 0 or more. A job is never early.
            target: a reference, such as ``internal.billing.end_trial``, ``workflows.onboarding`` or ``agents.support``,
                or a function's path, ``"billing:end_trial"``.
            args: its arguments, JSON values by name, at most 1,000,000 bytes and 64 levels.
            options: id, retry policy, timeout, shard, pool and priority.

        Returns:
            the job's id.

        Raises:
            LunoraError: ``INVALID_INPUT``, ``INVALID_SCHEDULE_ID``, ``PAYLOAD_TOO_LARGE``,
                ``FUNCTION_NOT_FOUND``, ``DUPLICATE_SCHEDULE_ID``, ``ORIGIN_NOT_CONFIGURED`` and
                ``SCHEDULER_SECRET_NOT_CONFIGURED``, each saying what to do. Nothing is stored then.
        """
        now = self._now()
        return await self._schedule(now + delay_ms(delay, now=now), target, args, options)

    async def run_at(
        self,
        instant: Instant,
        target: Target,
        args: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> str:
        """Run a function at an instant: epoch milliseconds or a `datetime` with a time zone.

        A past instant means now. For the rest see `run_after`.
        """
        return await self._schedule(instant_ms(instant), target, args, options)

    async def schedule_many(self, calls: Sequence[JobCall]) -> list[str | LunoraError]:
        """Schedule many jobs in one call and one transaction, each of them answered by itself.

        Those that can be stored are, whatever is wrong with others. A call that broke is made again, and stores nothing
        twice.

        Args:
            calls: at most 1,000, with 8,000,000 bytes of arguments all together.

        Returns:
            for each call, in order, the job's id, or the error that `run_after` would have raised. Jobs that fall due
            at the same time start in this order, too, unless you chose their ids.

        Raises:
            LunoraError: ``INVALID_INPUT`` for what is no list of `JobCall`, ``PAYLOAD_TOO_LARGE``,
                ``ORIGIN_NOT_CONFIGURED``, ``SCHEDULER_SECRET_NOT_CONFIGURED``. Nothing is stored then.

        Example:
            In an action::

                calls = [JobCall(internal.billing.remind, {"user_id": user_id}) for user_id in late]
                for answer in await ctx.scheduler.schedule_many(calls):
                    if isinstance(answer, LunoraError):
                        print(f"not scheduled: {answer}")
        """
        made = make_jobs(calls, now=self._now(), mint=self._mint, catalog=self._catalog)
        jobs = [job for job in made if not isinstance(job, LunoraError)]
        if not jobs:
            return [job for job in made if isinstance(job, LunoraError)]
        refusals = iter(await self._call("schedule_many", json.dumps(jobs), again=True))
        return [job if isinstance(job, LunoraError) else _answer_for(job["id"], next(refusals)) for job in made]

    async def cancel(self, job_id: str) -> bool:
        """Cancel a job.

        Args:
            job_id: its id.

        Returns:
            True if it had not come to rest: if it was pending, it will not run; if an attempt is running, that
            is not stopped, but no other follows. False if there is no such job, or it has ended.
        """
        return bool(await self._call("cancel", check_id(job_id)))

    async def get(self, job_id: str) -> JobRecord | None:
        """Look at a job, its last failed attempts included; None if there is none by that id."""
        record = await self._call("get", check_id(job_id), again=True)
        return None if record is None else JobRecord.from_dict(record)

    async def list(self, *, states: Sequence[State] = _SCHEDULED, cursor: str | None = None, limit: int = 100) -> Page:
        """List jobs, a page at a time, one state after the other; `jobs` finds those that a filter chooses.

        Args:
            states: which; by default those that run or wait. Those come by due time, ended ones newest first.
            cursor: the cursor of the page before; None for the first.
            limit: how many at most, 1 to 100. There may be fewer when arguments are large, and more to come:
                only a cursor of None means the end.

        Raises:
            LunoraError: ``INVALID_INPUT`` for states, cursor or limit.
        """
        question = json.dumps({"states": [*states], "cursor": cursor, "limit": limit})
        page = await self._call("list", question, again=True)
        return Page.from_dict(page)

    async def jobs(
        self,
        wanted: JobFilter = _ANY,
        *,
        order: Order = "newest",
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page:
        """Find jobs, a page at a time, in the order of their instants: when they ended, or else are due.

        A call looks at 2,000 jobs at most, so a page may be short or empty, and more to come: only a cursor of None
        means the end. Jobs that come, end or are retried while you go on never hide another one or show it twice.

        Args:
            wanted: which; by default all. A filter by state, and by when they are due or ended, narrows what is looked
                at; the rest of it is asked of each job.
            order: ``"newest"`` from the latest instant back, or ``"soonest"`` from the earliest on.
            cursor: the cursor of the page before; None for the first.
            limit: how many at most, 1 to 100. There may be fewer when arguments are large.

        Raises:
            LunoraError: ``INVALID_INPUT`` for filter, order, cursor or limit.

        Example:
            What was due in the last hour and still waits::

                hour_ago = ctx.now - timedelta(hours=1)
                page = await ctx.scheduler.jobs(
                    JobFilter(state="pending", due_from=hour_ago, due_before=ctx.now), order="soonest"
                )
                for job in page.jobs:
                    print(f"{job.id} has waited since {job.due}")
        """
        question = {"filter": _checked(wanted).to_dict(), "order": check_order(order), "cursor": cursor, "limit": limit}
        return Page.from_dict(await self._call("jobs", json.dumps(question), again=True))

    async def count(self, wanted: JobFilter = _ANY) -> JobCount:
        """Count the jobs that a filter chooses. A call looks at 10,000 jobs at most, and says whether those were all.

        Args:
            wanted: which; by default all.

        Raises:
            LunoraError: ``INVALID_INPUT``.

        Example:
            Whether a customer has something scheduled::

                waiting = await ctx.scheduler.count(JobFilter(state="pending", id_prefix="u1-"))
                print(f"{waiting.count}{'' if waiting.exact else ' or more'} jobs wait")
        """
        return JobCount(**await self._call("count", json.dumps(_checked(wanted).to_dict()), again=True))

    async def run_now(self, job_id: str) -> bool:
        """Make a job that waits due now. It starts as soon as its pool and its origin have room for it.

        Args:
            job_id: its id.

        Returns:
            True if it is due now, or was before. False if no job waits by that id: it runs, has ended or never was.
        """
        return bool(await self._call("run_now", check_id(job_id), again=True))

    async def walk(self, *, states: Sequence[State] = _SCHEDULED) -> AsyncIterator[JobRecord]:
        """Go through all jobs in some states, page by page."""
        cursor: str | None = None
        while True:
            page = await self.list(states=states, cursor=cursor)
            for job in page.jobs:
                yield job
            cursor = page.cursor
            if cursor is None:
                return

    async def dead(self, *, cursor: str | None = None, limit: int = 100) -> Page:
        """List the dead letters, the newest first: jobs that used up their attempts or failed for good."""
        return await self.list(states=("dead",), cursor=cursor, limit=limit)

    async def dead_groups(self) -> DeadGroups:
        """Tell what dead letters died of: grouped by what they called and the code of their error."""
        told = await self._call("dead_groups", again=True)
        return DeadGroups(groups=tuple(DeadGroup(**group) for group in told["groups"]), exact=told["exact"])

    async def dead_retry(self, job_id: str) -> bool:
        """Try a dead letter again, at once and with all its attempts; False if there is none by that id."""
        return bool(await self._call("redrive", check_id(job_id)))

    async def dead_drop(self, job_id: str) -> bool:
        """Delete a dead letter for good; False if there is none by that id."""
        return bool(await self._call("drop_dead", check_id(job_id)))

    async def cancel_many(
        self, wanted: JobFilter, *, cursor: str | None = None, limit: int = MAX_CHANGED, dry_run: bool = False
    ) -> Changed:
        """Cancel the jobs that a filter chooses, among those that wait and those that run; see `cancel`.

        A call looks at 2,000 jobs at most. Go on with the cursor of its answer until that is None.

        Args:
            wanted: which jobs; ``JobFilter()`` means all of them.
            cursor: the cursor of the answer before; None for the first call.
            limit: how many to cancel at most, 1 to 1,000.
            dry_run: whether to change nothing, and only tell which they are.

        Returns:
            which were cancelled. A job that comes while you go on may be passed over, and one whose cancel was
            requested before is.

        Raises:
            LunoraError: ``INVALID_INPUT``. After ``SCHEDULER_UNAVAILABLE`` it may have been done all the same: go on
                with the same cursor, and what is cancelled is not met again.

        Example:
            Whatever one customer still had scheduled::

                cursor = None
                while True:
                    changed = await scheduler.cancel_many(JobFilter(id_prefix="u1-"), cursor=cursor)
                    print(f"{len(changed.ids)} cancelled")
                    cursor = changed.cursor
                    if cursor is None:
                        break
        """
        return await self._change_many("cancel", wanted, cursor, limit, dry_run)

    async def dead_retry_many(
        self, wanted: JobFilter, *, cursor: str | None = None, limit: int = MAX_CHANGED, dry_run: bool = False
    ) -> Changed:
        """Try the dead letters that a filter chooses again, the newest first; see `dead_retry` and `cancel_many`.

        One that dies again meanwhile is not met again.
        """
        return await self._change_many("redrive", wanted, cursor, limit, dry_run)

    async def dead_drop_many(
        self, wanted: JobFilter, *, cursor: str | None = None, limit: int = MAX_CHANGED, dry_run: bool = False
    ) -> Changed:
        """Delete the dead letters that a filter chooses for good, the newest first; see `cancel_many`."""
        return await self._change_many("drop", wanted, cursor, limit, dry_run)

    async def status(self) -> dict[str, Any]:
        """How the scheduler is doing: backlog, due, in flight, dead, the next alarm, whether its origin answers, pools.

        Of pools there are the first hundred by name; `pools` has all.
        """
        answer: dict[str, Any] = await self._call("status", again=True)
        return answer

    async def pools(self, *, cursor: str | None = None, limit: int = 100) -> PoolPage:
        """List the workpools by name, a page at a time; see `list`."""
        page = await self._call("pools", json.dumps({"cursor": cursor, "limit": limit}), again=True)
        return PoolPage.from_dict(page)

    async def set_pool(
        self, name: str, *, paused: bool | None = None, max_concurrency: int | None = None
    ) -> PoolStatus:
        """Pause or resume a workpool, or set its cap by hand. What runs goes on.

        Args:
            name: which. `lunorash.scheduler.create_workpool` makes one.
            paused: whether it starts nothing from now on; None to leave that as it is.
            max_concurrency: a cap from 1 to 1,000, which holds until code asks for another one; None to leave it.

        Returns:
            how the pool is doing now.

        Raises:
            LunoraError: ``INVALID_INPUT``, or ``POOL_NOT_FOUND`` for a name that no job and no code has mentioned.
        """
        return PoolStatus.from_dict(
            await self._call("pool", change_of_pool(name, paused=paused, max_concurrency=max_concurrency), again=True)
        )

    async def ask(self, method: str, argument: str) -> Any:
        """What the SchedulerDO answers to a call that may be repeated; for `BufferedScheduler` and `Workpool`."""
        return await self._call(method, argument, again=True)

    async def accept(self, shard: str, rows: Sequence[dict[str, Any]]) -> int:
        """Hand over rows of a shard's outbox, in order; returns the number of the last one that was accepted."""
        accepted: int = await self._call("accept", json.dumps({"shard": shard, "rows": [*rows]}), again=True)
        return accepted

    async def take_over(self, job: NewJob) -> None:
        """Schedule a job that has an id and an incarnation already, and perhaps attempts behind it.

        A second call with the same ones is recognised, and changes nothing.

        Raises:
            LunoraError: as `run_after` does.
        """
        await self._call("schedule", json.dumps([job.to_dict()]), again=True)

    async def _change_many(
        self, change: Change, wanted: JobFilter, cursor: str | None, limit: int, dry_run: bool
    ) -> Changed:
        states_to_change(change, _checked(wanted))
        if not isinstance(dry_run, bool):
            raise LunoraError("INVALID_INPUT", f"dry_run is {shown(dry_run)}; it must be True or False")
        question = {"change": change, "filter": wanted.to_dict(), "cursor": cursor, "limit": check_limit(limit)}
        # done twice, it would change twice as many as it may
        answer = await self._call("change_many", json.dumps({**question, "dry_run": dry_run}), again=dry_run)
        return Changed.from_dict(answer)

    async def _schedule(
        self, due: int, target: Target, args: Mapping[str, Any] | None, options: RunOptions | None
    ) -> str:
        job = make_job(target, args, options, due=due, mint=self._mint, catalog=self._catalog)
        ids: list[str] = await self._call("schedule", json.dumps([job]), again=True)
        return ids[0]

    async def _call(self, method: str, *arguments: str, again: bool = False) -> Any:
        """Call the SchedulerDO; with ``again``, once more after a broken call, since it then does no harm."""
        for pause in (*(_PAUSES_S if again else ()), None):
            try:
                text = await getattr(self._stub(), method)(*arguments)
                break
            except LunoraError:
                raise  # there is no SchedulerDO to call
            except Exception as error:
                if pause is None:
                    raise LunoraError(
                        "SCHEDULER_UNAVAILABLE",
                        f"the scheduler did not answer {method} ({type(error).__name__}); try again",
                    ) from error
                await asyncio.sleep(pause)
        answer = decode_json(text, what="the scheduler's answer")
        if "error" in answer:
            raise _error(answer["error"])
        return answer["ok"]


def _checked(wanted: Any) -> JobFilter:
    if not isinstance(wanted, JobFilter):
        raise LunoraError("INVALID_INPUT", f"wanted is {shown(wanted)}; it must be JobFilter(...)")
    return wanted


def _answer_for(job_id: str, refusal: dict[str, Any] | None) -> str | LunoraError:
    return job_id if refusal is None else _error(refusal)


def _error(told: dict[str, Any]) -> LunoraError:
    return LunoraError(told["code"], told["message"], data=told.get("data"))
