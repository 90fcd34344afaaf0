"""Jobs that start workflows and agents."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from lunora._generated.agents import agents
from lunora._generated.server import MutationContext, mutation
from lunora._generated.workflows import workflows
from lunorash.scheduler import RetryPolicy, RunOptions


@mutation
async def start(ctx: MutationContext, kind: Literal["workflow", "agent"], tag: str, timeout_ms: int = 10_000) -> str:
    """Start one; returns the id of the job."""
    options = RunOptions(timeout=timedelta(milliseconds=timeout_ms), retry=RetryPolicy(max_attempts=1, base_ms=10))
    target = workflows.errand if kind == "workflow" else agents.courier
    return await ctx.scheduler.run_after(0, target, {"tag": tag}, options)
