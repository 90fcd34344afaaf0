"""Cron expressions as Cloudflare's Cron Triggers read them: parsed, normalised, and when they fire.

What is not in Cloudflare's documentation is refused, rather than given a meaning that the platform may not share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta  # noqa: F401 - the examples write UTC
from typing import Any, Final

from lunorash.crons.days import (
    MONTH_LENGTHS,
    DayRule,
    EveryDay,
    NearestWorkday,
    NthWeekday,
    OnDays,
    OnWeekdays,
    days_in_month,
    read_day_of_month,
    read_day_of_week,
    write_days,
)
from lunorash.crons.fields import (
    DAY_OF_MONTH,
    FIELDS,
    HOUR,
    MINUTE,
    MONTH,
    WEEKDAY_DIGITS,
    FieldError,
    read_values,
    write_values,
)
from lunorash.crons.fires import CRONITER_YEARS, calendar_fires, croniter_fires
from lunorash.crons.notices import notices_about
from lunorash.errors import LunoraError, shown

__all__ = ["MAX_LENGTH", "CronExpression"]

MAX_LENGTH: Final = 256
"""The longest expression that is read, in characters."""

_MINUTE: Final = timedelta(minutes=1)
_FIRST: Final = datetime(1, 1, 1)  # noqa: DTZ001 - arithmetic in UTC, and no zone to overflow at the edges
_LAST_MINUTE: Final = (datetime(9999, 12, 31, 23, 59) - _FIRST) // _MINUTE  # noqa: DTZ001
_SHAPE: Final = "minute, hour, day of month, month, day of week"
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * SUN",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


@dataclass(frozen=True, slots=True)
class CronExpression:
    """A cron expression that Cloudflare takes. Made by `parse`; two that mean the same are equal.

    Example:
        >>> expression = CronExpression.parse("0 8 * jan-mar mon")
        >>> expression.normalized
        '0 8 * 1-3 MON'
        >>> expression.next_after(datetime(2026, 1, 1, tzinfo=UTC)).isoformat()
        '2026-01-05T08:00:00+00:00'
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    text: str = field(compare=False)
    notices: tuple[str, ...] = field(compare=False)

    @classmethod
    def parse(cls, text: Any) -> CronExpression:
        """Read an expression: five fields, minute, hour, day of month, month and day of week, in UTC.

        Every field takes ``*``, values, ranges, lists and steps. Months may be ``JAN`` to ``DEC``, weekdays ``SUN``
        to ``SAT``, or 1 to 7 from Sunday. The day of month may also be ``L``, ``L-3``, ``LW`` or ``15W``, the day
        of week ``FRIL`` or ``FRI#2``, each by itself.

        Args:
            text: the expression, at most 256 characters.

        Raises:
            LunoraError: ``CRON_EXPR_INVALID`` naming the field, the reason and the way out;
                ``CRON_DAYS_AMBIGUOUS`` if day of month and day of week are both restricted.

        Example:
            >>> CronExpression.parse("0 7 * * 1-5").notices[0].partition(".")[0]
            "the day of week field is '1-5': Cloudflare, which counts from 1 = Sunday, reads SUN-THU"
            >>> try:
            ...     CronExpression.parse("*/5 0 * * MONDAY")
            ... except LunoraError as error:
            ...     print(error.message.partition(": ")[2])
            the day of week field is 'MONDAY': 'MONDAY' is not a value; write MON
        """
        try:
            minute, hour, day_of_month, month, day_of_week = _split(text)
            minutes, hours = read_values(MINUTE, minute), read_values(HOUR, hour)
            on_days = read_day_of_month(day_of_month)
            months = tuple(sorted(read_values(MONTH, month)))
            on_weekdays = read_day_of_week(day_of_week)
            _check_nearest(day_of_month, on_days, months)
        except FieldError as error:
            raise LunoraError("CRON_EXPR_INVALID", f"the cron expression {shown(text)} is refused: {error}") from None
        if day_of_month != "*" and day_of_week != "*":
            time, month = (
                f"{write_values(MINUTE, minutes)} {write_values(HOUR, hours)}",
                write_values(MONTH, set(months)),
            )
            weekdays = write_days(on_weekdays)[1]
            either = f'"{time} {write_days(on_days)[0]} {month} *"', f'"{time} * {month} {weekdays}"'
            in_digits = WEEKDAY_DIGITS.search(day_of_week) is not None
            written = f"{day_of_week}, on Cloudflare {weekdays}" if in_digits else day_of_week
            raise LunoraError(
                "CRON_DAYS_AMBIGUOUS",
                f"the cron expression {shown(text)} restricts the day of month ({day_of_month}) and the day of week "
                f"({written}); Cloudflare does not document whether both must match or either. For either make "
                f"two jobs, {' and '.join(either)}; for both make one of them and look at the other day inside it. "
                "A day field that restricts nothing is written *",
            )
        days = on_weekdays if isinstance(on_days, EveryDay) else on_days
        return cls(
            minutes=tuple(sorted(minutes)),
            hours=tuple(sorted(hours)),
            months=months,
            days=days,
            text=text,
            notices=tuple(notices_about(day_of_month, day_of_week, days, months)),
        )

    @property
    def normalized(self) -> str:
        """The canonical text, for ``triggers.crons``: sets of values in one form, weekdays by name."""
        day_of_month, day_of_week = write_days(self.days)
        return " ".join(
            (
                write_values(MINUTE, set(self.minutes)),
                write_values(HOUR, set(self.hours)),
                day_of_month,
                write_values(MONTH, set(self.months)),
                day_of_week,
            )
        )

    @property
    def never_fires(self) -> bool:
        """Whether no month, of whatever length and first weekday, has a day to fire on."""
        return not any(
            days_in_month(self.days, first, length)
            for month in self.months
            for length in MONTH_LENGTHS[month - 1]
            for first in range(1, 8)
        )

    def that_fires(self) -> CronExpression:
        """Return this expression if it ever fires.

        Raises:
            LunoraError: ``CRON_NEVER_FIRES`` with the reason (pallets-eco/croniter#141).

        Example:
            >>> try:
            ...     CronExpression.parse("0 0 30 2 *").that_fires()
            ... except LunoraError as error:
            ...     print(error)
            CRON_NEVER_FIRES: the cron expression '0 0 30 2 *' never fires: no month that it names has such a day (30)
        """
        if not self.never_fires:
            return self
        day_of_month, day_of_week = write_days(self.days)
        why = f"no month that it names has such a day ({day_of_month})"
        if isinstance(self.days, NthWeekday):
            why = f"no month has the same weekday {self.days.nth} times ({day_of_week}); FRIL is the last Friday"
        raise LunoraError("CRON_NEVER_FIRES", f"the cron expression {shown(self.text)} never fires: {why}")

    def next_after(self, instant: datetime) -> datetime | None:
        """When it fires first, strictly after an instant.

        Args:
            instant: a `datetime` with a time zone.

        Returns:
            the time in UTC, or None if it never fires again before the end of the year 9999.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a `datetime` without a time zone.

        Example:
            >>> CronExpression.parse("0 0 29 2 *").next_after(datetime(2096, 2, 29, tzinfo=UTC)).year
            2104
        """
        return next(self.fires_after(instant), None)

    def previous_before(self, instant: datetime) -> datetime | None:
        """When it fired last, strictly before an instant; see `next_after`.

        Example:
            >>> CronExpression.parse("0 0 LW * *").previous_before(datetime(2026, 6, 1, tzinfo=UTC)).isoformat()
            '2026-05-29T00:00:00+00:00'
        """
        return next(self.fires_before(instant), None)

    def fires_after(self, instant: datetime) -> Iterator[datetime]:
        """All times it fires, strictly after an instant, one after the other; see `next_after`.

        Example:
            >>> fires = CronExpression.parse("0 */12 * * *").fires_after(datetime(2026, 1, 1, tzinfo=UTC))
            >>> [next(fires).hour for _ in range(3)]
            [12, 0, 12]
        """
        return self._fires(_since_first(instant) // _MINUTE + 1, forward=True)

    def fires_before(self, instant: datetime) -> Iterator[datetime]:
        """All times it fired, strictly before an instant, the latest first; see `next_after`.

        Example:
            >>> fires = CronExpression.parse("0 0 1 * *").fires_before(datetime(2026, 3, 1, tzinfo=UTC))
            >>> [next(fires).month for _ in range(3)]
            [2, 1, 12]
        """
        return self._fires(-(-_since_first(instant) // _MINUTE) - 1, forward=False)

    def _fires(self, minute: int, *, forward: bool) -> Iterator[datetime]:
        """The fires from a minute on, itself included, until the calendar ends."""
        bounded = max(minute, 0) if forward else min(minute, _LAST_MINUTE)
        if self.never_fires or not 0 <= bounded <= _LAST_MINUTE:
            return iter(())
        begin = _FIRST + bounded * _MINUTE
        if isinstance(self.days, EveryDay | OnDays | OnWeekdays) and begin.year in CRONITER_YEARS:
            return croniter_fires(self.normalized, begin, forward=forward)
        return calendar_fires(self.minutes, self.hours, self.months, self.days, begin, forward=forward)


def _check_nearest(text: str, days: DayRule, months: tuple[int, ...]) -> None:
    """Refuse ``31W`` where a month may have no 31st.

    Nobody documents it, and readings differ: Cloudflare's published parser then fires if the 30th is a Friday,
    croniter on the last weekday.
    """
    if isinstance(days, NearestWorkday) and any(days.day > MONTH_LENGTHS[month - 1][0] for month in months):
        raise DAY_OF_MONTH.refused(
            text,
            f"Cloudflare does not document what {days.day}W means in a month without a day {days.day}; write LW for "
            "the last weekday, or name in the month field only months that have the day",
        )


def _since_first(instant: Any) -> timedelta:
    """The time from the first minute there is to an instant, in UTC; a zone may put it before that."""
    if not isinstance(instant, datetime):
        raise LunoraError("INVALID_INPUT", f"the instant is {shown(instant)}; it must be a datetime with a time zone")
    offset = instant.utcoffset()
    if offset is None:
        raise LunoraError(
            "INVALID_INPUT",
            f"the datetime {instant.isoformat()} has no time zone, and crons are in UTC; "
            "write datetime(..., tzinfo=UTC)",
        )
    return instant.replace(tzinfo=None) - _FIRST - offset


def _split(text: Any) -> list[str]:
    """The five fields, or a `FieldError` about the shape of the whole."""
    if not isinstance(text, str):
        raise FieldError(f"it is of type {type(text).__name__}; an expression is a string")
    if len(text) > MAX_LENGTH:
        raise FieldError(f"it has {len(text):,} characters; {MAX_LENGTH} are read")
    words = re.split("[ \t]+", text)
    for index, word in enumerate(words):
        strange = [character for character in word if not "!" <= character <= "~"]
        if strange:
            name = FIELDS[min(index, 4)].name
            raise FieldError(
                f"the {name} field holds the character U+{ord(strange[0]):04X}; an expression is of ASCII letters, "
                "digits and signs, with spaces between the fields"
            )
    if words[0].lower() in _MACROS:
        raise FieldError(f"Cloudflare does not document {words[0]}; write {_MACROS[words[0].lower()]}")
    if words[0].startswith("@"):
        raise FieldError(f"Cloudflare does not document {words[0]}; write five fields: {_SHAPE}")
    if "" in (words[0], words[-1]):
        raise FieldError("take the spaces away at its beginning and end" if text.strip(" \t") else "it is empty")
    if len(words) == 6:
        raise FieldError(
            "it has six fields, and Cloudflare takes five: there are no seconds, so take away the first field, or the "
            f"last if that is a year. The five are {_SHAPE}"
        )
    if len(words) != 5:
        raise FieldError(f"it has {len(words)} of five fields: {_SHAPE}")
    return words
