"""The schedules of `cron_jobs()` that are not written as cron expressions, and what they are compiled to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict

from lunorash.crons.expression import CronExpression
from lunorash.crons.fields import DAY_OF_WEEK
from lunorash.errors import LunoraError, shown

__all__ = [
    "Daily",
    "EveryHours",
    "EveryMinutes",
    "Hourly",
    "Interval",
    "Monthly",
    "ScheduleKind",
    "Weekday",
    "Weekly",
    "compile_schedule",
]

ScheduleKind = Literal["interval", "hourly", "daily", "weekly", "monthly"]

Weekday = Literal["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]


class EveryMinutes(TypedDict):
    """Every so many minutes: 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30."""

    minutes: int


class EveryHours(TypedDict):
    """Every so many hours, on the hour: 1, 2, 3, 4, 6, 8 or 12."""

    hours: int


Interval = EveryMinutes | EveryHours
"""The schedule of an interval; one of the two."""


class Hourly(TypedDict):
    """Once an hour, at a minute from 0 to 59."""

    minute_utc: int


class Daily(TypedDict):
    """Once a day, at an hour from 0 to 23 and a minute from 0 to 59, UTC."""

    hour_utc: int
    minute_utc: int


class Weekly(TypedDict):
    """Once a week, on a weekday, at an hour from 0 to 23 and a minute from 0 to 59, UTC."""

    day_of_week: Weekday
    hour_utc: int
    minute_utc: int


class Monthly(TypedDict):
    """Once a month, on a day from 1 to 31, which shorter months pass over, at an hour and a minute, UTC."""

    day: int
    hour_utc: int
    minute_utc: int


_FIELDS: Final[Mapping[ScheduleKind, tuple[str, ...]]] = {
    "interval": ("minutes", "hours"),
    "hourly": ("minute_utc",),
    "daily": ("hour_utc", "minute_utc"),
    "weekly": ("day_of_week", "hour_utc", "minute_utc"),
    "monthly": ("day", "hour_utc", "minute_utc"),
}
_RANGES: Final = {"minute_utc": (0, 59), "hour_utc": (0, 23), "day": (1, 31), "minutes": (1, 59), "hours": (1, 23)}
_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_ONE_UNIT: Final = 'an interval has exactly one of {"minutes": n} and {"hours": n}'


def compile_schedule(kind: ScheduleKind, schedule: Any, *, job: str) -> CronExpression:
    """Turn a schedule into the cron expression that Cloudflare runs.

    Args:
        kind: which of the builder's methods it was given to.
        schedule: the schedule.
        job: the job's name, for the messages.

    Raises:
        LunoraError: ``CRON_SCHEDULE_INVALID`` naming the job, the field, its range and the way out.

    Example:
        >>> schedule = {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}
        >>> compile_schedule("weekly", schedule, job="report").normalized
        '0 8 * * MON'
    """
    try:
        return CronExpression.parse(_compile(kind, schedule))
    except _ScheduleError as error:
        raise LunoraError("CRON_SCHEDULE_INVALID", f"the cron job {shown(job)}: {error}") from None


class _ScheduleError(ValueError):
    """What is wrong with a schedule, before the job is named."""


def _compile(kind: ScheduleKind, schedule: Any) -> str:
    if not isinstance(schedule, dict):
        raise _ScheduleError(
            f"the schedule is {shown(schedule)}; {kind} takes a dict with {_named(_FIELDS[kind])}. "
            "A cron expression goes to cron()"
        )
    if kind == "interval":
        return _compile_interval(schedule)
    _check_keys(kind, schedule)
    minute = _number(kind, schedule, "minute_utc")
    if kind == "hourly":
        return f"{minute} * * * *"
    hour = _number(kind, schedule, "hour_utc")
    if kind == "daily":
        return f"{minute} {hour} * * *"
    if kind == "weekly":
        return f"{minute} {hour} * * {_weekday(schedule['day_of_week'])}"
    return f"{minute} {hour} {_number(kind, schedule, 'day')} * *"


def _check_keys(kind: ScheduleKind, schedule: dict[Any, Any]) -> None:
    fields = _FIELDS[kind]
    for key in schedule:
        if key not in fields:
            raise _ScheduleError(f"{kind} has no field {shown(key)}; it takes {_named(fields)}")
    for field in fields:
        if field not in schedule:
            raise _ScheduleError(f"{kind}.{field} is missing; it must be {_rule(field)}")


def _named(fields: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(fields[:-1]), *fields[-1:])))


def _rule(field: str) -> str:
    if field == "day_of_week":
        return f"one of {', '.join(_WEEKDAYS)}"
    low, high = _RANGES[field]
    return f"a whole number from {low} to {high}"


def _number(kind: ScheduleKind, schedule: dict[Any, Any], field: str) -> int:
    value = schedule[field]
    low, high = _RANGES[field]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _ScheduleError(f"{kind}.{field} is {shown(value)}; it must be {_rule(field)}{_way_out(field, value)}")
    return value


def _way_out(field: str, value: object) -> str:
    """What somebody who wrote this may have meant."""
    if isinstance(value, bool) or not isinstance(value, int):
        return ""
    if field == "hour_utc" and value > 23:
        return f". Hours are of one day in UTC: {value} o'clock is {value % 24} o'clock on a day after it"
    if field == "minute_utc" and value > 59:
        return ". For the full hour write 0; for several times an hour use interval()"
    if field == "day" and not 1 <= value <= 31:
        return '. The last day of the month is the cron expression "0 0 L * *"'
    return ""


def _weekday(value: object) -> str:
    """The weekday's abbreviation: digits would be a day off on one side or the other (cloudflare/saffron#19)."""
    name = value.lower() if isinstance(value, str) else ""
    if name in _WEEKDAYS:
        return DAY_OF_WEEK.names[_WEEKDAYS.index(name)]
    meant = [weekday for weekday in _WEEKDAYS if len(name) > 1 and weekday.startswith(name)]
    hint = f'. Did you mean "{meant[0]}"?' if len(meant) == 1 else ""
    if isinstance(value, int):
        hint = ". Numbers are not taken: some crons count from Sunday, some from Monday, some from 0, some from 1"
    raise _ScheduleError(f"weekly.day_of_week is {shown(value)}; it must be {_rule('day_of_week')}{hint}")


