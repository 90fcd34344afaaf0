"""Functions that pass a trace on: into jobs, by every way there is, and out to whoever they fetch from."""

from __future__ import annotations

from lunora._generated.internal import internal
from lunora._generated.server import (
    ActionContext,
    MutationContext,
    action,
    internal_action,
    internal_mutation,
    mutation,
)
from lunorash.scheduler import create_workpool


@action
async def ask(ctx: ActionContext, url: str) -> list[str]:
    """Fetch from somewhere now, in a job, and in a job of a pool."""
    await ctx.fetch(f"{url}/now")
    pool = create_workpool(namespace=ctx.env.SCHEDULER, name="traced", max_concurrency=1)
    return [
        await ctx.scheduler.run_after(0, internal.traced.call, {"url": f"{url}/job"}),
        await pool.enqueue(internal.traced.call, {"url": f"{url}/pool"}),
    ]


@mutation
async def book(ctx: MutationContext, url: str) -> str:
    """Fetch from somewhere in a job of a job."""
    return await ctx.scheduler.run_after(0, internal.traced.book_on, {"url": url})


@internal_mutation
async def book_on(ctx: MutationContext, url: str) -> None:
    await ctx.scheduler.run_after(0, internal.traced.call, {"url": f"{url}/mutation"})


@internal_action
async def call(ctx: ActionContext, url: str) -> None:
    assert ctx.job is not None
    await ctx.fetch(f"{url}?job={ctx.job.traceparent}", headers={"x-other": "kept"})
    await ctx.fetch(f"{url}/own", headers={"Traceparent": "of my own"})
