"""``ctx.scheduler`` inside a mutation: what it is asked for happens if the mutation commits, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.refs import Target
from lunorash.scheduler.calls import Catalog, JobCall, make_job, make_jobs
from lunorash.scheduler.client import count_question, jobs_question
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.options import Delay, Instant, RunOptions, delay_ms, instant_ms
from lunorash.scheduler.record import JobCount, JobRecord, Page
from lunorash.scheduler.walking import Order
from lunorash.shard.outbox import Outbox

__all__ = ["BufferedScheduler", "NeedsAnswerError", "Question"]

Question = tuple[str, str]
"""A method of the SchedulerDO, and its argument."""

_ANY: Final = JobFilter()
_SCHEDULED: Final[tuple[State, ...]] = ("running", "pending")


class NeedsAnswerError(BaseException):
    """The body asked what only the SchedulerDO knows: roll back, fetch the answer, and run the body again.

    A BaseException, so that ``except Exception`` does not swallow it.
    """

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class BufferedScheduler:
    """Schedules by writing to the outbox, within the transaction that is open.

    Args:
        outbox: the shard's.
        now: the time of the call, in epoch milliseconds.
        mint: mints ids; the same ones again when the body is run again.
        catalog: what can be run.
        answers: what the SchedulerDO has answered to questions of earlier rounds.
        ready: raises what is wrong with the deployment's settings.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        now: int,
        mint: Callable[[], str],
        catalog: Catalog | None,
        answers: Mapping[Question, Any],
        ready: Callable[[], None],
    ) -> None:
        self._outbox = outbox
        self._now = now
        self._mint = mint
        self._catalog = catalog
        self._answers = answers
        self._ready = ready
        self._begin: int | None = None
        """The number of the last row before this call's; None until it is needed."""
        self._unanswered: Question | None = None
        self._closed = False

    def raise_unanswered(self) -> None:
        """Raise the question again that the body has asked, whatever it made of the first time."""
        if self._unanswered is not None:
            raise NeedsAnswerError(self._unanswered) from None

    def added(self) -> bool:
        """Whether something is in the outbox that was not there before."""
        return self._begin is not None and self._outbox.last_number() > self._begin

    def close(self) -> None:
        """The call is over: whatever still holds this object can do nothing with it."""
        self._closed = True

    async def run_after(
        self,
        delay: Delay,
        target: Target,
        args: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> str:
        """Run a function, workflow or agent after a delay, counted from the time of this call.

        The id is final, and may be stored in the row that you write. For arguments and errors see
        `lunorash.scheduler.client.Scheduler.run_after`.
        """
        return self._schedule(self._now + delay_ms(delay, now=self._now), target, args, options)

    async def run_at(
        self,
        instant: Instant,
        target: Target,
        args: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> str:
        """Run a function, workflow or agent at an instant; a past one means now. See `run_after`."""
        return self._schedule(instant_ms(instant), target, args, options)

    async def schedule_many(self, calls: Sequence[JobCall]) -> list[str | LunoraError]:
        """Schedule many jobs, each of them answered by itself; see `lunorash.scheduler.client.Scheduler.schedule_many`.

        A mutation is one transaction anyway, so this does what as many `run_after` would; it is here so that the
        same code can stand in an action. An id that is taken is found out later: that job becomes a dead letter.
        """
        self._check_open()
        self._ready()
        made = make_jobs(calls, now=self._now, mint=self._mint, catalog=self._catalog)
        return [job if isinstance(job, LunoraError) else self._buffer(job) for job in made]

    async def cancel(self, job_id: str) -> bool | None:
        """Cancel a job.

        Returns:
            True if this mutation had scheduled it, and then it is as if it never had; else None: it is requested, and
            done when the mutation has committed.
        """
        self._check_open()
        if self._outbox.take_back(check_id(job_id), self._first()):
            return True
        self._outbox.add("cancel", job_id, {"id": job_id, "called": self._now})
        return None

    async def get(self, job_id: str) -> JobRecord | None:
        """Look at a job; None if there is none by that id. One that this mutation scheduled is found too."""
        self._check_open()
        buffered = self._outbox.find(check_id(job_id))
        if buffered is not None:
            return JobRecord.of_new(buffered["job"], created=buffered["called"])
        record = self._ask(("get", job_id))
        return None if record is None else JobRecord.from_dict(record)

    async def list(self, *, states: Sequence[State] = _SCHEDULED, cursor: str | None = None, limit: int = 100) -> Page:
        """List jobs, a page at a time; those that this mutation schedules are not among them yet."""
        page = self._ask(("list", json.dumps({"states": [*states], "cursor": cursor, "limit": limit})))
        return Page.from_dict(page)

    async def jobs(
        self,
        wanted: JobFilter = _ANY,
        *,
        order: Order = "newest",
        cursor: str | None = None,
        limit: int = 100,
    ) -> Page:
        """Find jobs, a page at a time; see `lunorash.scheduler.Scheduler.jobs`. Those scheduled here are not found."""
        return Page.from_dict(self._ask(("jobs", jobs_question(wanted, order=order, cursor=cursor, limit=limit))))

    async def count(self, wanted: JobFilter = _ANY) -> JobCount:
        """Count jobs; see `lunorash.scheduler.Scheduler.count`. Those that this mutation schedules are not counted."""
        return JobCount(**self._ask(("count", count_question(wanted))))

    def _schedule(self, due: int, target: Target, args: Mapping[str, Any] | None, options: RunOptions | None) -> str:
        self._check_open()
        self._first()
        self._ready()
        answer = self._buffer(make_job(target, args, options, due=due, mint=self._mint, catalog=self._catalog))
        if isinstance(answer, LunoraError):
            raise answer
        return answer

    def _buffer(self, job: dict[str, Any]) -> str | LunoraError:
        job_id: str = job["id"]
        if self._outbox.find(job_id) is not None:
            return LunoraError(
                "DUPLICATE_SCHEDULE_ID", f"the id {job_id!r} belongs to a job that was just scheduled; choose another"
            )
        self._outbox.add("schedule", job_id, {"job": job, "called": self._now})
        return job_id

    def _first(self) -> int:
        """The number after which this call's rows come; asked for before the first of them is added."""
        if self._begin is None:
            self._begin = self._outbox.last_number()
        return self._begin

    def _check_open(self) -> None:
        if self._closed:
            raise LunoraError(
                "SCHEDULER_CLOSED",
                "ctx.scheduler is used after its call has ended, or outside of it; keep to the function's own body",
            )

    def _ask(self, question: Question) -> Any:
        self._check_open()
        if question not in self._answers:
            self._unanswered = question
            raise NeedsAnswerError(question)
        answer = self._answers[question]
        if isinstance(answer, LunoraError):
            raise answer
        return answer
