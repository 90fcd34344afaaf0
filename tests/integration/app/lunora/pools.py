"""Workpools, as actions and mutations use them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, MutationContext, action, mutation
from lunorash.scheduler import RetryPolicy, RunOptions, create_workpool

_RETRY = RetryPolicy(max_attempts=5, base_ms=100)


@action
async def enqueue(ctx: ActionContext, *, name: str, cap: int, seconds: list[float], priority: int = 0) -> list[str]:
    """Put a job into a pool for each of some durations."""
    pool = create_workpool(namespace=ctx.env.SCHEDULER, name=name, max_concurrency=cap)
    many = [{"seconds": duration} for duration in seconds]
    return await pool.enqueue_many(internal.probes.slow, many, RunOptions(retry=_RETRY, priority=priority))


@action
async def enqueue_one(ctx: ActionContext, *, name: str, cap: int, seconds: float, delay_ms: int = 0) -> str:
    """Put one job into a pool."""
    pool = create_workpool(namespace=ctx.env.SCHEDULER, name=name, max_concurrency=cap)
    return await pool.enqueue(internal.probes.slow, {"seconds": seconds}, RunOptions(retry=_RETRY), delay=delay_ms)


@action
async def steer(
    ctx: ActionContext, *, name: str, cap: int, do: Literal["status", "pause", "resume", "set"], to: int = 1
) -> dict[str, Any]:
    """Look at a pool, pause or resume it, or set its cap."""
    pool = create_workpool(namespace=ctx.env.SCHEDULER, name=name, max_concurrency=cap)
    if do == "set":
        return asdict(await pool.set_max_concurrency(to))
    return asdict(await {"status": pool.status, "pause": pool.pause, "resume": pool.resume}[do]())


@action
async def cancel(ctx: ActionContext, *, name: str, cap: int, job_id: str) -> bool:
    """Cancel a job of a pool."""
    return await create_workpool(namespace=ctx.env.SCHEDULER, name=name, max_concurrency=cap).cancel(job_id)


@mutation
async def book(ctx: MutationContext, *, name: str, seconds: list[float], fail: bool = False) -> list[str]:
    """Schedule jobs in a pool, in a transaction."""
    options = RunOptions(pool=name, retry=_RETRY)
    ids = [
        await ctx.scheduler.run_after(0, internal.probes.slow, {"seconds": duration}, options) for duration in seconds
    ]
    if fail:
        raise LunoraError("BOOKED_IN_VAIN", "the caller wanted it to fail")
    return ids
