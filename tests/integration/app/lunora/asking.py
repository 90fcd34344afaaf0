"""Mutations that ask the scheduler, cancel, and run others inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lunora._generated.internal import internal
from lunora._generated.server import LunoraError, MutationContext, internal_mutation, mutation
from lunorash.scheduler import JobRecord, RunOptions

_runs: dict[str, int] = {}
"""How often a body has run: in memory, so that a rollback does not undo it."""


def _count(tag: str) -> int:
    _runs[tag] = _runs.get(tag, 0) + 1
    return _runs[tag]


def _state(record: JobRecord | None) -> str | None:
    return None if record is None else record.state


@dataclass
class Asked:
    """What a mutation has learned, and how often its body has run for it."""

    states: list[str | None]
    runs: int
    chance: list[float]


@mutation
async def get(ctx: MutationContext, tag: str, ids: list[str], swallow: bool = False) -> Asked:
    """Look at jobs, and write a row."""
    runs, chance = _count(tag), ctx.random.random()
    ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", tag)
    states = []
    for job_id in ids:
        try:
            states.append(_state(await ctx.scheduler.get(job_id)))
        except BaseException:
            if not swallow:
                raise
            states.append("swallowed")
    return Asked(states, runs, [chance, ctx.now.timestamp()])


@mutation
async def listed(ctx: MutationContext, tag: str) -> list[str]:
    """List what is scheduled, a few at a time."""
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = await ctx.scheduler.list(cursor=cursor, limit=2)
        ids += [job.id for job in page.jobs if job.id.startswith(tag)]
        cursor = page.cursor
        if cursor is None:
            return ids


@mutation
async def schedule_and_get(ctx: MutationContext, tag: str) -> list[Any]:
    """Schedule a job and look at it."""
    job_id = await ctx.scheduler.run_after(600_000, internal.ledger.effect, {"tag": tag}, RunOptions(id=tag))
    record = await ctx.scheduler.get(job_id)
    return [_count(tag), None if record is None else [record.id, record.state, record.target, record.args]]


@mutation
async def schedule_and_cancel(ctx: MutationContext, tag: str, again: bool = False) -> bool | None:
    """Schedule a job under a chosen id, and cancel it; and schedule it again."""
    options = RunOptions(id=tag)
    await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": tag}, options)
    canceled = await ctx.scheduler.cancel(tag)
    assert await ctx.scheduler.get(tag) is None
    if again:
        await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": f"{tag} again"}, options)
    return canceled


@mutation
async def cancel(ctx: MutationContext, job_id: str, then: str | None = None) -> bool | None:
    """Cancel a job of before; and schedule one under its id."""
    canceled = await ctx.scheduler.cancel(job_id)
    if then is not None:
        await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": then}, RunOptions(id=job_id))
    return canceled


@mutation
async def schedule(ctx: MutationContext, job_id: str, tag: str, delay_ms: int = 0) -> str:
    """Schedule a job under a chosen id."""
    return await ctx.scheduler.run_after(delay_ms, internal.ledger.effect, {"tag": tag}, RunOptions(id=job_id))


@mutation
def count_up(ctx: MutationContext, name: str) -> int:
    """Read and write, as a counter does."""
    row = ctx.db.fetch_one("SELECT value FROM kept WHERE name = ?", name)
    value = 1 if row is None else int(row["value"]) + 1
    ctx.db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", name, str(value))
    return value


@mutation
async def count_up_and_book(ctx: MutationContext, name: str) -> int:
    """Count, and have a job for it."""
    value: int = await ctx.run_mutation("asking:count_up", {"name": name})
    await ctx.run_mutation("ledger:book", {"tags": [f"{name} {value}"]})
    return value


@internal_mutation
async def inner(ctx: MutationContext, tag: str, fail: bool = False) -> str:
    """Write, schedule and cancel inside another mutation."""
    ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", f"{tag} row")
    await ctx.scheduler.cancel(f"{tag}-outer")
    await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": f"{tag} inner"}, RunOptions(id=f"{tag}-inner"))
    if fail:
        raise LunoraError("INNER", "the inner one failed")
    return f"{tag} done"


@mutation
async def outer(ctx: MutationContext, tag: str, inner_fails: bool = False, fail: bool = False) -> str:
    """Schedule, and run a mutation inside that cancels that and schedules something else."""
    await ctx.scheduler.run_after(0, internal.ledger.effect, {"tag": f"{tag} outer"}, RunOptions(id=f"{tag}-outer"))
    said = "nothing"
    try:
        said = await ctx.run_mutation(internal.asking.inner, {"tag": tag, "fail": inner_fails})
    except LunoraError as error:
        said = error.code
    if fail:
        raise LunoraError("OUTER", "the outer one failed")
    return said


@mutation
async def on_another_shard(ctx: MutationContext, tag: str) -> None:
    """Run a mutation inside, on another shard, which cannot be."""
    run: Any = ctx.run_mutation
    await run(internal.ledger.effect, {"tag": tag}, shard_key="another")
