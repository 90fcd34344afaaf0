"""Signing in to the studio, staying signed in, and signing out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.studio.admin_token import admin_token, check_origin, check_token
from lunorash.studio.session import Session, cookie_name, read_cookie, read_session, set_cookie

__all__ = ["SESSION_PATH", "session_routes"]

SESSION_PATH: Final = "/_lunora/studio/session"


def session_routes(clock: Callable[[], float] = time.time) -> list[Route]:
    """Make the routes.

    Args:
        clock: the time, in seconds since the epoch.
    """

    def now() -> int:
        return int(clock() * 1000)

    async def sign_in(request: HttpRequest) -> HttpAnswer:
        """Takes ``{"token"}``; answers with the cookie."""
        token = admin_token(request.env)
        check_origin(request)
        body = await request.json()
        if set(body) != {"token"} or not isinstance(body["token"], str):
            raise LunoraError("INVALID_INPUT", 'the body must be {"token": "<LUNORA_ADMIN_TOKEN>"} and nothing else')
        if not check_token(body["token"].strip(), token):
            raise LunoraError("ADMIN_FORBIDDEN", "this is not the LUNORA_ADMIN_TOKEN of this Worker")
        return _signed_in(request, Session.begin(now()), token, now())

    async def look(request: HttpRequest) -> HttpAnswer:
        """Answers whether somebody is signed in, and if so renews the cookie."""
        token = admin_token(request.env)
        session = read_session(token, read_cookie(request.headers, cookie_name(request.origin)), now())
        if session is None:
            return HttpAnswer(body={"until": None}, headers=_NOT_KEPT)
        return _signed_in(request, session.renewed(now()), token, now())

    async def sign_out(request: HttpRequest) -> HttpAnswer:
        check_origin(request)
        cookie = set_cookie(request.origin, "", 0)
        return HttpAnswer(body={"until": None}, headers={**_NOT_KEPT, "set-cookie": cookie})

    return [
        Route(method="POST", path=SESSION_PATH, handler=sign_in),
        Route(method="GET", path=SESSION_PATH, handler=look),
        Route(method="DELETE", path=SESSION_PATH, handler=sign_out),
    ]


_NOT_KEPT: Final = {"cache-control": "no-store"}


def _signed_in(request: HttpRequest, session: Session, token: str, now: int) -> HttpAnswer:
    cookie = set_cookie(request.origin, session.signed(token), (session.until - now) // 1000)
    return HttpAnswer(body={"until": session.until}, headers={**_NOT_KEPT, "set-cookie": cookie})
