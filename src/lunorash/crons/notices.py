"""What is allowed in a cron expression and still worth a word, because people mean something else by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from lunorash.crons.days import (
    MONTH_LENGTHS,
    DayRule,
    LastOfWeekday,
    NthWeekday,
    OnDays,
    OnWeekdays,
    write_days,
)
from lunorash.crons.fields import WEEKDAY_DIGITS

__all__ = ["WeekdayNotice", "notices_about"]

_DIGITS_FOR_ALL: Final = re.compile(r"[0-9,#Ll-]+")


class WeekdayNotice(str):
    """A notice about weekdays in digits: the one by which people lose a day."""

    __slots__ = ()


def notices_about(day_of_month: str, day_of_week: str, days: DayRule, months: Sequence[int]) -> Iterator[str]:
    """What to tell about the day fields of an expression.

    Args:
        day_of_month: the field as it was written.
        day_of_week: the field as it was written.
        days: what both mean.
        months: the months it fires in.

    Example:
        >>> next(notices_about("*", "7", OnWeekdays(frozenset({7})), range(1, 13))).partition(". ")[2]
        'Write SAT if you mean that, or SUN if you mean what Unix reads'
    """
    if WEEKDAY_DIGITS.search(day_of_week):
        yield WeekdayNotice(_about_digits(day_of_week, days))
    if day_of_week.upper() == "L":
        yield f"the day of week field is {day_of_week!r}: Cloudflare reads SAT, the last day of a week from Sunday on"
    if "l" in day_of_month + day_of_week or "w" in day_of_month:
        yield "l and w are written L and W in what we emit: Cloudflare's published parser reads capitals only"
    yield from _about_short_months(days, months)


def _about_digits(text: str, days: DayRule) -> str:
    here = write_days(days)[1]
    read = f"the day of week field is {text!r}: Cloudflare, which counts from 1 = Sunday, reads {here}. Write {here}"
    if not _DIGITS_FOR_ALL.fullmatch(text):
        return read
    match days:
        case OnWeekdays(weekdays):
            unix: DayRule = OnWeekdays(frozenset(map(_in_unix, weekdays)))
        case LastOfWeekday(weekday) | NthWeekday(weekday):
            unix = replace(days, weekday=_in_unix(weekday))
        case _:
            return read
    return f"{read} if you mean that, or {write_days(unix)[1]} if you mean what Unix reads"


def _in_unix(weekday: int) -> int:
    """The weekday that Unix takes the digit for: 1 is Monday there, and 7 is Sunday."""
    return weekday % 7 + 1


def _about_short_months(days: DayRule, months: Sequence[int]) -> Iterator[str]:
    """A monthly job on the 31st runs seven times a year."""
    if not isinstance(days, OnDays) or len(days.days) > 1:
        return
    (day,) = days.days
    having = [month for month in months if day <= MONTH_LENGTHS[month - 1][-1]]
    if day > 28 and having and (len(having) < len(months) or 2 in months):
        yield f"months without a day {day} are passed over. For the last day of each month write L"
