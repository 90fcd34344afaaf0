"""The admin API of workpools: look at them, pause and resume them, change their caps."""

from __future__ import annotations

from lunorash.http import HttpRequest
from lunorash.scheduler.pool import PoolStatus
from lunorash.studio.asking import Asked, CapField, PoolField, Told
from lunorash.studio.job_routes import PageQuery

__all__ = ["CapBody", "OnePool", "PoolBody", "Pools", "cap_pool", "list_pools", "pause_pool", "resume_pool"]


class PoolBody(Asked):
    """One workpool.

    Args:
        name: which.
    """

    name: PoolField


class CapBody(PoolBody):
    """A cap for a workpool.

    Args:
        max_concurrency: how many of its jobs may run at a time.
    """

    max_concurrency: CapField


class Pools(Told):
    """A page of workpools.

    Args:
        pools: by name.
        truncated: whether there are more.
        cursor: asks for the next page; not there on the last.
    """

    pools: tuple[PoolStatus, ...]
    truncated: bool
    cursor: str | None = None


class OnePool(Told):
    """A workpool as it is now.

    Args:
        pool: how it is doing.
    """

    pool: PoolStatus


async def list_pools(request: HttpRequest, asked: PageQuery) -> Told:
    """List workpools by name: how many jobs run, how many wait, the cap, whether it is paused."""
    page = await request.scheduler().pools(cursor=asked.cursor or None, limit=asked.limit)
    if page.cursor is None:
        return Pools(pools=page.pools, truncated=False)
    return Pools(pools=page.pools, truncated=True, cursor=page.cursor)


async def pause_pool(request: HttpRequest, asked: PoolBody) -> Told:
    """Start no more jobs of a workpool; those that run go on."""
    return OnePool(pool=await request.scheduler().set_pool(asked.name, paused=True))


async def resume_pool(request: HttpRequest, asked: PoolBody) -> Told:
    """Start the jobs of a workpool again."""
    return OnePool(pool=await request.scheduler().set_pool(asked.name, paused=False))


async def cap_pool(request: HttpRequest, asked: CapBody) -> Told:
    """Set a cap by hand: it holds until code asks for another one."""
    return OnePool(pool=await request.scheduler().set_pool(asked.name, max_concurrency=asked.max_concurrency))
