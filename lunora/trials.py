"""Trials: started by a user, ended by a job fourteen days later."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from lunora._generated.internal import internal
from lunora._generated.server import (
    LunoraError,
    MutationContext,
    QueryContext,
    internal_mutation,
    mutation,
    query,
)
from lunora._generated.workflows import workflows

Plan = Literal["pro", "team"]


def _signed_in(ctx: MutationContext | QueryContext) -> str:
    """The caller's own id, never one that the client passes in."""
    if ctx.auth.user_id is None:
        raise LunoraError("UNAUTHORIZED", "sign in first")
    return ctx.auth.user_id


@mutation
async def start_trial(ctx: MutationContext, plan: Plan, days: float = 14) -> str:
    """Start a trial and schedule its end; returns the id of that job.

    If anything here raises, nothing was written and nothing is scheduled.
    """
    user_id = _signed_in(ctx)
    if ctx.db.fetch_one("SELECT 1 FROM trials WHERE user_id = ? AND state = 'running'", user_id):
        raise LunoraError("TRIAL_RUNNING", "your trial is running already", status=409)
    ends = timedelta(days=days)
    job_id = await ctx.scheduler.run_after(ends, internal.trials.end_trial, {"user_id": user_id})
    await ctx.scheduler.run_after(0, workflows.onboarding, {"user_id": user_id})
    ctx.db.execute(
        "INSERT OR REPLACE INTO trials VALUES (?, ?, 'running', ?, ?)",
        user_id,
        plan,
        round((ctx.now + ends).timestamp() * 1000),
        job_id,
    )
    return job_id


@mutation
async def stop_trial(ctx: MutationContext) -> None:
    """Stop a trial before its end; the job that would have ended it is cancelled."""
    user_id = _signed_in(ctx)
    trial = ctx.db.fetch_one("SELECT job_id FROM trials WHERE user_id = ? AND state = 'running'", user_id)
    if trial is None:
        raise LunoraError("NO_TRIAL", "you have no trial that is running", status=404)
    await ctx.scheduler.cancel(trial["job_id"])
    ctx.db.execute("UPDATE trials SET state = 'stopped' WHERE user_id = ?", user_id)


@query
def trial(ctx: QueryContext) -> dict[str, str | datetime] | None:
    """The caller's trial."""
    row = ctx.db.fetch_one("SELECT plan, state, ends_at FROM trials WHERE user_id = ?", _signed_in(ctx))
    if row is None:
        return None
    ends_at = datetime.fromtimestamp(row["ends_at"] / 1000, ctx.now.tzinfo)
    return {"plan": row["plan"], "state": row["state"], "ends_at": ends_at}


@internal_mutation
async def end_trial(ctx: MutationContext, user_id: str) -> None:
    """End a trial and bill for what comes after it. Run by a job, as nobody."""
    trial = ctx.db.fetch_one("SELECT plan FROM trials WHERE user_id = ? AND state = 'running'", user_id)
    if trial is None:
        return
    ctx.db.execute("UPDATE trials SET state = 'ended' WHERE user_id = ?", user_id)
    invoice_id = f"{user_id}-{ctx.now:%Y%m%d}"
    ctx.db.execute("INSERT OR IGNORE INTO invoices VALUES (?, ?, ?, NULL)", invoice_id, user_id, trial["plan"])
    await ctx.scheduler.run_after(0, internal.billing.charge, {"invoice_id": invoice_id})


@internal_mutation
def forget(ctx: MutationContext, after_days: int) -> int:
    """Forget trials that were over long ago, as a cron job; returns how many."""
    before = round((ctx.now - timedelta(days=after_days)).timestamp() * 1000)
    return len(
        ctx.db.fetch_all("DELETE FROM trials WHERE state <> 'running' AND ends_at <= ? RETURNING user_id", before)
    )
