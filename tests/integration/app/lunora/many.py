"""Many jobs at once, from an action and from a mutation."""

from __future__ import annotations

import time
from typing import Any

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, MutationContext, action, mutation
from lunorash.scheduler import JobCall, RunOptions


def _told(answers: list[str | LunoraError]) -> list[str | dict[str, Any]]:
    return [answer.to_dict() if isinstance(answer, LunoraError) else answer for answer in answers]


def _calls(ids: list[str], delay_ms: int, pool: str | None) -> list[JobCall]:
    return [JobCall(internal.probes.note, delay=delay_ms, options=RunOptions(id=job_id, pool=pool)) for job_id in ids]


@action
async def schedule(
    ctx: ActionContext, *, ids: list[str], delay_ms: int = 0, pool: str | None = None
) -> list[str | dict[str, Any]]:
    """Schedule a job for each id; the last call of all names a function that is not there."""
    calls = [*_calls(ids, delay_ms, pool), JobCall("probes:nobody")]
    return _told(await ctx.scheduler.schedule_many(calls))


@mutation
async def book(ctx: MutationContext, *, ids: list[str], delay_ms: int = 0) -> list[str | dict[str, Any]]:
    """The same in a transaction."""
    calls = [*_calls(ids, delay_ms, None), JobCall("probes:nobody")]
    return _told(await ctx.scheduler.schedule_many(calls))


@action
async def measure(ctx: ActionContext, *, count: int, delay_ms: int) -> float:
    """How many milliseconds it takes to schedule so many jobs in one call."""
    calls = [JobCall(internal.probes.note, delay=delay_ms) for _ in range(count)]
    begin = time.time()
    answers = await ctx.scheduler.schedule_many(calls)
    assert len(set(_told(answers))) == count  # type: ignore[arg-type]
    return (time.time() - begin) * 1000
