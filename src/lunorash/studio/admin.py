"""The admin API: look at jobs and steer them, for operators and the studio.

Everything lives under ``/_lunora/admin`` and needs the admin token.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final, cast

from lunorash.errors import LunoraError
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job import State
from lunorash.scheduler.record import JobRecord, Page
from lunorash.studio.admin_token import require_admin
from lunorash.studio.pool_routes import POOL_HANDLERS

__all__ = ["ADMIN_ROUTES", "guarded", "job_dict"]

_PREFIX: Final = "/_lunora/admin"


def job_dict(job: JobRecord) -> dict[str, Any]:
    """A job as the API shows it."""
    return asdict(job)


async def _scheduled(request: HttpRequest) -> HttpAnswer:
    """What runs and what waits, or with ``?state=`` the jobs of one state."""
    state = request.parameter("state")
    states: tuple[State, ...] = ("running", "pending") if state is None else (cast("State", state),)
    return _page(await request.scheduler().list(states=states, **_paging(request)))


async def _dead(request: HttpRequest) -> HttpAnswer:
    return _page(await request.scheduler().dead(**_paging(request)))


async def _job(request: HttpRequest) -> HttpAnswer:
    job = await request.scheduler().get(check_id(request.parameter("id")))
    return HttpAnswer(body={"record": None if job is None else job_dict(job)})


async def _status(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body=await request.scheduler().status())


async def _cancel(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"cancelled": await request.scheduler().cancel(await _id(request))})


async def _dead_retry(request: HttpRequest) -> HttpAnswer:
    job_id = await _id(request)
    return HttpAnswer(body={"id": job_id, "retried": await request.scheduler().dead_retry(job_id)})


async def _dead_cancel(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"removed": await request.scheduler().dead_drop(await _id(request))})


def _paging(request: HttpRequest) -> dict[str, Any]:
    limit = request.parameter("limit") or "100"
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3):
        raise LunoraError("INVALID_INPUT", f"limit is {limit[:20]!r}; it must be a whole number from 1 to 100")
    return {"cursor": request.parameter("cursor"), "limit": int(limit)}


def _page(page: Page) -> HttpAnswer:
    # `truncated` is the original's word for "there is more"
    body: dict[str, Any] = {
        "records": [job_dict(job) for job in page.jobs],
        "truncated": page.cursor is not None,
    }
    if page.cursor is not None:
        body["cursor"] = page.cursor
    return HttpAnswer(body=body)


async def _id(request: HttpRequest) -> str:
    body = await request.json()
    if set(body) != {"id"}:
        raise LunoraError("INVALID_INPUT", 'the body must be {"id": "<job id>"} and nothing else')
    return check_id(body["id"])


def guarded(handler: Handler) -> Handler:
    """The same handler for those who bear the admin token, and for nobody else."""

    async def checked(request: HttpRequest) -> HttpAnswer:
        require_admin(request)
        return await handler(request)

    return checked


ADMIN_ROUTES: Final = tuple(
    Route(method=method, path=_PREFIX + path, handler=guarded(handler))
    for method, path, handler in (
        ("GET", "/scheduled", _scheduled),
        ("GET", "/scheduled/get", _job),
        ("GET", "/scheduled/status", _status),
        ("GET", "/scheduled/dead", _dead),
        ("POST", "/scheduled/cancel", _cancel),
        ("POST", "/scheduled/dead/retry", _dead_retry),
        ("POST", "/scheduled/dead/cancel", _dead_cancel),
        *POOL_HANDLERS,
    )
)
