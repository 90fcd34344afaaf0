"""Functions that a later version of the app no longer has, or has with other parameters."""

from __future__ import annotations

from lunora._generated.internal import internal
from lunora._generated.server import MutationContext, internal_mutation, mutation


@mutation
async def schedule(ctx: MutationContext) -> dict[str, str]:
    """Schedule both; returns the ids of the jobs."""
    return {
        "vanishing": await ctx.scheduler.run_after(2_000, internal.passing.vanishing, {"tag": "vanishing"}),
        "changing": await ctx.scheduler.run_after(2_000, "passing:changing", {"tag": "changing"}),
    }


@internal_mutation
def vanishing(ctx: MutationContext, tag: str) -> None:
    """Have an effect."""
    ctx.db.execute("INSERT INTO effects (tag, job) VALUES (?, ?)", tag, ctx.job and ctx.job.id)


@internal_mutation
def changing(ctx: MutationContext, tag: str) -> None:
    """Have an effect."""
    ctx.db.execute("INSERT INTO effects (tag, job) VALUES (?, ?)", tag, ctx.job and ctx.job.id)
