"""Functions that end in every way, and one that is told how."""

from __future__ import annotations

import json
from typing import Any

from lunora._generated.internal import internal
from lunora._generated.server import (
    ActionContext,
    LunoraError,
    MutationContext,
    QueryContext,
    internal_action,
    internal_mutation,
    mutation,
    query,
)
from lunorash.scheduler import Completion, NonRetryableError, RetryAfter, RunOptions, raise_for_retry


@internal_mutation
def told(ctx: MutationContext, completion: Completion) -> None:
    """Keep what is told of an ending; told twice, it would fail."""
    ctx.db.execute(
        "INSERT INTO kept VALUES (?, ?)",
        f"told {completion.id} {completion.incarnation} {completion.outcome}",
        completion.model_dump_json(),
    )


@internal_action
async def told_far_away(ctx: ActionContext, completion: Completion) -> None:
    """The same from an action."""
    await ctx.run_mutation("outcomes:told", completion.model_dump(mode="json"))


@query
def endings(ctx: QueryContext, job_id: str) -> list[Any]:
    """What was told of the endings of a job."""
    rows = ctx.db.fetch_all("SELECT value FROM kept WHERE name LIKE ? ORDER BY rowid", f"told {job_id} %")
    return [json.loads(row["value"]) for row in rows]


@internal_action
async def act(_ctx: ActionContext, size: int = 3) -> dict[str, Any]:
    """Return a result of a size."""
    return {"number": 2**60, "text": "é" * size}


@internal_mutation
def give(ctx: MutationContext, value: Any, fail: bool = False) -> Any:
    """Return what was given, or fail for good."""
    assert ctx.job is not None
    ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", f"give {ctx.job.id}")
    if fail:
        raise NonRetryableError("it was to fail", code="TOLD_TO")
    return value


@internal_action
async def give_up(_ctx: ActionContext) -> None:
    """Fail for good, somewhere below."""
    _stolen("4242")


def _stolen(card: str) -> None:
    raise NonRetryableError("the card was stolen", code="CARD_STOLEN", data={"card": card})


@internal_action
async def break_down(_ctx: ActionContext, secret: str) -> int:
    """Fail as nobody expected."""
    return int(secret)


@internal_action
async def busy(ctx: ActionContext, seconds: float) -> int:
    """Ask for time at the first attempt."""
    assert ctx.job is not None
    if ctx.job.attempt == 1:
        raise RetryAfter(seconds, "not now", code="BUSY")
    return ctx.job.attempt


@internal_mutation
def busy_shard(ctx: MutationContext, seconds: float) -> int:
    """The same from a shard."""
    assert ctx.job is not None
    if ctx.job.attempt == 1:
        raise RetryAfter(seconds, "not now", code="BUSY")
    return ctx.job.attempt


@internal_action
async def ask_upstream(ctx: ActionContext, url: str) -> str:
    """Ask somebody else, and pass on that they are busy."""
    response = await ctx.fetch(url)
    raise_for_retry(response)
    text: str = await response.text()
    return text


@mutation
async def book(ctx: MutationContext, count: int, at_ms: int) -> list[str]:
    """Book mutations that are told of when they end, every third one failing for good."""
    return [
        await ctx.scheduler.run_at(
            at_ms,
            internal.outcomes.give,
            {"value": {"number": number}, "fail": number % 3 == 2},
            RunOptions(on_complete=internal.outcomes.told, tags=["booked", f"n{number}"]),
        )
        for number in range(count)
    ]


@mutation
async def book_badly(ctx: MutationContext, tag: str) -> None:
    """Write, and ask for what cannot be: both are undone."""
    ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", tag)
    try:
        await ctx.scheduler.run_after(0, internal.outcomes.act, {}, RunOptions(on_complete="outcomes:act"))
    except LunoraError as error:
        ctx.db.execute("INSERT INTO effects (tag) VALUES (?)", f"{tag} {error.code}")
        raise
