"""The times at which an expression fires: by croniter where it reads as Cloudflare does, else by our own calendar.

croniter knows no ``LW``, ``L-3`` or ``FRIL``, and fails in the first and last years there are;
`tests/crons/test_croniter.py` shows where the two part.
"""

from __future__ import annotations

import calendar
import operator
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from lunorash.crons.days import DayRule, days_in_month

__all__ = ["CRONITER_YEARS", "calendar_fires", "croniter_fires"]

CRONITER_YEARS: Final = range(1970, 2100)
"""The years in which croniter is asked."""

_MINUTE: Final = timedelta(minutes=1)


def croniter_fires(text: str, begin: datetime, *, forward: bool) -> Iterator[datetime]:
    """The fires of an expression whose days are plain: all of them, some by number, or some by weekday.

    Args:
        text: the expression as we write it, with weekdays by name: croniter counts them from another day.
        begin: the first minute that is looked at, without a zone, in UTC.
        forward: the way through time.

    Example:
        >>> next(croniter_fires("0 8 * * MON", datetime(2026, 1, 1), forward=True)).isoformat()
        '2026-01-05T08:00:00+00:00'
    """
    # it takes a tenth of a second to import, and a Worker that only runs its crons never asks when
    from croniter import croniter  # type: ignore[import-untyped]

    way = _MINUTE if forward else -_MINUTE
    found = croniter(text, begin.replace(tzinfo=UTC) - way, max_years_between_matches=100)
    step = found.get_next if forward else found.get_prev
    while True:
        try:
            fire = step(datetime)
        except (OverflowError, ValueError):  # the calendar has ended
            return
        yield fire.replace(tzinfo=UTC)


def calendar_fires(
    minutes: Sequence[int],
    hours: Sequence[int],
    months: Sequence[int],
    days: DayRule,
    begin: datetime,
    *,
    forward: bool,
) -> Iterator[datetime]:
    """The fires by any rule of days, found by going through the months.

    What ever fires does so within forty years, the longest that a weekday is without a 29th of February.

    Args:
        minutes: the minutes it fires at, in order, as are the next two.
        hours: the hours.
        months: the months.
        days: the days of each month.
        begin: the first minute that is looked at, without a zone, in UTC.
        forward: the way through time.

    Example:
        >>> from lunorash.crons.days import LastWorkday
        >>> next(calendar_fires([0], [6], range(1, 13), LastWorkday(), datetime(2026, 5, 1), forward=True)).isoformat()
        '2026-05-29T06:00:00+00:00'
    """
    start = (begin.year, begin.month, begin.day, begin.hour, begin.minute)
    passed = operator.lt if forward else operator.gt
    way = 1 if forward else -1
    for number in range(begin.year * 12 + begin.month - 1, 10_000 * 12 if forward else 11, way):
        year, month = number // 12, number % 12 + 1
        if month not in months:
            continue
        monday_is_0, length = calendar.monthrange(year, month)
        for day in days_in_month(days, (monday_is_0 + 1) % 7 + 1, length)[::way]:
            if passed((year, month, day), start[:3]):
                continue
            for hour in hours[::way]:
                if passed((year, month, day, hour), start[:4]):
                    continue
                for minute in minutes[::way]:
                    if not passed((year, month, day, hour, minute), start):
                        yield datetime(year, month, day, hour, minute, tzinfo=UTC)
