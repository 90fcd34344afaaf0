"""What jobs do while they are measured: as good as nothing."""

from __future__ import annotations

import time

from lunora._generated.server import ActionContext, MutationContext, action, internal_action, internal_mutation

_late: list[float] = []
"""In memory: to write it down would take longer than what is measured."""


@internal_mutation
def mutation(ctx: MutationContext) -> None:
    """Do nothing, in a transaction."""


@internal_action
async def act(ctx: ActionContext) -> None:
    """Do nothing."""


@internal_action
async def note(ctx: ActionContext) -> None:
    """Note how late it is, in milliseconds."""
    if ctx.job is not None:
        _late.append(time.time() * 1000 - ctx.job.scheduled_for)


@action
async def noted(ctx: ActionContext) -> list[float]:
    """Hand over what was noted."""
    taken = _late.copy()
    _late.clear()
    return taken


@internal_action
async def wait(ctx: ActionContext, url: str) -> None:
    """Wait for another server's answer."""
    response = await ctx.fetch(url)
    await response.text()
