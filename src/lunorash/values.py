"""Python values as JSON: what functions return and what jobs are given, encoded once.

Beyond JSON's own types: datetime, date, time, timedelta (ISO 8601), Decimal and UUID (text), bytes (URL-safe
base64), enums (their value), dataclasses and pydantic models (objects). They come back as what the receiving
function's annotation says.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Any, Final
from uuid import UUID

import pydantic_core
from pydantic import BaseModel

from lunorash.codec import MAX_ARGS_BYTES, MAX_DEPTH, check_json
from lunorash.errors import LunoraError, shown

__all__ = ["encode_value", "plain"]

_SHOWN_PATH: Final = 200
_RICH: Final = (datetime, date, time, timedelta, Decimal, UUID, bytes, Enum, BaseModel)


def encode_value(value: Any, *, what: str) -> str:
    """A value as JSON text.

    Args:
        value: what to encode.
        what: the name the message uses for it.

    Raises:
        LunoraError: ``INVALID_INPUT`` naming the part that cannot be encoded.

    Example:
        >>> encode_value({"at": date(2026, 12, 1), "price": Decimal("9.90")}, what="the result")
        '{"at":"2026-12-01","price":"9.90"}'
    """
    converted = plain(value, what)
    check_json(converted, what)
    return json.dumps(converted, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(value: Any, what: str) -> Any:
    """The same value made of JSON's own types, where it has others that we know; the rest is left for `check_json`.

    Args:
        value: what to convert.
        what: the path of the value.

    Raises:
        LunoraError: ``INVALID_INPUT`` for what cannot be converted, or values nested too deeply,
            ``PAYLOAD_TOO_LARGE`` for more of them than any job may carry.
    """
    return _plain(value, what, 1, count(1))


def _plain(value: Any, what: str, depth: int, numbers: Iterator[int]) -> Any:
    what = what[:_SHOWN_PATH]  # a path is made for every value, so a long key must not make each long
    if next(numbers) > MAX_ARGS_BYTES:  # one list that is contained many times over can unfold without end
        raise LunoraError("PAYLOAD_TOO_LARGE", f"{what} holds more than {MAX_ARGS_BYTES:,} values")
    if depth > MAX_DEPTH + 1:
        raise LunoraError("INVALID_INPUT", f"{what} is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, _RICH) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        try:
            converted = pydantic_core.to_jsonable_python(value, bytes_mode="base64", timedelta_mode="iso8601")
            return _plain(converted, what, depth, numbers)
        except (pydantic_core.PydanticSerializationError, ValueError) as error:
            raise LunoraError("INVALID_INPUT", f"{what} is {shown(value)}: {shown(str(error))}") from None
    if type(value) is dict:
        return {key: _plain(item, f"{what}.{key}", depth + 1, numbers) for key, item in value.items()}
    if type(value) is list:
        return [_plain(item, f"{what}[{index}]", depth + 1, numbers) for index, item in enumerate(value)]
    return value
