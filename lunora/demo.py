"""What `make demo` and `make dev` play with: jobs that do as they are told."""

from __future__ import annotations

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, LunoraError, MutationContext, internal_action, mutation
from lunorash.scheduler import RetryPolicy, RunOptions


@mutation
async def hello_later(ctx: MutationContext, name: str, delay_ms: int = 0, job_id: str | None = None) -> str:
    """Say hello after a while; returns the id of the job."""
    options = RunOptions(id=job_id)
    return await ctx.scheduler.run_after(delay_ms, internal.demo.hello, {"name": name}, options)


@mutation
async def flaky_later(
    ctx: MutationContext, failures: int, max_attempts: int = 5, base_ms: int = 30_000, job_id: str | None = None
) -> str:
    """Run a job that fails a number of times; returns its id."""
    options = RunOptions(id=job_id, retry=RetryPolicy(max_attempts=max_attempts, base_ms=base_ms))
    return await ctx.scheduler.run_after(0, internal.demo.flaky, {"failures": failures}, options)


@internal_action
async def hello(ctx: ActionContext, name: str) -> str:
    """Say hello."""
    if ctx.job:
        print(f"Hello, {name}! (job {ctx.job.id}, attempt {ctx.job.attempt})")
    return f"Hello, {name}!"


@internal_action
async def flaky(ctx: ActionContext, failures: int) -> None:
    """Fail a number of times, then succeed."""
    if ctx.job and ctx.job.attempt <= failures:
        raise LunoraError("UPSTREAM_DOWN", f"attempt {ctx.job.attempt} of a job that fails {failures} times")
