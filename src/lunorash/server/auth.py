"""Who calls: turning a request into an identity."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import jwt

from lunorash.codec import decode_json
from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.http import HttpRequest

__all__ = ["Authenticate", "jwt_hs256"]

Authenticate = Callable[[HttpRequest], Awaitable[Auth]]
"""Turns a request into an identity; ``Auth()`` for nobody. Raises `LunoraError` for a credential that is no good."""

_MIN_SECRET_BYTES: Final = 32


def jwt_hs256(
    *, secret: Callable[[Any], str], issuer: str, audience: str | Sequence[str], leeway_s: int = 30
) -> Authenticate:
    """Identify callers by a JSON Web Token, ``authorization: Bearer <token>``, signed with HS256.

    Only HS256 is taken: a token that names another algorithm, or ``none``, is refused whatever it says. A request
    without the header is nobody's.

    Args:
        secret: finds the secret in the environment, ``lambda env: env.JWT_SECRET``; at least 32 bytes.
        issuer: what ``iss`` has to be.
        audience: what ``aud`` has to be, or one of several.
        leeway_s: how many seconds the clocks may differ, 0 to 300.

    Returns:
        a hook for ``define_app().auth(...)``; ``ctx.auth.user_id`` is the token's ``sub``.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a leeway out of range. The hook raises ``UNAUTHORIZED`` (401), and
            ``AUTH_NOT_CONFIGURED`` (500) without a strong secret.
    """
    if isinstance(leeway_s, bool) or not isinstance(leeway_s, int) or not 0 <= leeway_s <= 300:
        raise LunoraError("INVALID_INPUT", f"leeway_s is {leeway_s!r}; it must be a whole number from 0 to 300")

    async def authenticate(request: HttpRequest) -> Auth:
        header = request.headers.get("authorization")
        if header is None:
            return Auth()
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise LunoraError("UNAUTHORIZED", "the authorization header must be `Bearer <token>`")
        key = _key(secret, request.env)
        _check_header(token.strip())
        try:
            claims = jwt.decode(
                token.strip(),
                key,
                algorithms=["HS256"],
                issuer=issuer,
                audience=audience,
                leeway=leeway_s,
                options={"require": ["exp", "sub", "iss", "aud"]},
            )
        except jwt.InvalidKeyError:
            raise LunoraError(
                "AUTH_NOT_CONFIGURED",
                "the secret of tokens is a public key; HS256 needs a secret that nobody else knows",
            ) from None
        except jwt.InvalidTokenError as error:
            raise LunoraError("UNAUTHORIZED", f"the token is refused: {type(error).__name__}") from None
        return Auth(user_id=str(claims["sub"]), claims=claims)

    return authenticate


def _check_header(token: str) -> None:
    """Read the part of a token that is read before its signature is checked, in the way that harms nobody."""
    head = token.partition(".")[0]
    try:
        decode_json(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)), what="the token's header")
    except (LunoraError, ValueError):
        raise LunoraError("UNAUTHORIZED", "the token is refused: its header cannot be read") from None


def _key(secret: Callable[[Any], str], env: Any) -> str:
    try:
        key = secret(env)
    except AttributeError:
        key = ""
    if not isinstance(key, str) or len(key.encode()) < _MIN_SECRET_BYTES:
        raise LunoraError(
            "AUTH_NOT_CONFIGURED", f"the secret of tokens is unset or shorter than {_MIN_SECRET_BYTES} bytes"
        )
    return key
