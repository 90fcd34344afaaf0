"""Presence: who is in a room, and a job that forgets those who have gone."""

from __future__ import annotations

from datetime import timedelta

from lunora._generated.internal import internal
from lunora._generated.server import LunoraError, MutationContext, QueryContext, internal_mutation, mutation, query

_GONE_AFTER_MS = 30_000


@mutation
async def here(ctx: MutationContext, room_id: str) -> None:
    """Say that the caller is in a room."""
    if ctx.auth.user_id is None:
        raise LunoraError("UNAUTHORIZED", "sign in first")
    now = int(ctx.now.timestamp() * 1000)
    ctx.db.execute("INSERT OR REPLACE INTO presence VALUES (?, ?, ?)", room_id, ctx.auth.user_id, now)
    # the first one to enter starts the sweeping, which goes on by itself while somebody is there
    if ctx.db.fetch_one("SELECT count(*) AS n FROM presence WHERE room_id = ?", room_id) == {"n": 1}:
        await ctx.scheduler.run_after(timedelta(minutes=1), internal.presence.sweep, {"room_id": room_id})


@query
def who(ctx: QueryContext, room_id: str) -> list[str]:
    """Who is in a room."""
    since = int(ctx.now.timestamp() * 1000) - _GONE_AFTER_MS
    rows = ctx.db.fetch_all(
        "SELECT user_id FROM presence WHERE room_id = ? AND seen_at > ? ORDER BY user_id", room_id, since
    )
    return [row["user_id"] for row in rows]


@internal_mutation
async def sweep(ctx: MutationContext, room_id: str) -> int:
    """Forget who has not been seen; returns how many. Sweeps again later while somebody is left."""
    before = int(ctx.now.timestamp() * 1000) - _GONE_AFTER_MS
    gone = ctx.db.fetch_all(
        "DELETE FROM presence WHERE room_id = ? AND seen_at <= ? RETURNING user_id", room_id, before
    )
    if ctx.db.fetch_one("SELECT 1 FROM presence WHERE room_id = ? LIMIT 1", room_id):
        await ctx.scheduler.run_after(timedelta(minutes=1), internal.presence.sweep, {"room_id": room_id})
    return len(gone)


@internal_mutation
def tidy(ctx: MutationContext, gone_for_minutes: int) -> int:
    """Forget who has not been seen for long in any room, as a cron job; returns how many."""
    before = int(ctx.now.timestamp() * 1000) - gone_for_minutes * 60_000
    return len(ctx.db.fetch_all("DELETE FROM presence WHERE seen_at <= ? RETURNING user_id", before))
