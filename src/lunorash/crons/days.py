"""Which days of a month an expression fires on: every rule its two day fields can make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lunorash.crons.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    read_number,
    read_value,
    read_values,
    write_value,
    write_values,
)

__all__ = [
    "MONTH_LENGTHS",
    "DayRule",
    "EveryDay",
    "FromTheEnd",
    "LastOfWeekday",
    "LastWorkday",
    "NearestWorkday",
    "NthWeekday",
    "OnDays",
    "OnWeekdays",
    "days_in_month",
    "read_day_of_month",
    "read_day_of_week",
    "write_days",
]

MONTH_LENGTHS: Final = ((31,), (28, 29), (31,), (30,), (31,), (30,), (31,), (31,), (30,), (31,), (30,), (31,))
"""How many days each month may have, the least number first."""

_SUNDAY: Final = 1
_SATURDAY: Final = 7
_ALONE: Final = "stands by itself, so not in a list or range; make a job of its own of it"


@dataclass(frozen=True, slots=True)
class EveryDay:
    """``*`` in both day fields."""


@dataclass(frozen=True, slots=True)
class OnDays:
    """Days by their numbers: ``1,15``. A month without the day is passed over."""

    days: frozenset[int]


@dataclass(frozen=True, slots=True)
class FromTheEnd:
    """The last day of the month, ``L``, or one that is some days before it, ``L-3``."""

    before: int


@dataclass(frozen=True, slots=True)
class NearestWorkday:
    """The day from Monday to Friday that is nearest to a day and in the same month: ``15W``."""

    day: int


@dataclass(frozen=True, slots=True)
class LastWorkday:
    """The last day of the month that is from Monday to Friday: ``LW``."""


@dataclass(frozen=True, slots=True)
class OnWeekdays:
    """Weekdays, 1 for Sunday: ``MON-FRI``."""

    weekdays: frozenset[int]


@dataclass(frozen=True, slots=True)
class LastOfWeekday:
    """The last of one weekday in the month: ``FRIL``."""

    weekday: int


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """The nth of one weekday in the month: ``FRI#2``. A month that has no fifth one is passed over."""

    weekday: int
    nth: int


DayRule = EveryDay | OnDays | FromTheEnd | NearestWorkday | LastWorkday | OnWeekdays | LastOfWeekday | NthWeekday
"""Which days of a month: any of the rules above."""


def days_in_month(rule: DayRule, first: int, length: int) -> list[int]:
    """The days of one month that a rule takes, in order.

    Args:
        rule: the rule.
        first: the weekday that the month begins on, 1 for Sunday.
        length: how many days it has.

    Example:
        >>> days_in_month(NearestWorkday(1), first=7, length=31)
        [3]
    """
    match rule:
        case EveryDay():
            found = list(range(1, length + 1))
        case OnDays(days):
            found = [day for day in sorted(days) if day <= length]
        case FromTheEnd(before):
            found = [length - before] if before < length else []
        case NearestWorkday(day):
            found = [_nearest_workday(day, first, length)] if day <= length else []
        case LastWorkday():
            found = [_nearest_workday(length, first, length)]
        case OnWeekdays(weekdays):
            found = [day for day in range(1, length + 1) if _weekday(first, day) in weekdays]
        case LastOfWeekday(weekday):
            found = days_in_month(OnWeekdays(frozenset({weekday})), first, length)[-1:]
        case NthWeekday(weekday, nth):
            found = days_in_month(OnWeekdays(frozenset({weekday})), first, length)[nth - 1 : nth]
    return found


def _nearest_workday(day: int, first: int, length: int) -> int:
    weekday = _weekday(first, day)
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else 3
    if weekday == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day


def _weekday(first: int, day: int) -> int:
    """The weekday of a day, 1 for Sunday, in a month that begins on the weekday ``first``."""
    return (first + day - 2) % 7 + 1


def write_days(rule: DayRule) -> tuple[str, str]:
    """A rule as we write it: the day of month field and the day of week field.

    Example:
        >>> write_days(NthWeekday(6, 2))
        ('*', 'FRI#2')
    """
    match rule:
        case EveryDay():
            texts = "*", "*"
        case OnDays(days):
            texts = write_values(DAY_OF_MONTH, days), "*"
        case FromTheEnd(before):
            texts = f"L-{before}" if before else "L", "*"
        case NearestWorkday(day):
            texts = f"{day}W", "*"
        case LastWorkday():
            texts = "LW", "*"
        case OnWeekdays(weekdays):
            texts = "*", write_values(DAY_OF_WEEK, weekdays)
        case LastOfWeekday(weekday):
            texts = "*", f"{write_value(DAY_OF_WEEK, weekday)}L"
        case NthWeekday(weekday, nth):
            texts = "*", f"{write_value(DAY_OF_WEEK, weekday)}#{nth}"
    return texts


def read_day_of_month(text: str) -> DayRule:
    """Read the day of month field.

    Raises:
        FieldError: naming the field, the reason and the way out.

    Example:
        >>> read_day_of_month("L-3")
        FromTheEnd(before=3)
    """
    word = text.upper()
    if word == "L":
        return FromTheEnd(0)
    if word == "LW":
        return LastWorkday()
    if word.startswith("L-"):
        before = read_number(word[2:])
        if before is None or not 1 <= before <= 30:
            raise DAY_OF_MONTH.refused(text, _why_not_before_the_end(word[2:]))
        return FromTheEnd(before)
    if word.endswith("W") and read_number(word[:-1]) is not None:
        return NearestWorkday(read_value(DAY_OF_MONTH, text, word[:-1]))
    if _is_compound(word) and ("L" in word or "W" in word):
        raise DAY_OF_MONTH.refused(text, f"each of L, L-3, LW and 15W {_ALONE}")
    days = read_values(DAY_OF_MONTH, text)
    return EveryDay() if len(days) == 31 else OnDays(days)


def _is_compound(word: str) -> bool:
    """Whether it is a list, a range or a step, of which the published parser takes plain parts only."""
    return any(sign in word for sign in ",-/")


def _why_not_before_the_end(offset: str) -> str:
    if offset.endswith("W"):
        return "Cloudflare does not document L-nW; write LW for the last day from Monday to Friday, or L-n"
    return "L-n is n days before the last of the month, and n is 1 to 30; for the last day itself write L"


def read_day_of_week(text: str) -> DayRule:
    """Read the day of week field.

    Raises:
        FieldError: naming the field, the reason and the way out.

    Example:
        >>> read_day_of_week("fri#2")
        NthWeekday(weekday=6, nth=2)
    """
    word = text.upper()
    if word == "L":
        return OnWeekdays(frozenset({_SATURDAY}))
    if _is_compound(word) and ("#" in word or "L" in word):
        raise DAY_OF_WEEK.refused(text, f"each of FRIL and FRI#2 {_ALONE}")
    if "#" in word:
        return _read_nth(text, word)
    if word.endswith("L"):
        return LastOfWeekday(read_value(DAY_OF_WEEK, text, word[:-1]))
    weekdays = read_values(DAY_OF_WEEK, text)
    return EveryDay() if len(weekdays) == 7 else OnWeekdays(weekdays)


def _read_nth(text: str, word: str) -> DayRule:
    weekday, _, nth_text = word.partition("#")
    nth = read_number(nth_text)
    if nth is None or nth < 1:
        raise DAY_OF_WEEK.refused(
            text, "after # comes which one of the month it is, 1 to 5: FRI#2 is the second Friday"
        )
    return NthWeekday(read_value(DAY_OF_WEEK, text, weekday), nth)
