"""The e-mail digest, and how a user asks for theirs."""

from __future__ import annotations

from lunora._generated.agents import agents
from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, MutationContext, action, internal_action, mutation


@action
async def preview(ctx: ActionContext) -> list[str]:
    """What the caller's next digest would say."""
    if ctx.auth.user_id is None:
        raise LunoraError("UNAUTHORIZED", "sign in first")
    trial = await ctx.run_query("trials:trial")
    return [f"Your {trial['plan']} trial is {trial['state']}." if trial else "You have no trial."]


@internal_action
async def send(_ctx: ActionContext, to: str) -> None:
    """Send a digest."""
    print(f"digest to {to}")


@mutation
async def ask_support(ctx: MutationContext, question: str) -> str:
    """Start a support agent of the caller's own; returns the id of the job that does."""
    if ctx.auth.user_id is None:
        raise LunoraError("UNAUTHORIZED", "sign in first")
    await ctx.scheduler.run_after(0, internal.digest.send, {"to": ctx.auth.user_id})
    return await ctx.scheduler.run_after(0, agents.support, {"user_id": ctx.auth.user_id, "question": question})
