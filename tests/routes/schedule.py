"""A route that schedules any job in any way; for tests on a real Worker, and without one."""

from __future__ import annotations

from typing import Any, Final

from lunorash.scheduler import RetryPolicy, RunOptions
from lunorash.server import HttpAnswer, HttpRequest, LunoraError, Route
from lunorash.studio.admin_token import require_admin

_FIELDS: Final = {
    "delay_ms",
    "at_ms",
    "target",
    "args",
    "id",
    "retry",
    "timeout_ms",
    "shard_key",
    "expires_at",
    "tags",
    "on_complete",
}


async def schedule(request: HttpRequest) -> HttpAnswer:
    """Schedule a job: ``{"target", "args", "delay_ms" or "at_ms", "id", "retry", "timeout_ms", "shard_key"}``."""
    require_admin(request)
    body = await request.json()
    unknown = sorted(set(body) - _FIELDS)
    if unknown:
        raise LunoraError("INVALID_INPUT", f"there is no field {unknown[0]!r}; there is {', '.join(sorted(_FIELDS))}")
    scheduler = request.scheduler()
    target, args, options = body.get("target", ""), body.get("args", {}), _options(body)
    if "at_ms" in body:
        job_id = await scheduler.run_at(body["at_ms"], target, args, options)
    else:
        job_id = await scheduler.run_after(body.get("delay_ms", 0), target, args, options)
    return HttpAnswer(body={"id": job_id})


def _options(body: dict[str, Any]) -> RunOptions:
    retry = body.get("retry")
    if retry is not None and not isinstance(retry, dict):
        raise LunoraError("INVALID_INPUT", "retry must be an object")
    return RunOptions(
        id=body.get("id"),
        retry=None if retry is None else RetryPolicy.from_dict(retry),
        timeout=body.get("timeout_ms"),
        shard_key=body.get("shard_key"),
        expires_at=body.get("expires_at"),
        tags=body.get("tags", ()),
        on_complete=body.get("on_complete"),
    )


SCHEDULE: Final = Route(method="POST", path="/test/schedule", handler=schedule)
