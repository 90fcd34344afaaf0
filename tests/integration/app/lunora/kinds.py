"""Functions of every kind and shape, and values of every kind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from lunora._generated.internal import internal
from lunora._generated.server import (
    ActionContext,
    LunoraError,
    MutationContext,
    QueryContext,
    action,
    internal_mutation,
    internal_query,
    mutation,
    query,
)


class Colour(Enum):
    """An enumeration."""

    RED = "red"


@dataclass
class Point:
    """A dataclass."""

    x: int
    y: float


class Line(BaseModel):
    """One line of an order."""

    sku: str
    count: int = Field(ge=1)


class Order(BaseModel):
    """A model, as the only argument of a function."""

    plan: Literal["pro", "team"]
    lines: list[Line]


class Parcel(BaseModel):
    """A model with bytes in it."""

    data: bytes
    sent: datetime


@query
def echo(_ctx: QueryContext, value: Any) -> Any:
    """Return what is given."""
    return value


@query
async def echo_rich(
    _ctx: QueryContext,
    *,
    at: datetime,
    day: date,
    span: timedelta,
    price: Decimal,
    key: UUID,
    data: bytes,
    colour: Colour,
    point: Point,
    line: Line | None,
) -> dict[str, Any]:
    """Return what is given, and how Python sees it."""
    rich = {
        "at": at,
        "day": day,
        "span": span,
        "price": price,
        "key": key,
        "data": data,
        "colour": colour,
        "point": point,
        "line": line,
    }
    return {"given": rich, "seen": {name: repr(value) for name, value in rich.items()}}


@query
def parcel(ctx: QueryContext) -> Parcel:
    """Return a model with bytes that are no text."""
    return Parcel(data=bytes([0, 255, 191]), sent=ctx.now)


@mutation
def order(_ctx: MutationContext, order: Order) -> int:
    """Count what is ordered."""
    return sum(line.count for line in order.lines)


@mutation
def keep(ctx: MutationContext, name: str, value: Any) -> None:
    """Keep a value."""
    ctx.db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", name, json.dumps(value))


@mutation
async def keep_later(ctx: MutationContext, name: str, value: Any) -> str:
    """Keep a value by way of a job."""
    return await ctx.scheduler.run_after(0, internal.kinds.keep_now, {"name": name, "value": value})


@internal_mutation
def keep_now(ctx: MutationContext, name: str, value: Any) -> None:
    """Keep a value, and who kept it."""
    ctx.db.execute("INSERT INTO kept VALUES (?, ?)", name, json.dumps(value))
    ctx.db.execute(
        "INSERT INTO kept VALUES (?, ?)", f"{name} auth", json.dumps([ctx.auth.user_id, {**ctx.auth.claims}])
    )


@query
def kept(ctx: QueryContext, name: str) -> Any:
    """A value that was kept."""
    row = ctx.db.fetch_one("SELECT value FROM kept WHERE name = ?", name)
    return None if row is None else json.loads(row["value"])


@internal_query
def secret(_ctx: QueryContext) -> str:
    """Only other functions may ask."""
    return "for insiders"


@action
async def round_trip(ctx: ActionContext, name: str, value: Any, shard: str | None = None) -> Any:
    """Keep a value and read it back, on any shard."""
    await ctx.run_mutation("kinds:keep", {"name": name, "value": value}, shard_key=shard)
    return [
        await ctx.run_query("kinds:kept", {"name": name}, shard_key=shard),
        await ctx.run_query(internal.kinds.secret, shard_key=shard),
    ]


@query
def who(ctx: QueryContext) -> list[Any]:
    """Who calls."""
    return [ctx.auth.user_id, {**ctx.auth.claims}]


@query
def write_in_query(ctx: QueryContext, swallow: bool) -> str:
    """Write, which a query may not."""
    try:
        ctx.db.execute("INSERT INTO kept VALUES ('by a query', '1')")
    except LunoraError:
        if not swallow:
            raise
    return "swallowed"


@query
def schedule_in_query(ctx: QueryContext) -> str:
    """Schedule, which a query may not."""
    return str(ctx.scheduler)


@query
def break_query(_ctx: QueryContext, text: str) -> None:
    """Raise what nobody expects."""
    raise ValueError(text)


@mutation
def break_mutation(ctx: MutationContext, text: str) -> None:
    """Write, and raise what nobody expects."""
    ctx.db.execute("INSERT INTO kept VALUES ('by a broken mutation', '1')")
    raise KeyError(text)


@action
async def break_action(_ctx: ActionContext, text: str) -> None:
    """Raise what nobody expects."""
    raise RuntimeError(text)


@query
def mistyped_result(_ctx: QueryContext) -> list[int]:
    """Return something else than the annotation says."""
    return [1, "two"]  # type: ignore[list-item]


@query
def refuse(_ctx: QueryContext) -> None:
    """Refuse with a code of the app's own."""
    raise LunoraError("TRIAL_RUNNING", "your trial is running already", status=409, data={"days": 3})
