from __future__ import annotations

from typing import Any

import pytest

from lunorash.crons.schedules import ScheduleKind, compile_schedule
from lunorash.errors import LunoraError

_NOON = {"hour_utc": 12, "minute_utc": 0}


@pytest.mark.parametrize(
    ("kind", "schedule", "expression"),
    [
        *(("interval", {"minutes": n}, f"*/{n} * * * *") for n in (2, 3, 4, 5, 6, 10, 12, 15, 20, 30)),
        ("interval", {"minutes": 1}, "* * * * *"),
        *(("interval", {"hours": n}, f"0 */{n} * * *") for n in (2, 3, 4, 6, 8, 12)),
        ("interval", {"hours": 1}, "0 * * * *"),
        ("hourly", {"minute_utc": 0}, "0 * * * *"),
        ("hourly", {"minute_utc": 59}, "59 * * * *"),
        ("daily", {"hour_utc": 0, "minute_utc": 0}, "0 0 * * *"),
        ("daily", {"hour_utc": 23, "minute_utc": 59}, "59 23 * * *"),
        ("weekly", {"day_of_week": "sunday", **_NOON}, "0 12 * * SUN"),
        ("weekly", {"day_of_week": "monday", **_NOON}, "0 12 * * MON"),
        ("weekly", {"day_of_week": "tuesday", **_NOON}, "0 12 * * TUE"),
        ("weekly", {"day_of_week": "wednesday", **_NOON}, "0 12 * * WED"),
        ("weekly", {"day_of_week": "thursday", **_NOON}, "0 12 * * THU"),
        ("weekly", {"day_of_week": "friday", **_NOON}, "0 12 * * FRI"),
        ("weekly", {"day_of_week": "saturday", **_NOON}, "0 12 * * SAT"),
        ("weekly", {"day_of_week": "Monday", **_NOON}, "0 12 * * MON"),
        ("monthly", {"day": 1, **_NOON}, "0 12 1 * *"),
        ("monthly", {"day": 31, **_NOON}, "0 12 31 * *"),
    ],
)
def test_a_schedule_becomes_an_expression(kind: ScheduleKind, schedule: dict[str, Any], expression: str) -> None:
    assert compile_schedule(kind, schedule, job="digest").normalized == expression


