"""One field of a cron expression: which values it may have, how it is read, how it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from lunorash.errors import shown

__all__ = [
    "DAY_OF_MONTH",
    "DAY_OF_WEEK",
    "FIELDS",
    "HOUR",
    "MINUTE",
    "MONTH",
    "WEEKDAY_DIGITS",
    "Field",
    "FieldError",
    "read_number",
    "read_value",
    "read_values",
    "runs",
    "write_value",
    "write_values",
]


class FieldError(ValueError):
    """A field that is refused, with the reason and the way out; whoever knows the whole expression names it."""


@dataclass(frozen=True, slots=True)
class Field:
    """What Cloudflare's table says about one field.

    Args:
        name: what messages call it.
        low: the least value.
        high: the greatest.
        names: the abbreviations of the values, from the least one on.
        also: the further forms that the field takes.
    """

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    also: str = ""

    def refused(self, text: str, why: str) -> FieldError:
        """The error for a field that reads ``text``."""
        return FieldError(f"the {self.name} field is {shown(text)}: {why}")


MINUTE: Final = Field("minute", 0, 59)
HOUR: Final = Field("hour", 0, 23)
DAY_OF_MONTH: Final = Field("day of month", 1, 31, also="L, L-3, LW and 15W")
MONTH: Final = Field(
    "month", 1, 12, ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
)
DAY_OF_WEEK: Final = Field(
    "day of week", 1, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), also="FRIL and FRI#2"
)
"""Cloudflare counts weekdays from 1 = Sunday, unlike Unix (cloudflare/saffron#19)."""

FIELDS: Final = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
"""The five fields, in the order in which they are written."""

WEEKDAY_DIGITS: Final = re.compile(r"(?<![#/0-9])[0-9]+")
"""Finds the weekdays that are written as numbers; what follows # or / is none."""


def read_values(field: Field, text: str) -> frozenset[int]:
    """Read a field of plain parts: ``*``, values, ranges, steps, and lists of those.

    Args:
        field: which field it is.
        text: what it says.

    Raises:
        FieldError: naming the field, the reason and the way out.

    Example:
        >>> sorted(read_values(HOUR, "0,9-17/4"))
        [0, 9, 13, 17]
    """
    parts = text.split(",")
    if len(parts) > 1 and "*" in parts:
        # Cloudflare's published parser takes such a star for the least value, which nobody means by it
        raise field.refused(text, "* takes every value already, so it stands alone; leave out the rest, or the *")
    values: set[int] = set()
    for part in parts:
        values.update(_read_part(field, text, part))
    return frozenset(values)


def _read_part(field: Field, text: str, part: str) -> range:
    if not part:
        raise field.refused(text, "a part of the list is empty; take out the comma that is too many")
    base, slash, step_text = part.partition("/")
    step = _read_step(field, text, step_text) if slash else 1
    if base == "*":
        return range(field.low, field.high + 1, step)
    first, dash, last = base.partition("-")
    low = read_value(field, text, first)
    open_end = field.high if slash else low
    high = read_value(field, text, last) if dash else open_end
    if low > high:
        # undocumented; where the published parser meets one with a step it panics (denoland/deno#34879)
        raise field.refused(
            text,
            f"the range {base} runs backwards, and Cloudflare does not document what that means; "
            f"write {_span(field, low, field.high)},{_span(field, field.low, high)} if it is to wrap around",
        )
    return range(low, high + 1, step)


def _span(field: Field, low: int, high: int) -> str:
    return write_value(field, low) if low == high else f"{write_value(field, low)}-{write_value(field, high)}"


def _read_step(field: Field, text: str, step_text: str) -> int:
    most = field.high - field.low
    step = read_number(step_text)
    if step is None or not 1 <= step <= most:
        raise field.refused(
            text,
            f"the step {shown(step_text)} is refused; Cloudflare takes steps of {most} at most in this field, "
            "and at least 1",
        )
    return step


def read_value(field: Field, text: str, word: str) -> int:
    """Read one value: a number, or an abbreviation in any case.

    Args:
        field: which field it is in.
        text: what the whole field says, for the message.
        word: the value.

    Raises:
        FieldError: naming the field, the reason and the way out.

    Example:
        >>> read_value(DAY_OF_WEEK, "mon-fri", "fri")
        6
    """
    if word.upper() in field.names:
        return field.low + field.names.index(word.upper())
    number = read_number(word)
    if field is DAY_OF_WEEK and number == 0:
        # refused at deploy with code 10100 (cloudflare/workers-sdk#8674)
        # Unix has two Sundays: from 0 to 7 is the whole week, and not from Sunday to Sunday
        names = WEEKDAY_DIGITS.sub(lambda digit: field.names[int(digit[0]) % 7], text.replace("0-7", "0-6"))
        raise field.refused(
            text, f"0 is not a weekday on Cloudflare, which counts from 1 = Sunday; write names, SUN for 0: {names}"
        )
    if number is not None and field.low <= number <= field.high:
        return number
    raise field.refused(text, _why_not_a_value(field, word))


def _why_not_a_value(field: Field, word: str) -> str:
    values = f"{field.low} to {field.high}"
    if field.names:
        values += f" or {field.names[0]} to {field.names[-1]}"
    if not word:
        return f"a value is missing; values are {values}"
    if word == "?":
        return "Cloudflare does not document ?; write *"
    if word.upper()[:3] in field.names and word.isalpha():
        return f"{shown(word)} is not a value; write {word.upper()[:3]}"
    also = f", and by itself the field also takes {field.also}" if field.also else ""
    return f"{shown(word)} is not a value; values are {values}{also}"


def read_number(word: str) -> int | None:
    """A number of one or two ASCII digits, else None.

    Example:
        >>> read_number("05"), read_number("٣"), read_number("-1")
        (5, None, None)
    """
    return int(word) if 1 <= len(word) <= 2 and word.isascii() and word.isdigit() else None


def write_value(field: Field, value: int) -> str:
    """One value as we write it: weekdays as names, which every dialect reads alike, the rest as numbers.

    Example:
        >>> write_value(DAY_OF_WEEK, 1), write_value(MONTH, 1)
        ('SUN', '1')
    """
    return field.names[value - field.low] if field is DAY_OF_WEEK else str(value)


def write_values(field: Field, values: Set[int]) -> str:
    """Write a set of values; equal sets give equal text.

    Args:
        field: which field it is.
        values: its values, at least one.

    Example:
        >>> write_values(HOUR, {0, 6, 12, 18}), write_values(MINUTE, {5, 30, 31, 32}), write_values(DAY_OF_WEEK, {2, 3})
        ('*/6', '5,30-32', 'MON,TUE')
    """
    ordered = sorted(values)
    size = field.high - field.low + 1
    if len(ordered) == size:
        return "*"
    step = ordered[1] - ordered[0] if len(ordered) > 1 else 1
    if step > 1 and field is not DAY_OF_WEEK:
        if ordered == list(range(field.low, field.high + 1, step)) and (len(ordered) > 2 or size % step == 0):
            return f"*/{step}"
        if len(ordered) > 3 and ordered == list(range(ordered[0], ordered[-1] + 1, step)):
            return f"{ordered[0]}-{ordered[-1]}/{step}"
    return ",".join(
        _span(field, run[0], run[-1]) if len(run) > 2 else ",".join(write_value(field, value) for value in run)
        for run in runs(ordered)
    )


def runs(ordered: Sequence[int]) -> list[list[int]]:
    """Split rising numbers where one is left out.

    Example:
        >>> runs([1, 2, 3, 7])
        [[1, 2, 3], [7]]
    """
    found: list[list[int]] = []
    for value in ordered:
        if found and value == found[-1][-1] + 1:
            found[-1].append(value)
        else:
            found.append([value])
    return found
