"""Instants as the command line shows and reads them: in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import typer

__all__ = ["distance", "now_ms", "read_instant", "utc_text", "when"]

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def now_ms() -> int:
    """The time now, in epoch milliseconds."""
    return int(datetime.now(UTC).timestamp() * 1000)


def utc_text(instant: datetime) -> str:
    """An instant to the second.

    Example:
        >>> utc_text(datetime(2026, 1, 5, 8, tzinfo=UTC))
        '2026-01-05T08:00:00Z'
    """
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def when(instant: Any, now: int) -> str:
    """An instant that a Worker told, with its distance; its own text if it is none.

    Args:
        instant: epoch milliseconds, or ISO 8601, or None.
        now: the time now, in epoch milliseconds.

    Example:
        >>> when(1_767_600_000_000, now=1_767_600_000_000 - 90_000)
        '2026-01-05T08:00:00Z (in 1 min)'
    """
    if instant is None:
        return ""
    try:
        at = _read(instant) if isinstance(instant, str) else datetime.fromtimestamp(instant / 1000, UTC)
        return f"{utc_text(at)} ({distance(at.timestamp() * 1000 - now)})"
    except (ArithmeticError, OSError, TypeError, ValueError):
        return str(instant)[:40]


def distance(ms: float) -> str:
    """How far away an instant is, in its largest unit.

    Example:
        >>> distance(3 * 86_400_000), distance(-59_000), distance(200)
        ('in 3 d', '59 s ago', 'now')
    """
    seconds = int(abs(ms) // 1000)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"in {seconds // size} {unit}" if ms > 0 else f"{seconds // size} {unit} ago"
    return "now"


def read_instant(text: str) -> datetime:
    """Read an instant of a command line, ISO 8601; without a zone it is in UTC.

    Raises:
        typer.BadParameter: when it is none.

    Example:
        >>> read_instant("2026-01-05"), read_instant("2026-01-05T09:00+01:00").hour
        (datetime.datetime(2026, 1, 5, 0, 0, tzinfo=datetime.timezone.utc), 8)
    """
    try:
        return _read(text)
    except (OverflowError, ValueError):
        raise typer.BadParameter(
            f"{text[:40]!r} is not an instant; write 2026-01-05T08:00:00Z, or 2026-01-05 for its first moment in UTC"
        ) from None


def _read(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
