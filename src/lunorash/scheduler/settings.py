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
from lunorash.scheduler.batching import MAX_ACTIONS, MAX_MUTATIONS, BatchSizes
from lunorash.scheduler.history import DEAD_RETENTION_MS, HISTORY_LIMIT, HISTORY_MS, KNOWN_MS, Retention
from lunorash.scheduler.journal import LEVELS, Level

__all__ = [
    "MIN_SECRET_BYTES",
    "check_settings",
    "decode_secret",
    "read_batch_sizes",
    "read_log",
    "read_loopback",
    "read_origin",
    "read_retention",
    "read_secrets",
]

MIN_SECRET_BYTES: Final = 32
_WHERE: Final = (
    "Set {name} in .dev.vars for local work; for production in wrangler.jsonc under vars or with "
    "`npx wrangler secret put {name}`."
)


def check_settings(env: Any) -> None:
    """Refuse to schedule while the deployment's settings would keep the job from running.

    Raises:
        LunoraError: what `read_origin`, `read_secrets`, `read_loopback`, `read_batch_sizes`, `read_retention` and
            `read_log` raise.
    """
    read_origin(env)
    read_secrets(env)
    read_loopback(env)
    read_batch_sizes(env)
    read_retention(env)
    read_log(env)


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


def read_batch_sizes(env: Any) -> BatchSizes:
    """The most that one dispatch carries: ``LUNORA_BATCH_MUTATIONS``, 1 to 50, and ``LUNORA_BATCH_ACTIONS``, 1 to 6.

    Fewer help jobs that need much memory or many connections each: those of a dispatch share one invocation.

    Raises:
        LunoraError: ``BATCH_SIZE_INVALID`` for anything else.
    """
    return BatchSizes(
        mutations=_size(env, "LUNORA_BATCH_MUTATIONS", MAX_MUTATIONS),
        actions=_size(env, "LUNORA_BATCH_ACTIONS", MAX_ACTIONS),
    )


def _size(env: Any, name: str, most: int) -> int:
    given = getattr(env, name, None)
    text = str(given).strip() if isinstance(given, str | int) else "?"  # it may be a number in wrangler.jsonc
    if given is None or not text:
        return most
    if not re.fullmatch(r"[1-9][0-9]?", text, re.ASCII) or int(text) > most:
        raise LunoraError("BATCH_SIZE_INVALID", f"{name} is {shown(given)}; it must be a whole number from 1 to {most}")
    return int(text)


def read_retention(env: Any) -> Retention:
    """How long jobs are kept that have come to rest.

    - ``LUNORA_HISTORY``, ``7d`` by default: those that have succeeded, were canceled or have expired. ``off`` deletes
      those that have succeeded at once, which is the cheapest; one that was scheduled by a direct call is still kept
      until ten minutes after it, so that the call is recognised if it is repeated.
    - ``LUNORA_HISTORY_LIMIT``, 100,000 by default: how many of them. Of more the oldest go, none within ten minutes.
    - ``LUNORA_DEAD_RETENTION``, ``90d`` by default: dead letters.

    A time is a whole number and ``m``, ``h`` or ``d``.

    Raises:
        LunoraError: ``HISTORY_INVALID`` or ``DEAD_RETENTION_INVALID`` with the rule.
    """
    history = _text(env, "LUNORA_HISTORY")
    if history in _NO_HISTORY:
        history_ms = 0
    elif history in {"", "keep"}:
        history_ms = HISTORY_MS
    else:
        history_ms = _time("LUNORA_HISTORY", history, "HISTORY_INVALID", "off, or ")
    dead = _text(env, "LUNORA_DEAD_RETENTION")
    limit = _text(env, "LUNORA_HISTORY_LIMIT") or str(HISTORY_LIMIT)
    if not re.fullmatch(r"[1-9][0-9]{0,6}", limit, re.ASCII) or int(limit) > _MAX_HISTORY_LIMIT:
        raise LunoraError(
            "HISTORY_INVALID",
            f"LUNORA_HISTORY_LIMIT is {shown(limit)}; it must be a whole number from 1 to {_MAX_HISTORY_LIMIT:,}. "
            "To keep none at all, set LUNORA_HISTORY to off",
        )
    return Retention(
        history_ms=history_ms,
        history_limit=int(limit),
        dead_ms=_time("LUNORA_DEAD_RETENTION", dead, "DEAD_RETENTION_INVALID") if dead else DEAD_RETENTION_MS,
    )


_NO_HISTORY: Final = frozenset({"off", "none", "0"})
_MAX_HISTORY_LIMIT: Final = 1_000_000
_MAX_DAYS: Final = 3_650
_UNITS_MS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _time(name: str, text: str, code: str, also: str = "") -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,8})([mhd])", text, re.ASCII)
    milliseconds = int(found[1]) * _UNITS_MS[found[2]] if found else 0
    if not KNOWN_MS <= milliseconds <= _MAX_DAYS * _UNITS_MS["d"]:
        raise LunoraError(
            code,
            f"{name} is {shown(text)}; it must be {also}a time from 10m to {_MAX_DAYS}d, such as 90m, 12h or 30d",
        )
    return milliseconds


def _text(env: Any, name: str) -> str:
    """A setting as text: wrangler.jsonc may have it as a number."""
    given = getattr(env, name, None)
    if given is None:
        return ""
    readable = isinstance(given, str | int) and not isinstance(given, bool)
    return str(given).strip() if readable else f"a {type(given).__name__}"


def read_log(env: Any) -> Level:
    """Which transitions of jobs the log tells: ``LUNORA_LOG=all``, the default, ``problems`` or ``off``.

    Raises:
        LunoraError: ``LOG_INVALID`` for another word.
    """
    value = _read(env, "LUNORA_LOG") or "all"
    for level in LEVELS:
        if value == level:
            return level
    raise LunoraError("LOG_INVALID", f"LUNORA_LOG is {shown(value)}; it must be all (the default), problems or off")


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
