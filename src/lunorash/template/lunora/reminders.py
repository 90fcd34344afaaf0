"""Reminders: kept by a mutation, delivered later by a job."""

from __future__ import annotations

from lunora._generated.internal import internal
from lunora._generated.server import MutationContext, QueryContext, internal_mutation, mutation, query


@mutation
async def remind(ctx: MutationContext, text: str, delay_ms: int = 3000) -> str:
    """Keep a reminder and schedule its delivery; returns its id.

    Both happen or neither does: if anything here raises, nothing was written and nothing is scheduled.
    Anybody may call this. Add `.auth(...)` in src/worker.py and look at `ctx.auth.user_id` before you deploy.
    """
    reminder_id = f"{ctx.random.getrandbits(64):016x}"
    ctx.db.execute("INSERT INTO reminders (id, text) VALUES (?, ?)", reminder_id, text)
    await ctx.scheduler.run_after(delay_ms, internal.reminders.deliver, {"reminder_id": reminder_id})
    return reminder_id


@query
def reminder(ctx: QueryContext, reminder_id: str) -> dict[str, str | int | None] | None:
    """A reminder as it stands; None if there is none."""
    row = ctx.db.fetch_one("SELECT text, delivered_at FROM reminders WHERE id = ?", reminder_id)
    return None if row is None else {"text": row["text"], "delivered_at": row["delivered_at"]}


@internal_mutation
async def deliver(ctx: MutationContext, reminder_id: str) -> None:
    """Deliver a reminder. Run by a job, as nobody; clients cannot call it."""
    now = int(ctx.now.timestamp() * 1000)
    ctx.db.execute("UPDATE reminders SET delivered_at = ? WHERE id = ?", now, reminder_id)
