"""The WebSocket through which an open page learns that something has changed."""

from __future__ import annotations

from typing import Final

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.studio.admin_token import require_admin

__all__ = ["LIVE_ROUTE"]


async def _live(request: HttpRequest) -> HttpAnswer:
    """Hands the connection to the SchedulerDO, for as long as whoever asks for it is signed in."""
    until = require_admin(request)
    if request.headers.get("upgrade", "").lower() != "websocket":
        raise LunoraError("UPGRADE_REQUIRED", "this path is for WebSockets: send `upgrade: websocket`")
    return HttpAnswer(upgraded=await request.scheduler().watch(until))


LIVE_ROUTE: Final = Route(method="GET", path="/_lunora/admin/v1/scheduled/live", handler=_live)
