"""Mutations that do what a mutation must not. Each writes a row and schedules a job first."""

from __future__ import annotations

import asyncio
from typing import Any

from workers import fetch

from lunora._generated.internal import internal
from lunora._generated.server import LunoraError, MutationContext, internal_mutation, mutation
from lunorash.scheduler import RunOptions


async def _begin(ctx: MutationContext, tag: str) -> None:
    ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", tag)
    await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": tag}, RunOptions(id=tag))


async def _late(ctx: MutationContext) -> None:
    ctx.db.execute("INSERT INTO effects (tag) VALUES ('late')")  # a task runs here


@mutation
async def raises(ctx: MutationContext, tag: str) -> None:
    """Raise."""
    await _begin(ctx, tag)
    raise LunoraError("UNRULY", "it always is")


@mutation
async def bad_delay(ctx: MutationContext, tag: str) -> None:
    """Schedule into the past."""
    await _begin(ctx, tag)
    await ctx.scheduler.run_after(-5, internal.ledger.effect, {"tag": tag})


@mutation
async def bad_arguments(ctx: MutationContext, tag: str) -> None:
    """Schedule what the function does not take."""
    await _begin(ctx, tag)
    await ctx.scheduler.run_after(0, "ledger:effect", {"tug": tag})


@mutation
async def unknown_function(ctx: MutationContext, tag: str) -> None:
    """Schedule what is not there."""
    await _begin(ctx, tag)
    await ctx.scheduler.run_after(0, "ledger:affect", {"tag": tag})


@mutation
async def unencodable(ctx: MutationContext, tag: str) -> Any:
    """Return what cannot be encoded."""
    await _begin(ctx, tag)
    return {"deep": [object()]}


@mutation
async def bad_sql(ctx: MutationContext, tag: str) -> None:
    """Run a statement that fails."""
    await _begin(ctx, tag)
    ctx.db.execute("INSERT INTO nowhere VALUES (1)")


@mutation
async def sleeps(ctx: MutationContext, tag: str) -> None:
    """Sleep."""
    await _begin(ctx, tag)
    await asyncio.sleep(0.01)  # sleeps here


@mutation
async def gathers(ctx: MutationContext, tag: str) -> None:
    """Run two things side by side."""
    await _begin(ctx, tag)
    await asyncio.gather(_late(ctx), _late(ctx))  # gathers here


@mutation
async def starts_a_task(ctx: MutationContext, tag: str) -> None:
    """Start a task that would go on after the commit."""
    await _begin(ctx, tag)
    asyncio.create_task(_late(ctx))  # noqa: RUF006


@mutation
async def fetches(ctx: MutationContext, tag: str) -> None:
    """Do I/O."""
    await _begin(ctx, tag)
    await fetch("http://localhost:1/")  # fetches here


@mutation
async def swallows(ctx: MutationContext, tag: str) -> str:
    """Swallow the refusal, write on, and return as if nothing were."""
    await _begin(ctx, tag)
    try:
        await asyncio.sleep(0)  # swallows here
    except BaseException:  # noqa: BLE001
        ctx.db.execute("INSERT INTO effects (tag) VALUES ('swallowed')")
    return "all is well"


@mutation
async def insists(ctx: MutationContext, tag: str) -> str:
    """Swallow every refusal there is."""
    await _begin(ctx, tag)
    for _ in range(100):
        try:
            await asyncio.sleep(0)  # insists here
        except BaseException:  # noqa: BLE001
            tag += "!"
    return "all is well"


@internal_mutation
async def sleeps_inside(ctx: MutationContext, tag: str) -> None:
    """Sleep, as a part of another mutation."""
    await _begin(ctx, tag)
    await asyncio.sleep(0)  # sleeps inside here


@mutation
async def nests_a_sleeper(ctx: MutationContext, tag: str) -> None:
    """Run a mutation inside, which sleeps."""
    await ctx.run_mutation(internal.unruly.sleeps_inside, {"tag": tag})
