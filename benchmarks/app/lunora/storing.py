"""Putting jobs into the scheduler: one at a time as an app does, many at once, and in bulk behind its back."""

from __future__ import annotations

import json
import time
from typing import Any

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, action
from lunorash.codec import decode_json
from lunorash.scheduler import JobCall, RunOptions

_NEVER_MS = 365 * 86_400_000
_AT_ONCE = 20_000


@action
async def enqueue(ctx: ActionContext) -> str:
    """Schedule one job."""
    return await ctx.scheduler.run_after(_NEVER_MS, internal.idle.act)


@action
async def schedule_many(ctx: ActionContext, count: int) -> float:
    """Schedule many jobs in one call; returns the milliseconds that it took."""
    begin = time.time()
    answers = await ctx.scheduler.schedule_many([JobCall(internal.idle.act, delay=_NEVER_MS) for _ in range(count)])
    took = (time.time() - begin) * 1000
    for answer in answers:
        if isinstance(answer, LunoraError):
            raise answer
    return took


@action
async def stock(
    ctx: ActionContext, *, name: str, target: str, count: int, due_ms: int, step_ms: int = 0, url: str | None = None
) -> None:
    """Store jobs that are called `<name>-<number>`.

    The first is scheduled as any other, and so checked; the others are copies.
    """
    args = {} if url is None else {"url": url}
    await ctx.scheduler.run_at(due_ms, target, args, RunOptions(id=f"{name}-0"))
    for first in range(1, count, _AT_ONCE):
        chunk = {"name": name, "first": first, "behind": min(first + _AT_ONCE, count), "step_ms": step_ms}
        await _scheduler(ctx).copy(json.dumps(chunk))


@action
async def look(ctx: ActionContext, name: str) -> dict[str, Any]:
    """What became of the jobs of a name."""
    found: dict[str, Any] = decode_json(await _scheduler(ctx).look(name))
    return found


def _scheduler(ctx: ActionContext) -> Any:
    namespace = ctx.env.SCHEDULER
    return namespace.get(namespace.idFromName("default"))
