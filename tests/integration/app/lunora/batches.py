"""Many small jobs that fall due together, booked by one mutation: what batches are made of."""

from __future__ import annotations

import asyncio
from typing import Literal

from journal import journal

from lunora._generated.internal import internal
from lunora._generated.server import (
    ActionContext,
    LunoraError,
    MutationContext,
    internal_action,
    internal_mutation,
    mutation,
)
from lunorash.scheduler import RetryPolicy, RunOptions

_RETRY = RetryPolicy(max_attempts=5, base_ms=200, backoff="linear")


@mutation
async def fill(
    ctx: MutationContext,
    *,
    kind: Literal["touch", "rest"],
    count: int,
    at_ms: int = 0,
    shard: str | None = None,
    failing: list[int] | None = None,
    asking: list[int] | None = None,
    seconds: list[float] | None = None,
) -> list[str]:
    """Book mutations that touch the shard, or actions that rest; those in `failing` fail once, in `asking` they ask."""
    ids = []
    for number in range(count):
        options = RunOptions(shard_key=shard, retry=_RETRY)
        if number in (asking or ()):
            ids.append(await ctx.scheduler.run_at(at_ms, internal.batches.ask, {"tag": f"touch {number}"}, options))
        elif kind == "touch":
            args = {"tag": f"touch {number}", "fails": number in (failing or ())}
            ids.append(await ctx.scheduler.run_at(at_ms, internal.batches.touch, args, options))
        else:
            rest = {"seconds": seconds[number] if seconds else None}
            ids.append(await ctx.scheduler.run_at(at_ms, internal.batches.rest, rest, options))
    return ids


@internal_mutation
def touch(ctx: MutationContext, tag: str, fails: bool = False) -> None:
    """Leave one row; a job that fails does so at its first attempt, and what it wrote is undone."""
    job = ctx.job
    assert job is not None
    ctx.db.execute("INSERT INTO effects VALUES (?, ?, ?, ?, NULL)", tag, job.id, job.incarnation, job.attempt)
    if fails and job.attempt == 1:
        raise LunoraError("NOT_YET", "the first attempt of this one fails")


@internal_mutation
async def ask(ctx: MutationContext, tag: str) -> None:
    """The same, but first ask the SchedulerDO something, which makes this run twice."""
    job = ctx.job
    assert job is not None
    known = await ctx.scheduler.get(job.id)
    assert known is not None
    ctx.db.execute("INSERT INTO effects VALUES (?, ?, ?, ?, NULL)", tag, job.id, job.incarnation, job.attempt)


@internal_action
async def rest(ctx: ActionContext, seconds: float | None = None) -> None:
    """Do nothing; with `seconds` do so for a while, and note when."""
    if seconds is None:
        return
    assert ctx.job is not None
    for event, pause in (("start", seconds), ("end", 0)):
        await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, event, ctx.now.timestamp() * 1000)
        await asyncio.sleep(pause)
