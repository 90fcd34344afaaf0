"""Functions that note in the journal when they start and end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from journal import journal

from lunorash.server import Context, LunoraError


@asynccontextmanager
async def _noted(ctx: Context) -> AsyncIterator[None]:
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, "start", time.time() * 1000)
    yield
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, "end", time.time() * 1000)


async def note(ctx: Context, **_args: object) -> None:
    async with _noted(ctx):
        pass


async def slow(ctx: Context, seconds: float) -> None:
    async with _noted(ctx):
        await asyncio.sleep(seconds)


async def fail(ctx: Context) -> None:
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, "start", time.time() * 1000)
    raise LunoraError("PROBE_FAILED", "it always does")


async def chain(ctx: Context, remaining: int) -> None:
    async with _noted(ctx):
        if remaining:
            await ctx.scheduler.run_after(0, "probes:chain", {"remaining": remaining - 1})


PROBES = {"probes:note": note, "probes:slow": slow, "probes:fail": fail, "probes:chain": chain}