@pytest.mark.parametrize(
    ("kind", "schedule", "reason"),
    [
        (
            "interval",
            {"seconds": 30},
            'interval.seconds is 30, and crons run once a minute at most. Write {"minutes": 1}',
        ),
        ("interval", {"seconds": 30}, "let a function schedule itself with ctx.scheduler.run_after"),
        ("interval", {"seconds": 30, "minutes": 1}, "run_after"),
        (
            "interval",
            {"minutes": 45},
            "interval.minutes is 45, which does not divide 60; it must be one of 1, 2, 3, 4, 5, ",
        ),
        ("interval", {"minutes": 45}, "would drift: 45 minutes, and then 15 from 45 to the next hour"),
        ("interval", {"minutes": 7}, "would drift: 7 minutes, and then 4 from 56 to the next hour"),
        ("interval", {"hours": 5}, "would drift: 5 hours, and then 4 from 20 to the next day"),
        ("interval", {"hours": 5}, "For exactly 5 hours let a function schedule itself with ctx.scheduler.run_after"),
        ("interval", {"minutes": 0}, "interval.minutes is 0; it must be one of 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30"),
        ("interval", {"minutes": -5}, "interval.minutes is -5; it must be one of"),
        ("interval", {"minutes": 60}, "interval.minutes is 60; it must be at most 59, one of 1, 2,"),
        ("interval", {"minutes": 60}, 'Write {"hours": 1}'),
        ("interval", {"minutes": 120}, 'Write {"hours": 2}'),
        ("interval", {"minutes": 90}, 'For longer ones write {"hours": n} or use daily'),
        ("interval", {"minutes": 1440}, 'For longer ones write {"hours": n} or use daily'),
        ("interval", {"minutes": 5.0}, "interval.minutes is 5.0; it must be one of"),
        ("interval", {"minutes": True}, "interval.minutes is True; it must be one of"),
        ("interval", {"minutes": "5"}, "interval.minutes is '5'; it must be one of"),
        ("interval", {"minutes": None}, "interval.minutes is None"),
        ("interval", {"hours": 24}, "interval.hours is 24; it must be at most 23, one of 1, 2, 3, 4, 6, 8, 12"),
        ("interval", {"hours": 24}, "For once a day use daily"),
        ("interval", {"hours": 48}, "for less often weekly or monthly"),
        ("interval", {"hours": 0}, "interval.hours is 0; it must be one of 1, 2, 3, 4, 6, 8, 12"),
        ("interval", {}, 'the interval has no field; an interval has exactly one of {"minutes": n} and {"hours": n}'),
        ("interval", {"minutes": 5, "hours": 1}, "the interval has minutes and hours; an interval has exactly one of"),
        ("interval", {"days": 2}, "interval has no field 'days'; an interval has exactly one of"),
        ("interval", {"days": 2}, "For days use daily, weekly or monthly"),
        ("interval", {"minuts": 2}, "interval has no field 'minuts'"),
        ("interval", 5, "the schedule is 5; interval takes a dict with minutes and hours"),
        ("daily", "0 9 * * *", "A cron expression goes to cron()"),
        ("daily", None, "the schedule is None; daily takes a dict with hour_utc and minute_utc"),
        ("hourly", {}, "hourly.minute_utc is missing; it must be a whole number from 0 to 59"),
        (
            "hourly",
            {"minute_utc": 60},
            "hourly.minute_utc is 60; it must be a whole number from 0 to 59. For the full hour",
        ),
        ("hourly", {"minute_utc": -1}, "hourly.minute_utc is -1; it must be a whole number from 0 to 59"),
        ("hourly", {"minute_utc": False}, "hourly.minute_utc is False; it must be a whole number from 0 to 59"),
        ("hourly", {"minute": 5}, "hourly has no field 'minute'; it takes minute_utc"),
        ("daily", {"hour_utc": 25, "minute_utc": 0}, "daily.hour_utc is 25; it must be a whole number from 0 to 23"),
        ("daily", {"hour_utc": 25, "minute_utc": 0}, "25 o'clock is 1 o'clock on a day after it"),
        ("daily", {"hour_utc": 24, "minute_utc": 0}, "24 o'clock is 0 o'clock on a day after it"),
        ("daily", {"hour_utc": 9.5, "minute_utc": 0}, "daily.hour_utc is 9.5; it must be a whole number from 0 to 23"),
        ("daily", {"hour_utc": 9}, "daily.minute_utc is missing"),
        ("daily", {"hourUTC": 9, "minuteUTC": 0}, "daily has no field 'hourUTC'; it takes hour_utc and minute_utc"),
        ("daily", {**_NOON, "timezone": "Europe/Berlin"}, "daily has no field 'timezone'"),
        ("weekly", {"day_of_week": "mon", **_NOON}, "weekly.day_of_week is 'mon'; it must be one of sunday, monday,"),
        ("weekly", {"day_of_week": "mon", **_NOON}, 'Did you mean "monday"?'),
        ("weekly", {"day_of_week": "funday", **_NOON}, "weekly.day_of_week is 'funday'; it must be one of"),
        ("weekly", {"day_of_week": "", **_NOON}, "weekly.day_of_week is ''; it must be one of"),
        ("weekly", {"day_of_week": 1, **_NOON}, "Numbers are not taken: some crons count from Sunday"),
        ("weekly", {"day_of_week": None, **_NOON}, "weekly.day_of_week is None"),
        ("weekly", _NOON, "weekly.day_of_week is missing; it must be one of sunday"),
        ("monthly", {"day": 0, **_NOON}, "monthly.day is 0; it must be a whole number from 1 to 31"),
        ("monthly", {"day": 32, **_NOON}, 'The last day of the month is the cron expression "0 0 L * *"'),
        ("monthly", {"day": -1, **_NOON}, 'The last day of the month is the cron expression "0 0 L * *"'),
        ("monthly", {"day": "L", **_NOON}, "monthly.day is 'L'; it must be a whole number from 1 to 31"),
        ("monthly", _NOON, "monthly.day is missing"),
        ("monthly", {"day": 10**5000, **_NOON}, "cannot be shown; it must be a whole number"),
    ],
)
def test_a_refusal_names_the_job_the_field_and_the_way_out(kind: ScheduleKind, schedule: Any, reason: str) -> None:
    with pytest.raises(LunoraError) as refused:
        compile_schedule(kind, schedule, job="digest")
    assert refused.value.code == "CRON_SCHEDULE_INVALID"
    assert refused.value.message.startswith("the cron job 'digest': ")
    assert reason in refused.value.message
