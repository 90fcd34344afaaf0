"""The admin API of many jobs at once: cancel those that a filter chooses, retry dead letters, drop them."""

from __future__ import annotations

from pydantic import Field

from lunorash.http import HttpRequest
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import MAX_CHANGED, Changed, JobFilter
from lunorash.studio.asking import Asked, InstantField, PoolField, PrefixField, Told

__all__ = ["ChangeBody", "ChangedJobs", "cancel_many", "remove_many_dead", "retry_many_dead"]


class FilterFields(Asked):
    """Which jobs are meant; all conditions have to hold, and ``{}`` means all jobs. Instants are epoch milliseconds.

    Args:
        state: in this state, or one of these.
        target: what they call: a path, a module or folder of them, or a pattern such as ``billing:*``.
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

    state: State | list[State] | None = None
    target: str | None = Field(None, min_length=1, max_length=256)
    pool: PoolField | None = None
    tag: str | None = Field(None, min_length=1, max_length=256)
    error: str | None = Field(None, min_length=1, max_length=256)
    id_prefix: PrefixField | None = None
    created_from: InstantField | None = None
    created_before: InstantField | None = None
    due_from: InstantField | None = None
    due_before: InstantField | None = None
    ended_from: InstantField | None = None
    ended_before: InstantField | None = None


class ChangeBody(Asked):
    """Jobs to change. The filter has to be there, so that nobody changes all jobs by having forgotten it.

    Args:
        filter: which.
        cursor: the cursor of the answer before; null for the first call.
        limit: how many to change at most.
        dry_run: whether to change nothing, and only tell which they are.
    """

    filter: FilterFields
    cursor: str | None = None
    limit: int = Field(MAX_CHANGED, ge=1, le=MAX_CHANGED)
    dry_run: bool = False

    def wanted(self) -> JobFilter:
        """The filter."""
        return JobFilter.from_dict(self.filter.model_dump(exclude_unset=True))


class ChangedJobs(Told):
    """What one step has changed, or would have.

    Args:
        changed: how many jobs.
        ids: of these jobs.
        targets: how many of them there are of each target.
        scanned: how many jobs were looked at.
        cursor: where to go on; null when all have been looked at.
        now: when, by the scheduler's clock, in epoch milliseconds.
    """

    changed: int
    ids: tuple[str, ...]
    targets: dict[str, int]
    scanned: int
    cursor: str | None
    now: int


async def cancel_many(request: HttpRequest, asked: ChangeBody) -> Told:
    """Cancel the jobs that a filter chooses, step by step until the cursor is null."""
    return _told(
        await request.scheduler().cancel_many(
            asked.wanted(), cursor=asked.cursor, limit=asked.limit, dry_run=asked.dry_run
        )
    )


async def retry_many_dead(request: HttpRequest, asked: ChangeBody) -> Told:
    """Try the dead letters that a filter chooses again, step by step until the cursor is null."""
    return _told(
        await request.scheduler().dead_retry_many(
            asked.wanted(), cursor=asked.cursor, limit=asked.limit, dry_run=asked.dry_run
        )
    )


async def remove_many_dead(request: HttpRequest, asked: ChangeBody) -> Told:
    """Remove the dead letters that a filter chooses for good, step by step until the cursor is null."""
    return _told(
        await request.scheduler().dead_drop_many(
            asked.wanted(), cursor=asked.cursor, limit=asked.limit, dry_run=asked.dry_run
        )
    )


def _told(changed: Changed) -> Told:
    return ChangedJobs(changed=len(changed.ids), **changed.to_dict())
