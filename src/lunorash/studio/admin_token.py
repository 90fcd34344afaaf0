"""Who may use the admin API: whoever bears ``LUNORA_ADMIN_TOKEN``. Closed while that is unset."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.http import Handler, HttpAnswer, HttpRequest

__all__ = ["MIN_TOKEN_BYTES", "guarded", "require_admin"]

MIN_TOKEN_BYTES: Final = 32


def require_admin(env: Any, headers: Mapping[str, str]) -> None:
    """Let a request with the admin token pass.

    Args:
        env: has ``LUNORA_ADMIN_TOKEN``, at least 32 bytes.
        headers: by name in lower case; ``authorization: Bearer <token>``.

    Raises:
        LunoraError: ``ADMIN_FORBIDDEN`` for everybody else, and for all while the token is unset or short.
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
    scheme, _, given = headers.get("authorization", "").partition(" ")
    # digests, so that the comparison tells not even the length
    same = hmac.compare_digest(_digest(given.strip()), _digest(token))
    if scheme.lower() != "bearer" or not same:
        raise LunoraError("ADMIN_FORBIDDEN", "this needs the header `authorization: Bearer <LUNORA_ADMIN_TOKEN>`")


def guarded(handler: Handler) -> Handler:
    """The same handler for those who bear the admin token, and for nobody else."""

    async def checked(request: HttpRequest) -> HttpAnswer:
        require_admin(request.env, request.headers)
        return await handler(request)

    return checked


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
