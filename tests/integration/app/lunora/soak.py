"""Jobs of the soak: each does what its arguments say, and leaves a trace that can be held against the records."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from journal import journal

from lunora._generated.server import (
    ActionContext,
    LunoraError,
    MutationContext,
    QueryContext,
    action,
    internal_action,
    internal_mutation,
    mutation,
    query,
)
from lunorash.scheduler import RetryPolicy, RunOptions

_FOR_LONG_S = 3_600


@internal_action
async def work(ctx: ActionContext, *, ms: int = 0, hang: int = 0, fail: int = 0) -> None:
    """Take some time; hang, or fail, in the attempts up to a number."""
    assert ctx.job is not None
    await _note(ctx, "start")
    try:
        await asyncio.sleep(_FOR_LONG_S if ctx.job.attempt <= hang else ms / 1000)
    except asyncio.CancelledError:
        await _note(ctx, "stopped")
        raise
    if ctx.job.attempt <= fail:
        await _note(ctx, "failed")
        raise LunoraError("SOAK_FAILED", "it was to fail")
    await _note(ctx, "end")


@internal_mutation
def effect(ctx: MutationContext, *, fail: int = 0) -> None:
    """Have an effect; take it back and fail in the attempts up to a number."""
    assert ctx.job is not None
    ctx.db.execute(
        "INSERT INTO effects VALUES ('soak', ?, ?, ?, NULL)", ctx.job.id, ctx.job.incarnation, ctx.job.attempt
    )
    if ctx.job.attempt <= fail:
        raise LunoraError("SOAK_FAILED", "it was to fail")


@action
async def enqueue(ctx: ActionContext, jobs: list[dict[str, Any]]) -> int:
    """Schedule jobs, each in a call of its own."""
    await asyncio.gather(*(_schedule(ctx, job) for job in jobs))
    return len(jobs)


@mutation
async def book(ctx: MutationContext, jobs: list[dict[str, Any]]) -> int:
    """Schedule jobs in one transaction."""
    for job in jobs:
        await _schedule(ctx, job)
    return len(jobs)


@query
def effects_behind(ctx: QueryContext, row: int) -> list[dict[str, Any]]:
    """Effects of this shard behind a row, some at a time."""
    return ctx.db.fetch_all(
        "SELECT rowid AS number, job, incarnation, attempt FROM effects WHERE rowid > ? ORDER BY rowid LIMIT 500", row
    )


async def _schedule(ctx: ActionContext | MutationContext, job: dict[str, Any]) -> None:
    options = RunOptions(
        id=job["id"],
        retry=RetryPolicy.from_dict(job["retry"]),
        timeout=job["timeout_ms"],
        shard_key=job["shard"],
        pool=job["pool"],
    )
    await ctx.scheduler.run_after(job["delay_ms"], job["target"], job["args"], options)


async def _note(ctx: ActionContext, event: str) -> None:
    assert ctx.job is not None
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, event, time.time() * 1000)
