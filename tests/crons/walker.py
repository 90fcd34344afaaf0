"""When an expression fires, found by looking at every minute: written from Cloudflare's table alone, with no search.

It shares no code with the package, reads the text itself, and asks of each date what the documentation asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final

_DAY: Final = timedelta(days=1)
_MONTHS: Final = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_WEEKDAYS: Final = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def walk(expression: str, begin: datetime, *, days: int, backward: bool = False) -> Iterator[datetime]:
    """Every minute from ``begin`` on, itself included, that fires within so many days."""
    minute, hour, day_of_month, month, day_of_week = expression.upper().split()
    minutes = {value for value in range(60) if _holds(minute, value, 59)}
    hours = {value for value in range(24) if _holds(hour, value, 23)}
    way = -1 if backward else 1
    today = begin.date()
    for _ in range(days):
        if (
            _holds(_numbers(month, _MONTHS), today.month, 12)
            and _day_of_month(day_of_month, today)
            and _day_of_week(day_of_week, today)
        ):
            for count in range(24 * 60)[::way]:
                moment = datetime(today.year, today.month, today.day, count // 60, count % 60, tzinfo=begin.tzinfo)
                if count % 60 in minutes and count // 60 in hours and (moment - begin) * way >= timedelta(0):
                    yield moment
        today += way * _DAY


def _numbers(text: str, names: list[str]) -> str:
    for number, name in enumerate(names, start=1):
        text = text.replace(name, str(number))
    return text


def _holds(text: str, value: int, most: int) -> bool:
    """Whether one of the parts takes the value."""
    for part in text.split(","):
        span, _, step = part.partition("/")
        least = 0 if most in {59, 23} else 1
        ends = [least, most] if span == "*" else [int(end) for end in span.split("-")]
        if len(ends) == 1:
            ends.append(most if step else ends[0])
        if ends[0] <= value <= ends[1] and (value - ends[0]) % int(step or 1) == 0:
            return True
    return False


def _day_of_month(text: str, today: date) -> bool:
    month = _month_of(today)
    workdays = [day for day in month if day.strftime("%u") <= "5"]
    if text == "LW":
        return today == workdays[-1]
    if text.startswith("L"):
        return today + int(text[2:] or 0) * _DAY == month[-1]
    if text.endswith("W"):
        aim = int(text[:-1])
        return aim <= len(month) and today == min(workdays, key=lambda day: abs(day.day - aim))
    return _holds(text, today.day, 31)


def _day_of_week(text: str, today: date) -> bool:
    text = _numbers(text, _WEEKDAYS)
    weekday = int(today.strftime("%w")) + 1
    alike = [day for day in _month_of(today) if day.weekday() == today.weekday()]
    if text == "L":
        return weekday == 7
    if text.endswith("L"):
        return weekday == int(text[:-1]) and today == alike[-1]
    if "#" in text:
        which, nth = text.split("#")
        return weekday == int(which) and alike.index(today) + 1 == int(nth)
    return _holds(text, weekday, 7)


def _month_of(today: date) -> list[date]:
    """All days of the month that a day is in."""
    around = [today + offset * _DAY for offset in range(-31, 32)]
    return [day for day in around if (day.year, day.month) == (today.year, today.month)]
