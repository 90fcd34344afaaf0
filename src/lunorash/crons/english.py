"""What a cron expression says, in plain English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lunorash.crons.days import (
    DayRule,
    EveryDay,
    FromTheEnd,
    LastOfWeekday,
    LastWorkday,
    NearestWorkday,
    NthWeekday,
    OnDays,
    OnWeekdays,
)
from lunorash.crons.expression import CronExpression
from lunorash.crons.fields import runs

__all__ = ["explain"]

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MOST_TIMES: Final = 6  # more times of day than these are said as hours and minutes


def explain(expression: CronExpression) -> str:
    """Say in plain English when an expression fires. A weekday of the month is one from Monday to Friday.

    Args:
        expression: the expression.

    Example:
        >>> for text in ("0 8 * * MON", "*/5 * * * *", "0 0 LW * *"):
        ...     print(explain(CronExpression.parse(text)))
        Every Monday at 08:00 UTC
        Every 5 minutes
        At 00:00 UTC on the last weekday of the month
    """
    if expression.never_fires:
        return "Never"
    minutes, hours = expression.minutes, expression.hours
    if len(minutes) * len(hours) <= _MOST_TIMES or (len(minutes) == 1 and not _steady(hours)):
        times = _listed([f"{hour:02}:{minute:02}" for hour in hours for minute in minutes])
        return _at(f"{times} UTC", expression.days, _months(expression.months))
    often, days = _often(minutes, hours), _days_after(expression.days, _months(expression.months))
    return f"{often}{days}" if "UTC" in often or not days else f"{often}{days} (UTC)"


def _at(times: str, days: DayRule, months: str) -> str:
    within = _within(months)
    match days:
        case EveryDay():
            return f"Every day{within} at {times}"
        case OnWeekdays(weekdays):
            return f"Every {_weekdays(weekdays, '')}{within} at {times}"
        case _:
            return f"At {times}{_days_after(days, months)}"


def _days_after(days: DayRule, months: str) -> str:
    """The days as they are said after the time."""
    within = _within(months)
    match days:
        case EveryDay():
            return within
        case OnWeekdays(weekdays):
            return f" on {_weekdays(weekdays, 's')}{within}"
        case _:
            return f" {_of_month(days)} of {months or 'the month'}"


def _within(months: str) -> str:
    if not months:
        return ""
    return f" from {months}" if " to " in months and " and " not in months else f" in {months}"


def _of_month(days: DayRule) -> str:
    match days:
        case OnDays(numbers):
            return f"on the {_spoken(sorted(numbers), [_ordinal(day) for day in range(32)], ' to the ')}"
        case FromTheEnd(before):
            return f"{before} day{'s' if before > 1 else ''} before the last day" if before else "on the last day"
        case NearestWorkday(day):
            return f"on the weekday nearest to the {_ordinal(day)}"
        case LastWorkday():
            return "on the last weekday"
        case LastOfWeekday(weekday):
            return f"on the last {_WEEKDAYS[weekday - 1]}"
        case NthWeekday(weekday, nth):
            return f"on the {_ordinal(nth)} {_WEEKDAYS[weekday - 1]}"
        case _:
            raise AssertionError(days)  # the other two do not depend on the month


def _often(minutes: Sequence[int], hours: Sequence[int]) -> str:
    """Fires that are too many for their times to be listed."""
    all_day = len(hours) == 24
    if len(minutes) > 1:
        step = _even(minutes, 60)
        numbers = _spoken(minutes, [str(minute) for minute in range(60)], " to ")
        said = f"Every {step} minutes" if step else f"At minutes {numbers} past {'every' if all_day else 'each'} hour"
        if step == 1:
            said = "Every minute"
        spans = [f"{run[0]:02}:{minutes[0]:02} to {run[-1]:02}:{minutes[-1]:02}" for run in runs(hours)]
        return said if all_day else f"{said} from {_listed(spans)} UTC"
    (minute,) = minutes
    if all_day:
        return f"Every hour at minute {minute}" if minute else "Every hour"
    step = _steady(hours)
    every = "Every hour" if step == 1 else f"Every {step} hours"
    end = "" if _even(hours, 24) else f" to {hours[-1]:02}:{minute:02}"
    return f"{every} from {hours[0]:02}:{minute:02}{end} UTC"


def _steady(values: Sequence[int]) -> int:
    """The step if there are several values, each as far from the one before, else 0."""
    step = values[1] - values[0] if len(values) > 1 else 0
    return step if step and list(values) == list(range(values[0], values[-1] + 1, step)) else 0


def _even(values: Sequence[int], size: int) -> int:
    """The step if there are several values, spread evenly from 0 on, else 0."""
    step = _steady(values)
    return step if step and values[0] == 0 and values[-1] + step == size else 0


def _months(months: Sequence[int]) -> str:
    return "" if len(months) == 12 else _spoken(months, ["", *_MONTHS], " to ")


def _weekdays(weekdays: frozenset[int], plural: str) -> str:
    return _spoken(sorted(weekdays), ["", *(f"{name}{plural}" for name in _WEEKDAYS)], " to ")


def _spoken(values: Sequence[int], names: Sequence[str], to: str) -> str:
    said: list[str] = []
    for run in runs(values):
        said += [f"{names[run[0]]}{to}{names[run[-1]]}"] if len(run) > 2 else [names[value] for value in run]
    return _listed(said)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{endings.get(number % 10, 'th') if number not in {11, 12, 13} else 'th'}"
