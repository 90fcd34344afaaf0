"""The admin API of many jobs at once: cancel those that a filter chooses, retry dead letters, drop them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.job_filter import Changed, JobFilter
from lunorash.studio.admin import guarded

__all__ = ["BULK_ROUTES"]

_PREFIX: Final = "/_lunora/admin/scheduled"
_OPTIONS: Final = {"cursor", "limit", "dry_run"}


def _changing(change: Callable[..., Awaitable[Changed]]) -> Handler:
    """What answers with one step: ``{"filter": {...}, "cursor"?, "limit"?, "dry_run"?}``, until the cursor is null.

    The filter has to be there, so that nobody changes all jobs by having forgotten it.
    """

    async def handler(request: HttpRequest) -> HttpAnswer:
        body = await request.json()
        if "filter" not in body:
            raise LunoraError("INVALID_INPUT", 'the body must have a filter; {"filter": {}} means all jobs')
        wanted = JobFilter.from_dict(body.pop("filter"))
        unknown = sorted(set(body) - _OPTIONS)
        if unknown:
            raise LunoraError(
                "INVALID_INPUT", f"there is no field {shown(unknown[0])}; there is filter, cursor, limit, dry_run"
            )
        return HttpAnswer(body=_told(await change(request.scheduler(), wanted, **body)))

    return handler


def _told(changed: Changed) -> dict[str, Any]:
    return {"changed": len(changed.ids), **changed.to_dict()}


BULK_ROUTES: Final = tuple(
    Route(method="POST", path=_PREFIX + path, handler=guarded(_changing(change)))
    for path, change in (
        ("/cancel-many", Scheduler.cancel_many),
        ("/dead/retry-many", Scheduler.dead_retry_many),
        ("/dead/cancel-many", Scheduler.dead_drop_many),
    )
)
