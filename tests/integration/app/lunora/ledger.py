"""Mutations that book jobs, and the jobs' effects, in the tables of the shard, where both can be counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lunora._generated.internal import internal
from lunora._generated.server import (
    ActionContext,
    LunoraError,
    MutationContext,
    QueryContext,
    action,
    internal_mutation,
    mutation,
    query,
)
from lunorash.scheduler import RetryPolicy, RunOptions

_RETRY = RetryPolicy(max_attempts=10, base_ms=100, backoff="linear")


async def _book(
    ctx: MutationContext, tags: Sequence[str], shard: str | None, delay_ms: int, then: Sequence[str]
) -> list[str]:
    ids = []
    for tag in tags:
        args = {"tag": tag, "shard": shard, "then": [f"{tag} {more}" for more in then]}
        job_id = await ctx.scheduler.run_after(
            delay_ms, internal.ledger.effect, args, RunOptions(shard_key=shard, retry=_RETRY)
        )
        ctx.db.execute("INSERT INTO booked VALUES (?, ?)", tag, job_id)
        ids.append(job_id)
    return ids


@mutation
async def book(
    ctx: MutationContext,
    *,
    tags: list[str],
    shard: str | None = None,
    delay_ms: int = 0,
    then: list[str] | None = None,
    fail: bool = False,
) -> list[str]:
    """Book a job for each tag; its effect books further ones, named in `then`."""
    ids = await _book(ctx, tags, shard, delay_ms, then or [])
    if fail:
        raise LunoraError("BOOKED_IN_VAIN", "the caller wanted it to fail", status=418, data={"tags": tags})
    return ids


@internal_mutation
async def effect(ctx: MutationContext, tag: str, shard: str | None = None, then: list[str] | None = None) -> int:
    """Have an effect; returns how many there are."""
    _note(ctx, tag)
    await _book(ctx, then or [], shard, 0, [])
    return len(_effects(ctx, tag))


@internal_mutation
def effect_unless_closed(ctx: MutationContext, tag: str) -> None:
    """Have an effect, or fail while the ledger is closed."""
    _note(ctx, tag)
    if ctx.db.fetch_one("SELECT 1 FROM kept WHERE name = 'closed'"):
        raise LunoraError("LEDGER_CLOSED", "open it first")


@mutation
def close(ctx: MutationContext, closed: bool = True) -> None:
    """Close the ledger, or open it."""
    ctx.db.execute("DELETE FROM kept WHERE name = 'closed'")
    if closed:
        ctx.db.execute("INSERT INTO kept VALUES ('closed', '')")


@query
def effects(ctx: QueryContext, tag: str = "%") -> list[dict[str, Any]]:
    """The effects that jobs have had, in order."""
    return _effects(ctx, tag)


@query
async def booked(ctx: QueryContext, tag: str = "%") -> list[dict[str, Any]]:
    """What was booked, in order."""
    return ctx.db.fetch_all("SELECT * FROM booked WHERE tag LIKE ? ORDER BY rowid", tag)


@query
def state(ctx: QueryContext) -> list[list[dict[str, Any]]]:
    """What was booked, and the effects of it."""
    return [ctx.db.fetch_all("SELECT * FROM booked WHERE job <> '' ORDER BY rowid"), _effects(ctx, "%")]


@action
async def states(ctx: ActionContext, shards: list[str]) -> list[Any]:
    """The same of many shards, each of which may crash just now."""

    async def read(shard: str) -> Any:
        for _ in range(4):
            with suppress(LunoraError):
                return await ctx.run_query("ledger:state", shard_key=shard)
        return await ctx.run_query("ledger:state", shard_key=shard)

    return await asyncio.gather(*(read(shard) for shard in shards))


def _effects(ctx: MutationContext | QueryContext, tag: str) -> list[dict[str, Any]]:
    return ctx.db.fetch_all("SELECT * FROM effects WHERE tag LIKE ? ORDER BY rowid", tag)


def _note(ctx: MutationContext, tag: str) -> None:
    job = ctx.job
    ctx.db.execute(
        "INSERT INTO effects VALUES (?, ?, ?, ?, ?)",
        tag,
        job and job.id,
        job and job.incarnation,
        job and job.attempt,
        ctx.auth.user_id,
    )
