"""Calls that wait in a real queue, and what comes of them."""

from __future__ import annotations

import time
from typing import Any

from journal import journal
from pydantic import BaseModel

from lunora._generated.agents import agents
from lunora._generated.server import ActionContext, LunoraError, action, internal_action
from lunora._generated.workflows import workflows
from lunorash.scheduler import QueueCall, create_queue_workpool


class Call(BaseModel):
    """A call to enqueue."""

    target: str
    args: dict[str, Any]
    delay_ms: float = 0
    shard: str | None = None


@action
async def enqueue(ctx: ActionContext, target: str, args: dict[str, Any], delay_ms: float = 0) -> None:
    """Enqueue one call."""
    await create_queue_workpool(queue=ctx.env.IMPORTS).enqueue(target, args, delay=delay_ms)


@action
async def enqueue_many(ctx: ActionContext, calls: list[Call]) -> None:
    """Enqueue many calls."""
    pool = create_queue_workpool(queue=ctx.env.IMPORTS)
    await pool.enqueue_many(
        QueueCall(call.target, call.args, delay=call.delay_ms, shard_key=call.shard) for call in calls
    )


@action
async def enqueue_nowhere(ctx: ActionContext) -> None:
    """Enqueue into a queue that is bound nowhere: codegen would bind what is an attribute of an `env`."""
    bindings = ctx.env
    await create_queue_workpool(queue=bindings.NOWHERE).enqueue("queued:note", {"tag": "nowhere"})


@action
async def enqueue_elsewhere(ctx: ActionContext) -> None:
    """Enqueue into what is no queue."""
    bindings = ctx.env
    await create_queue_workpool(queue=bindings.SHARD).enqueue("queued:note", {"tag": "elsewhere"})


@action
async def enqueue_errands(ctx: ActionContext, tag: str) -> None:
    """Enqueue the start of a workflow and of an agent."""
    pool = create_queue_workpool(queue=ctx.env.IMPORTS)
    await pool.enqueue_many(
        [QueueCall(workflows.errand, {"tag": tag}), QueueCall(agents.courier, {"tag": tag})],
    )


@action
async def send(ctx: ActionContext, messages: list[dict[str, Any]]) -> None:
    """Put messages into the queue that no workpool has made."""
    await ctx.env.IMPORTS.sendBatch(messages)


@action
async def send_what_json_cannot_say(ctx: ActionContext) -> None:
    """Send bytes, a date and the like, as the platform serialises them."""
    await ctx.env.IMPORTS.sendBatch(
        [
            {"body": b"\x00\xff", "contentType": "bytes"},
            {"body": {"at": ctx.now, "set": {1, 2}}, "contentType": "v8"},
            {"body": None, "contentType": "json"},
        ]
    )


@internal_action
async def note(ctx: ActionContext, tag: str, value: Any = None) -> None:
    """Note who runs it."""
    await _write(ctx, f"noted {tag} {ctx.auth.user_id} {value!r}"[:200])


@internal_action
async def fail(ctx: ActionContext, tag: str, unexpectedly: bool = False) -> None:
    """Fail, each time."""
    await _write(ctx, f"failing {tag}")
    if unexpectedly:
        raise RuntimeError("nobody expects it")
    raise LunoraError("IMPORT_FAILED", "it always does")


async def _write(ctx: ActionContext, event: str) -> None:
    assert ctx.job is not None
    await journal(ctx.env).write(ctx.job.id, ctx.job.attempt, event, time.time() * 1000)
