"""The admin API of dead letters: what they died of, and each of them tried again or removed."""

from __future__ import annotations

from lunorash.http import HttpRequest
from lunorash.scheduler.record import DeadGroup
from lunorash.studio.asking import Told
from lunorash.studio.job_routes import JobQuery, PageQuery, page_of

__all__ = ["Groups", "Removed", "Retried", "group_dead", "list_dead", "remove_dead", "retry_dead"]


class Groups(Told):
    """Dead letters in groups, the largest first.

    Args:
        groups: what called the same and died of the same.
        exact: whether these are all groups, and all dead letters were counted.
    """

    groups: tuple[DeadGroup, ...]
    exact: bool


class Retried(Told):
    """Whether a dead letter is tried again.

    Args:
        id: of the job.
        retried: whether it was a dead letter.
    """

    id: str
    retried: bool


class Removed(Told):
    """Whether a dead letter was removed.

    Args:
        removed: whether there was one.
    """

    removed: bool


async def list_dead(request: HttpRequest, asked: PageQuery) -> Told:
    """List dead letters, the newest first."""
    return page_of(await request.scheduler().dead(cursor=asked.cursor or None, limit=asked.limit))


async def group_dead(request: HttpRequest, _asked: None) -> Told:
    """Tell what dead letters died of: grouped by what they called and the code of their error."""
    found = await request.scheduler().dead_groups()
    return Groups(groups=found.groups, exact=found.exact)


async def retry_dead(request: HttpRequest, asked: JobQuery) -> Told:
    """Try a dead letter again, at once and with all its attempts."""
    return Retried(id=asked.id, retried=await request.scheduler().dead_retry(asked.id))


async def remove_dead(request: HttpRequest, asked: JobQuery) -> Told:
    """Remove a dead letter for good."""
    return Removed(removed=await request.scheduler().dead_drop(asked.id))
