"""What a handler raises to say whether, and when, it is to be tried again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self

from lunorash.errors import LunoraError, shown

__all__ = ["MAX_RETRY_AFTER_MS", "NonRetryableError", "RetryAfter", "raise_for_retry"]

MAX_RETRY_AFTER_MS: Final = 24 * 60 * 60 * 1000
"""The longest wait that a handler can ask for."""

_BUSY: Final = frozenset({429, 503})
_DIGITS: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


class NonRetryableError(LunoraError):
    """Trying again would not help: the job is dead at once, however many attempts it has left.

    Args:
        message: what is wrong.
        code: a stable word of your own.

    Example:
        >>> raise NonRetryableError("the card was stolen", code="CARD_STOLEN")
        Traceback (most recent call last):
        lunorash.retrying.NonRetryableError: CARD_STOLEN: the card was stolen
    """

    retryable = False

    def __init__(
        self, message: str, *, code: str = "NON_RETRYABLE", status: int | None = None, data: Any = None
    ) -> None:
        super().__init__(code, message, status=status, data=data)


class RetryAfter(LunoraError):  # noqa: N818 - it is read as "raise RetryAfter(60)"
    """Try again, but not before some time has passed.

    The attempt counts as any that failed does. The next one comes when the retry policy has it, or after that time if
    that is later; the policy's jitter then only makes it later.

    Args:
        delay: seconds, or a `timedelta`, 0 or more; of more than a day a day counts.
        message: what is wrong.
        code: a stable word of your own.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a delay that is negative, infinite, or no number.

    Example:
        >>> RetryAfter(1.5).retry_after_ms, RetryAfter(timedelta(days=7)).retry_after_ms
        (1500, 86400000)
    """

    def __init__(
        self,
        delay: float | timedelta,
        message: str = "it is to be tried again later",
        *,
        code: str = "RETRY_AFTER",
        status: int | None = None,
        data: Any = None,
    ) -> None:
        super().__init__(code, message, status=status, data=data)
        self.retry_after_ms = _milliseconds(delay)

    @classmethod
    def from_response(cls, response: Any, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Self:
        """What an upstream asks for that answers 429 or 503: ``raise RetryAfter.from_response(response)``.

        A ``Retry-After`` of seconds or of a date is understood. Without one, or with one that is neither, the retry
        policy decides alone.

        Args:
            response: what `ctx.fetch` has returned, or any object that has ``status`` or ``status_code``, and
                ``headers`` with a ``get``.
            now: the time, by which a date is a delay.

        Example:
            >>> from types import SimpleNamespace
            >>> RetryAfter.from_response(SimpleNamespace(status=429, headers={"retry-after": "120"})).retry_after_ms
            120000
        """
        status = _status(response)
        seconds = _asked(_header(response), now())
        asks = "does not say for how long" if seconds is None else f"asks to wait {seconds:,.0f} s"
        return cls(seconds or 0, f"an upstream answered {status} and {asks}")


def raise_for_retry(response: Any) -> None:
    """Pass on that an upstream is busy: raises `RetryAfter` if it answered 429 or 503, and else does nothing.

    Args:
        response: see `RetryAfter.from_response`.

    Raises:
        RetryAfter: retried no earlier than its ``Retry-After`` says.

    Example:
        >>> from types import SimpleNamespace
        >>> raise_for_retry(SimpleNamespace(status_code=200, headers={}))
    """
    if _status(response) in _BUSY:
        raise RetryAfter.from_response(response)


def _milliseconds(delay: Any) -> int:
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise LunoraError(
            "INVALID_INPUT", f"the delay of RetryAfter is {shown(delay)}; it must be 0 or more seconds, or a timedelta"
        )
    return math.ceil(min(seconds * 1000, MAX_RETRY_AFTER_MS))


def _status(response: Any) -> int | None:
    for name in ("status", "status_code"):
        status = getattr(response, name, None)
        if isinstance(status, int):
            return status
    return None


def _header(response: Any) -> str:
    get = getattr(getattr(response, "headers", None), "get", None)
    if not callable(get):
        return ""
    for name in ("retry-after", "Retry-After"):  # a dict knows one of them
        value = get(name)
        if isinstance(value, str):
            return value.strip()
    return ""


def _asked(value: str, now: datetime) -> float | None:
    """The seconds that a ``Retry-After`` asks for; None if it asks for nothing that can be understood."""
    if _DIGITS.fullmatch(value):
        return int(value)
    try:
        date = parsedate_to_datetime(value[:100])
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
