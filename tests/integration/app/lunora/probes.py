"""Functions that note in the journal when they start and end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from journal import journal

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, internal_action


@asynccontextmanager
async def _noted(ctx: ActionContext) -> AsyncIterator[None]:
    await _write(ctx, "start")
    yield
    await _write(ctx, "end")


async def _write(ctx: ActionContext, event: str) -> None:
    assert ctx.job is not None
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, event, time.time() * 1000)


@internal_action
async def note(ctx: ActionContext, value: Any = None) -> None:
    async with _noted(ctx):
        del value


@internal_action
async def slow(ctx: ActionContext, seconds: float) -> None:
    async with _noted(ctx):
        await asyncio.sleep(seconds)


@internal_action
async def fail(ctx: ActionContext) -> None:
    await _write(ctx, "start")
    raise LunoraError("PROBE_FAILED", "it always does")


@internal_action
async def chain(ctx: ActionContext, remaining: int) -> None:
    async with _noted(ctx):
        if remaining:
            await ctx.scheduler.run_after(0, internal.probes.chain, {"remaining": remaining - 1})