def _compile_interval(schedule: dict[Any, Any]) -> str:
    if "seconds" in schedule:
        raise _ScheduleError(
            f"interval.seconds is {shown(schedule['seconds'])}, and crons run once a minute at most. Write "
            '{"minutes": 1}, or for less than a minute let a function schedule itself with ctx.scheduler.run_after'
        )
    for key in schedule:
        if key not in _FIELDS["interval"]:
            raise _ScheduleError(
                f"interval has no field {shown(key)}; {_ONE_UNIT}. For days use daily, weekly or monthly"
            )
    if len(schedule) != 1:
        raise _ScheduleError(f"the interval has {_named(tuple(schedule)) or 'no field'}; {_ONE_UNIT}")
    (unit,) = schedule
    if unit == "minutes":
        step = _step("minutes", schedule["minutes"], 60)
        return "* * * * *" if step == 1 else f"*/{step} * * * *"
    step = _step("hours", schedule["hours"], 24)
    return "0 * * * *" if step == 1 else f"0 */{step} * * *"


def _step(unit: str, value: object, size: int) -> int:
    steps = ", ".join(str(step) for step in range(1, size) if size % step == 0)
    given = f"interval.{unit} is {shown(value)}"
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _ScheduleError(f"{given}; it must be one of {steps}")
    if value >= size:
        raise _ScheduleError(f"{given}; it must be at most {size - 1}, one of {steps}. {_longer(unit, value)}")
    if size % value:
        whole, restart = ("hour", "at minute 0") if unit == "minutes" else ("day", "at midnight UTC")
        last = (size - 1) // value * value
        raise _ScheduleError(
            f"{given}, which does not divide {size}; it must be one of {steps}. A cron starts anew {restart} of each "
            f"{whole}, so the intervals would drift: {value} {unit}, and then {size - last} from {last} to the next "
            f"{whole}. For exactly {value} {unit} let a function schedule itself with ctx.scheduler.run_after"
        )
    return value


def _longer(unit: str, value: int) -> str:
    """The way out for an interval that is too long for its unit."""
    if unit == "hours":
        return "For once a day use daily; for less often weekly or monthly"
    if value % 60 == 0 and value // 60 < 24 and 24 % (value // 60) == 0:
        return f'Write {{"hours": {value // 60}}}'
    return 'For longer ones write {"hours": n} or use daily'
