"""JSON at the borders: what may be stored as arguments, and how text from outside is read.

Workerd dies, whole process, when ``json.loads`` or ``request.json()`` meets some thousands of nested
brackets (seen with 8,000 in 16 kB), so everything from outside goes through `pydantic_core.from_json`,
which refuses such text, and everything we keep is at most `MAX_DEPTH` deep.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

import pydantic_core

from lunorash.errors import LunoraError, shown

__all__ = [
    "MAX_ARGS_BYTES",
    "MAX_BODY_BYTES",
    "MAX_DEPTH",
    "MAX_ENVELOPE_DEPTH",
    "decode_json",
    "encode_args",
]

MAX_DEPTH: Final = 64
"""How deeply containers may be nested in arguments and request bodies."""

MAX_ENVELOPE_DEPTH: Final = MAX_DEPTH + 8
"""The same for a body that carries arguments inside it."""

MAX_BODY_BYTES: Final = 1024 * 1024
"""The largest request body any route reads."""

MAX_ARGS_BYTES: Final = 1_000_000
"""The largest arguments of one job, as UTF-8 JSON: with its envelope it must fit one dispatch."""

_SHOWN_PATH: Final = 200
_MAX_INT_BITS: Final = 12_900  # below Python's limit of 4,300 digits, so whatever is stored can be read back


def encode_args(args: Any, *, what: str = "args") -> str:
    """Turn a job's arguments into the JSON text that is stored, or say which value cannot be.

    Args:
        args: a dict with string keys, made of None, bool, int, finite float, str, list and dict.
        what: the name the message uses for the whole value.

    Returns:
        JSON text that decodes to an equal value: integers of any size, and ``1.0`` stays a float.

    Raises:
        LunoraError: ``INVALID_INPUT`` naming the path inside the value, or ``PAYLOAD_TOO_LARGE``.

    Example:
        >>> encode_args({"user_id": "u1", "days": 14})
        '{"user_id":"u1","days":14}'
    """
    if not isinstance(args, dict):
        raise _refused(what, f"is {_kind(args)}; a job's arguments are an object with names as keys")
    check_json(args, what)
    text = json.dumps(args, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    size = len(text.encode())
    if size > MAX_ARGS_BYTES:
        raise LunoraError(
            "PAYLOAD_TOO_LARGE",
            f"{what} take {size:,} bytes as JSON; a job may carry {MAX_ARGS_BYTES:,}. "
            "Store the data first and schedule with its key.",
        )
    return text


def decode_json(text: str | bytes, *, what: str = "the body", max_depth: int = MAX_DEPTH) -> Any:
    """Read JSON that came from outside, without letting it harm the process.

    Args:
        text: JSON as text or UTF-8 bytes.
        what: the name the message uses for it.
        max_depth: how deeply containers may be nested.

    Returns:
        the Python value.

    Raises:
        LunoraError: ``BAD_REQUEST`` for text that is not JSON, holds NaN or Infinity, or is nested more
            than ``max_depth`` levels deep.

    Example:
        >>> decode_json('{"a": [1, 1.0]}')
        {'a': [1, 1.0]}
    """
    try:
        value = pydantic_core.from_json(text, allow_inf_nan=False, cache_strings="none")
    except (ValueError, TypeError) as error:  # TypeError: half a surrogate pair in a str
        raise LunoraError("BAD_REQUEST", f"{what} is not JSON: {error}") from None
    _check_parsed(value, what, max_depth)
    return value


def check_json(root: Any, what: str) -> None:
    """Refuse a value that JSON cannot carry, naming the path inside it.

    Args:
        root: the value.
        what: the name the message uses for it.

    Raises:
        LunoraError: ``INVALID_INPUT``, or ``PAYLOAD_TOO_LARGE`` for more values than any job may carry.

    Example:
        >>> try:
        ...     check_json({"user": {"tags": [1, {2}]}}, "args")
        ... except LunoraError as error:
        ...     print(error.message.partition(";")[0])
        args.user.tags[1] is of type set
    """
    stack: list[tuple[Any, str, int]] = [(root, what, 1)]
    seen = 0
    while stack:
        value, path, depth = stack.pop()
        path = path[:_SHOWN_PATH]  # a path is made for every value, so a long key must not make each long
        seen += 1
        if seen > MAX_ARGS_BYTES:  # a value that contains one list many times over can be small and yet endless
            raise LunoraError("PAYLOAD_TOO_LARGE", f"{what} hold more than {MAX_ARGS_BYTES:,} values")
        if isinstance(value, dict | list) and depth > MAX_DEPTH:
            raise _refused(what, f"is nested more than {MAX_DEPTH} levels deep, at {path}")
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    raise _refused(path, f"has the key {shown(key)}, {_kind(key)}; keys are strings")
                _check_text(key, f"a key of {path}")
                stack.append(
                    (
                        item,
                        f"{path}.{key}" if len(key) <= 60 and key.isidentifier() else f"{path}[{shown(key)}]",
                        depth + 1,
                    )
                )
        elif isinstance(value, list):
            stack.extend((item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value))
        else:
            _check_scalar(value, path)


def _check_scalar(value: Any, path: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(path, f"is {value}; JSON has no such number")
    elif isinstance(value, int):
        if value.bit_length() > _MAX_INT_BITS:
            raise _refused(path, f"is an integer of more than {_MAX_INT_BITS:,} bits; send it as a string")
    else:
        raise _refused(path, f"is {_kind(value)}; it must be None, bool, int, float, str, list or dict")


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused(path, "holds half of a surrogate pair, which UTF-8 cannot carry") from None


def _check_parsed(value: Any, what: str, max_depth: int) -> None:
    """The parser lets through two things that nobody can store: deep nesting, and 1e999, which becomes infinity."""
    level, depth = [value], 0
    while level:
        depth += 1
        below: list[Any] = []
        for item in level:
            kind = type(item)  # what the parser makes is of exactly these types
            if kind is dict or kind is list:
                if depth > max_depth:
                    raise LunoraError("BAD_REQUEST", f"{what} is nested more than {max_depth} levels deep")
                below.extend(item.values() if kind is dict else item)
            elif kind is float and not math.isfinite(item):
                raise LunoraError("BAD_REQUEST", f"{what} holds a number that is too large")
        level = below


def _kind(value: Any) -> str:
    return f"of type {type(value).__name__}"


def _refused(path: str, why: str) -> LunoraError:
    return LunoraError("INVALID_INPUT", f"{path} {why}")
