"""Jobs that start workflows and agents."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from lunora._generated.agents import agents
from lunora._generated.server import MutationContext, mutation
from lunora._generated.workflows import workflows
from lunorash.scheduler import RetryPolicy, RunOptions


@mutation
async def start(ctx: MutationContext, kind: Literal["workflow", "agent"], tag: str, retries: int = 1) -> str:
    """Start one; returns the id of the job."""
    options = RunOptions(timeout=timedelta(seconds=10), retry=RetryPolicy(max_attempts=retries, base_ms=10))
    target = workflows.errand if kind == "workflow" else agents.courier
    return await ctx.scheduler.run_after(0, target, {"tag": tag}, options)
