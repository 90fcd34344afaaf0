"""What is said of an error nobody expected: the log gets its place, the client only a number."""

from __future__ import annotations

import secrets
import traceback
from typing import Final

from lunorash.codec import check_json
from lunorash.errors import LunoraError

__all__ = ["code_of", "conceal", "describe", "report", "tellable"]

_DESCRIBED: Final = 2_000


def report(where: str, error: BaseException) -> LunoraError:
    """Log an unexpected error; returns the one to show instead.

    The log line carries the type and the place in the code, never the text, the arguments or the values,
    which may be somebody's data.

    Args:
        where: what was being done.
        error: what came up.

    Returns:
        an ``INTERNAL`` error with an id that the log line has too.
    """
    incident = secrets.token_hex(6)
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    place = " < ".join(f"{frame.name} line {frame.lineno}" for frame in reversed(frames)) or "unknown place"
    print(f"lunora: incident {incident} in {where}: {type(error).__name__} at {place}")
    return LunoraError("INTERNAL", f"something went wrong on our side; the log has it as incident {incident}")


def describe(error: BaseException) -> str:
    """The type and the text of an error, for the record of an attempt, which only operators see.

    Args:
        error: whatever a function raised; it may be unable to say what it is, or say half a surrogate pair.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001
        text = "it has no text"
    return f"{type(error).__name__}: {text}"[:_DESCRIBED].encode("utf-8", "replace").decode()


def conceal(error: LunoraError, where: str) -> LunoraError:
    """Log an error whose text is for the app's developers only, such as SQL; returns it with a number in its place.

    Args:
        error: what came up; its code and status stay.
        where: what was being done.
    """
    incident = secrets.token_hex(6)
    print(f"lunora: incident {incident} in {where}: {error.code}: {error.message}")
    return LunoraError(
        error.code, f"something is wrong with the app; its log has it as incident {incident}", status=error.status
    )


def code_of(error: BaseException) -> str:
    """How a log line names an error, without its text: by its code, or by its type.

    Example:
        >>> code_of(LunoraError("SHARD_UNAVAILABLE", "try again")), code_of(TimeoutError())
        ('SHARD_UNAVAILABLE', 'TimeoutError')
    """
    return str(error.code) if isinstance(error, LunoraError) else type(error).__name__


def tellable(error: LunoraError, where: str) -> LunoraError:
    """The error itself if it can travel as JSON; else what `report` makes of it. An app may put anything into one.

    Args:
        error: what is to be told.
        where: what was being done.
    """
    try:
        check_json(error.to_dict(), "the error")
    except LunoraError as problem:
        return report(f"telling the error of {where}", problem)
    return error
