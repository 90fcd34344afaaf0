"""The admin API of workpools: look at them, pause and resume them, change their caps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.http import Handler, HttpAnswer, HttpRequest
from lunorash.scheduler.pool import PoolStatus, check_max_concurrency

__all__ = ["POOL_HANDLERS"]


async def _pools(request: HttpRequest) -> HttpAnswer:
    limit = request.parameter("limit") or "100"
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3):
        raise LunoraError("INVALID_INPUT", f"limit is {shown(limit)}; it must be a whole number from 1 to 100")
    page = await request.scheduler().pools(cursor=request.parameter("cursor"), limit=int(limit))
    body: dict[str, Any] = {"pools": [asdict(pool) for pool in page.pools], "truncated": page.cursor is not None}
    if page.cursor is not None:
        body["cursor"] = page.cursor
    return HttpAnswer(body=body)


async def _pause(request: HttpRequest) -> HttpAnswer:
    (name,) = await _fields(request, "name")
    return _pool(await request.scheduler().set_pool(name, paused=True))


async def _resume(request: HttpRequest) -> HttpAnswer:
    (name,) = await _fields(request, "name")
    return _pool(await request.scheduler().set_pool(name, paused=False))


async def _cap(request: HttpRequest) -> HttpAnswer:
    """Set a cap by hand: it holds until code asks for another one."""
    name, max_concurrency = await _fields(request, "name", "max_concurrency")
    return _pool(await request.scheduler().set_pool(name, max_concurrency=check_max_concurrency(max_concurrency)))


async def _fields(request: HttpRequest, *names: str) -> list[Any]:
    """The values of a body that has these fields and no others."""
    body = await request.json()
    if set(body) != set(names):
        raise LunoraError("INVALID_INPUT", f"the body must have {' and '.join(names)}, and nothing else")
    return [body[name] for name in names]


def _pool(status: PoolStatus) -> HttpAnswer:
    return HttpAnswer(body={"pool": asdict(status)})


POOL_HANDLERS: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("GET", "/scheduled/pools", _pools),
    ("POST", "/scheduled/pools/pause", _pause),
    ("POST", "/scheduled/pools/resume", _resume),
    ("POST", "/scheduled/pools/cap", _cap),
)
"""Method, path under ``/_lunora/admin``, and who answers; `lunorash.studio.admin` guards them."""
