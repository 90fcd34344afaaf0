"""What is said of an error nobody expected: the log gets its place, the client only a number."""

from __future__ import annotations

import secrets
import traceback

from lunorash.errors import LunoraError

__all__ = ["report"]


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
