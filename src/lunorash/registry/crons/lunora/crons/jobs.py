"""What the app's crons run."""

from __future__ import annotations

from lunora._generated.server import MutationContext, internal_mutation


@internal_mutation
async def run(ctx: MutationContext, since: int | None = None) -> dict[str, int]:
    """Say when it ran, in epoch milliseconds. A tick may come twice, so let what you do here be safe to do again.

    Args:
        since: only look at what happened after that time; None for everything.
    """
    return {"ran_at": int(ctx.now.timestamp() * 1000)}
