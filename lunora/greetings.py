"""Functions that the demo schedules."""

from __future__ import annotations

import asyncio

from lunorash.contexts import ActionContext
from lunorash.scheduler import Scheduler
from lunorash.server import LunoraError

Context = ActionContext[Scheduler]


def hello(ctx: Context, name: str) -> str:
    """Say hello."""
    print(f"Hello, {name}! (job {ctx.job.id}, attempt {ctx.job.attempt})")
    return f"Hello, {name}!"


def flaky(ctx: Context, failures: int) -> str:
    """Fail a number of times, then succeed."""
    if ctx.job.attempt <= failures:
        raise LunoraError("UPSTREAM_DOWN", f"attempt {ctx.job.attempt} of a job that fails {failures} times")
    return f"succeeded at attempt {ctx.job.attempt}"


async def slow(_ctx: Context, seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return f"took {seconds} s"
