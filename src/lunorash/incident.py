"""What is said of an error nobody expected: the log gets its place, the client only a number."""

from __future__ import annotations

import inspect
import secrets
import sys
import traceback
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from lunorash.codec import check_json
from lunorash.errors import LunoraError

__all__ = ["MAX_TRACE", "code_of", "conceal", "describe", "is_library", "report", "tellable", "trace_of"]

MAX_TRACE: Final = 4_000
"""The longest text that is kept of where an error came up, in characters."""

_DESCRIBED: Final = 2_000
_FRAMES: Final = 10
_CAUSES: Final = 3
_STANDARD_LIBRARY: Final = PurePath(inspect.isawaitable.__code__.co_filename).parent
_LIBRARIES: Final = frozenset({"lunorash", "python_modules", "site-packages"})


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


def is_library(file: str) -> bool:
    """Whether a source file is none of the app's own: of the standard library, of a package, or ours."""
    path = PurePath(file)
    return path.is_relative_to(_STANDARD_LIBRARY) or file.startswith("<") or not _LIBRARIES.isdisjoint(path.parts)


def trace_of(error: BaseException) -> str | None:
    """Where in the app's own code an error came up, and what it came after: files, lines and names, and no values.

    Args:
        error: what was raised.

    Returns:
        a line for each frame, the innermost last, at most `MAX_TRACE` characters; None if the app has no part in it.
    """
    lines = list(_places(error))
    cause = error
    for _ in range(_CAUSES):
        following = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if following is None:
            break
        cause = following
        places = list(_places(cause))
        if places:
            lines += [f"after {type(cause).__name__} at", *places]
    return "\n".join(lines)[:MAX_TRACE].encode("utf-8", "replace").decode() or None


def _places(error: BaseException) -> Iterator[str]:
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [(code, line) for code, line in frames if not is_library(code.co_filename)]
    for code, line in own[-_FRAMES:]:
        yield f"{_short(code.co_filename)}:{line} in {code.co_qualname}"


def _short(file: str) -> str:
    """A file as the app's author knows it: below where modules are imported from."""
    roots = [root.rstrip("/") + "/" for root in sys.path if root and file.startswith(root.rstrip("/") + "/")]
    return file.removeprefix(max(roots, key=len, default=""))


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
