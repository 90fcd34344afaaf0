"""Ids: how they look, who mints them."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Callable
from typing import Any, Final

from lunorash.errors import LunoraError, shown

__all__ = ["check_id", "mint_id", "mint_span"]

_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)


def mint_id(token_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Mint an id of 16 characters from 12 random bytes.

    A leading ``-`` becomes ``_``: Cloudflare Workflows refuses instance ids that start with a dash.

    Args:
        token_bytes: the source of randomness.

    Example:
        >>> mint_id(lambda n: b"\\xff" * n)
        '________________'
    """
    minted = base64.urlsafe_b64encode(token_bytes(12)).decode()
    return "_" + minted[1:] if minted.startswith("-") else minted


def mint_span(token_bytes: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Mint the id of a span, as W3C Trace Context has them: 16 hexadecimal digits, not all of them 0.

    Args:
        token_bytes: the source of randomness.

    Example:
        >>> mint_span(lambda n: bytes(range(n)))
        '0001020304050607'
    """
    minted = token_bytes(8).hex()
    return minted if minted.strip("0") else minted[:-1] + "1"


def check_id(value: Any) -> str:
    """Return ``value`` if it can be a job's id.

    Raises:
        LunoraError: ``INVALID_SCHEDULE_ID`` with the rule.

    Example:
        >>> check_id("end-trial_42")
        'end-trial_42'
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise LunoraError(
            "INVALID_SCHEDULE_ID",
            f"the id {shown(value)} cannot be used: an id is 1 to 64 of "
            "A-Z, a-z, 0-9, '_' and '-', and does not start with '-'",
        )
    return value
