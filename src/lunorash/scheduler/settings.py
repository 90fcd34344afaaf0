"""What a deployment has to say about the scheduler: where it is reached, and the secret it signs with.

Read from the environment of the Durable Object or the Worker, never from a request.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final
from urllib.parse import urlsplit

from lunorash.errors import LunoraError, shown

__all__ = ["MIN_SECRET_BYTES", "check_settings", "decode_secret", "read_loopback", "read_origin", "read_secrets"]

MIN_SECRET_BYTES: Final = 32
_WHERE: Final = (
    "Set {name} in .dev.vars for local work; for production in wrangler.jsonc under vars or with "
    "`npx wrangler secret put {name}`."
)


def check_settings(env: Any) -> None:
    """Refuse to schedule while the deployment's settings would keep the job from running.

    Raises:
        LunoraError: what `read_origin`, `read_secrets` and `read_loopback` raise.
    """
    read_origin(env)
    read_secrets(env)
    read_loopback(env)


def read_origin(env: Any) -> str:
    """The Worker's own public origin, from ``LUNORA_ORIGIN_URL``, without a trailing slash.

    Raises:
        LunoraError: ``ORIGIN_NOT_CONFIGURED`` when it is unset, ``ORIGIN_INVALID`` when it is no origin.
    """
    value = _read(env, "LUNORA_ORIGIN_URL")
    if value is None:
        raise LunoraError(
            "ORIGIN_NOT_CONFIGURED",
            "LUNORA_ORIGIN_URL is not set, so the scheduler does not know where to call the Worker back. "
            + _WHERE.format(name="LUNORA_ORIGIN_URL"),
        )
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.path in ("", "/")
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s?#@\\]", value):
        # a value with a user in it may hold a password
        what = "has a user in it" if "@" in value else f"is {shown(value)}"
        raise LunoraError(
            "ORIGIN_INVALID",
            f"LUNORA_ORIGIN_URL {what}; it must be an origin, such as https://app.example.com, "
            "without a path, a query or a user",
        )
    return value.rstrip("/")


def read_secrets(env: Any) -> list[bytes]:
    """The keys that sign dispatches: the current one, then the previous one while secrets are rotated.

    Raises:
        LunoraError: ``SCHEDULER_SECRET_NOT_CONFIGURED`` when ``LUNORA_SCHEDULER_SECRET`` is unset,
            ``SCHEDULER_SECRET_INVALID`` when one of them is malformed or too short.
    """
    current = _read(env, "LUNORA_SCHEDULER_SECRET")
    if current is None:
        raise LunoraError(
            "SCHEDULER_SECRET_NOT_CONFIGURED",
            "LUNORA_SCHEDULER_SECRET is not set, so the scheduler cannot sign its calls. Make one with "
            "`echo whsec_$(openssl rand -base64 32)`. " + _WHERE.format(name="LUNORA_SCHEDULER_SECRET"),
        )
    secrets = [decode_secret(current, "LUNORA_SCHEDULER_SECRET")]
    previous = _read(env, "LUNORA_SCHEDULER_SECRET_PREVIOUS")
    if previous is not None:
        secrets.append(decode_secret(previous, "LUNORA_SCHEDULER_SECRET_PREVIOUS"))
    return secrets


def read_loopback(env: Any) -> bool:
    """Whether dispatches stay inside the Worker, ``LUNORA_DISPATCH=loopback``, and do not go out to its origin.

    For origins that cannot call themselves, such as a Route on a zone behind Access. The body, the signature and
    the receiver are the same.

    Raises:
        LunoraError: ``DISPATCH_INVALID`` for another word than ``origin`` and ``loopback``.
    """
    value = _read(env, "LUNORA_DISPATCH") or "origin"
    if value not in ("origin", "loopback"):
        raise LunoraError(
            "DISPATCH_INVALID", f"LUNORA_DISPATCH is {shown(value)}; it must be origin (the default) or loopback"
        )
    return value == "loopback"


def decode_secret(secret: str, name: str) -> bytes:
    """The key behind a secret of the Standard Webhooks form, ``whsec_`` and base64.

    Raises:
        LunoraError: ``SCHEDULER_SECRET_INVALID`` with the rule; the secret itself is never shown.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith("whsec_") or len(key) < MIN_SECRET_BYTES:
        raise LunoraError(
            "SCHEDULER_SECRET_INVALID",
            f"{name} must be whsec_ followed by the base64 of at least {MIN_SECRET_BYTES} random bytes. "
            "Make one with `echo whsec_$(openssl rand -base64 32)`.",
        )
    return key


def _read(env: Any, name: str) -> str | None:
    value = getattr(env, name, None)
    return value.strip() or None if isinstance(value, str) else None
