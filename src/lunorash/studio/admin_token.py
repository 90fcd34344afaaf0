"""Who may use the admin API: whoever bears ``LUNORA_ADMIN_TOKEN``, or has signed in to the studio with it.

Closed while the token is unset.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.http import Handler, HttpAnswer, HttpRequest
from lunorash.studio.session import LIFETIME_MS, cookie_name, read_cookie, read_session

__all__ = ["MIN_TOKEN_BYTES", "admin_token", "check_origin", "check_token", "guarded", "require_admin"]

MIN_TOKEN_BYTES: Final = 32


def require_admin(request: HttpRequest, *, clock: Callable[[], float] = time.time) -> int:
    """Let a request pass that bears the admin token, or the cookie of a session from a page of this very origin.

    Args:
        request: with ``authorization: Bearer <token>``, or with the studio's cookie; ``LUNORA_ADMIN_TOKEN`` of its
            environment has at least 32 bytes.
        clock: the time, in seconds since the epoch.

    Returns:
        until when that holds, in epoch milliseconds.

    Raises:
        LunoraError: ``ADMIN_FORBIDDEN`` for everybody else, and for all while the token is unset or short.
    """
    token, now = admin_token(request.env), int(clock() * 1000)
    authorization = request.headers.get("authorization")
    if authorization is None:
        session = read_session(token, read_cookie(request.headers, cookie_name(request.origin)), now)
        if session is not None:
            check_origin(request)
            return session.until
    scheme, _, given = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not check_token(given.strip(), token):
        raise LunoraError("ADMIN_FORBIDDEN", "this needs the header `authorization: Bearer <LUNORA_ADMIN_TOKEN>`")
    return now + LIFETIME_MS


def admin_token(env: Any) -> str:
    """The token of an environment.

    Raises:
        LunoraError: ``ADMIN_FORBIDDEN`` while it is unset or short.
    """
    token = getattr(env, "LUNORA_ADMIN_TOKEN", None)
    if not isinstance(token, str) or not token:
        raise LunoraError(
            "ADMIN_FORBIDDEN", "LUNORA_ADMIN_TOKEN is not set, so this is closed to all; set it to open it"
        )
    if len(token.encode()) < MIN_TOKEN_BYTES:
        raise LunoraError(
            "ADMIN_FORBIDDEN",
            f"LUNORA_ADMIN_TOKEN is shorter than {MIN_TOKEN_BYTES} bytes, so this is closed to all; "
            "make one with `openssl rand -hex 32`",
        )
    return token


def check_token(given: str, token: str) -> bool:
    """Whether a text is the token. Digests are compared, so that the time it takes tells not even the length."""
    return hmac.compare_digest(_digest(given), _digest(token))


def check_origin(request: HttpRequest) -> None:
    """Let a request pass that no page of another origin can have made a browser send.

    Browsers send the cookie of a session with what pages of sibling hosts ask for too: all of ``*.example.workers.dev``
    is one site to ``SameSite``. What only reads may lack the header, since the answer is shown to no other origin.

    Raises:
        LunoraError: ``ADMIN_FORBIDDEN``.
    """
    origin = request.headers.get("origin")
    reads = request.method == "GET" and "upgrade" not in request.headers
    if origin != request.origin and not (origin is None and reads):
        came_from = "without the header `origin`" if origin is None else f"from a page of {shown(origin)}"
        raise LunoraError(
            "ADMIN_FORBIDDEN",
            f"this came {came_from}, and a session of the studio counts only for pages of {request.origin}; "
            "open the studio there",
        )


def guarded(handler: Handler) -> Handler:
    """The same handler for those who bear the admin token or have signed in, and for nobody else."""

    async def checked(request: HttpRequest) -> HttpAnswer:
        require_admin(request)
        return await handler(request)

    return checked


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
