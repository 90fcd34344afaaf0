from __future__ import annotations

from itertools import product

import pytest

from lunorash.crons.english import explain
from lunorash.crons.expression import CronExpression


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("* * * * *", "Every minute"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("0,30 * * * *", "Every 30 minutes"),
        ("*/45 * * * *", "At minutes 0 and 45 past every hour"),
        ("3,9-12 * * * *", "At minutes 3 and 9 to 12 past every hour"),
        ("0 * * * *", "Every hour"),
        ("17 * * * *", "Every hour at minute 17"),
        ("0 */2 * * *", "Every 2 hours from 00:00 UTC"),
        ("15 */2 * * *", "Every 2 hours from 00:15 UTC"),
        ("5 1-23/2 * * *", "Every 2 hours from 01:05 to 23:05 UTC"),
        ("0 9-17 * * *", "Every hour from 09:00 to 17:00 UTC"),
        ("0 */6 * * *", "Every day at 00:00, 06:00, 12:00 and 18:00 UTC"),
        ("0 9 * * *", "Every day at 09:00 UTC"),
        ("0,30 9 * * *", "Every day at 09:00 and 09:30 UTC"),
        ("0 0-5,9 * * *", "Every day at 00:00, 01:00, 02:00, 03:00, 04:00, 05:00 and 09:00 UTC"),
        ("*/5 9,10,14 * * *", "Every 5 minutes from 09:00 to 10:55 and 14:00 to 14:55 UTC"),
        ("* 9 * * *", "Every minute from 09:00 to 09:59 UTC"),
        ("3-20 8-18 * * *", "At minutes 3 to 20 past each hour from 08:03 to 18:20 UTC"),
        ("0 8 * * MON", "Every Monday at 08:00 UTC"),
        ("10 7 * * MON-FRI", "Every Monday to Friday at 07:10 UTC"),
        ("10 7 * * SAT,SUN", "Every Sunday and Saturday at 07:10 UTC"),
        ("0 8 * 7 MON", "Every Monday in July at 08:00 UTC"),
        ("0 8 * 1-3 *", "Every day from January to March at 08:00 UTC"),
        ("0 8 * 1,3-5 MON", "Every Monday in January and March to May at 08:00 UTC"),
        ("*/5 9-17 * * MON-FRI", "Every 5 minutes from 09:00 to 17:55 UTC on Mondays to Fridays"),
        ("*/10 * * * SUN", "Every 10 minutes on Sundays (UTC)"),
        ("0 * 1 1 *", "Every hour on the 1st of January (UTC)"),
        ("0 15 1 * *", "At 15:00 UTC on the 1st of the month"),
        ("0 0 1,15 * *", "At 00:00 UTC on the 1st and 15th of the month"),
        ("0 0 1-7,21,22,23 * *", "At 00:00 UTC on the 1st to the 7th and 21st to the 23rd of the month"),
        ("0 0 11,12,13,31 * *", "At 00:00 UTC on the 11th to the 13th and 31st of the month"),
        ("0 0 1 */3 *", "At 00:00 UTC on the 1st of January, April, July and October"),
        ("0 0 29 2 *", "At 00:00 UTC on the 29th of February"),
        ("0 0 L * *", "At 00:00 UTC on the last day of the month"),
        ("0 0 L-1 2 *", "At 00:00 UTC 1 day before the last day of February"),
        ("0 0 L-3 * *", "At 00:00 UTC 3 days before the last day of the month"),
        ("0 0 LW * *", "At 00:00 UTC on the last weekday of the month"),
        ("0 0 15W * *", "At 00:00 UTC on the weekday nearest to the 15th of the month"),
        ("0 18 * * FRIL", "At 18:00 UTC on the last Friday of the month"),
        ("0 9 * * FRI#2", "At 09:00 UTC on the 2nd Friday of the month"),
        ("*/2 * * * TUE#3", "Every 2 minutes on the 3rd Tuesday of the month (UTC)"),
        ("0 0 31 2 *", "Never"),
    ],
)
def test_it_is_said_in_plain_english(text: str, english: str) -> None:
    assert explain(CronExpression.parse(text)) == english


def test_two_expressions_that_differ_are_not_said_alike() -> None:
    minutes = ("0", "7", "*", "*/5", "*/7", "0,30", "0-10", "3,9", "59", "0,59")
    hours = ("0", "9", "*", "*/2", "*/6", "1-23/2", "9-17", "9,17", "0-5,9", "0-22")
    days = ("* {} *", "1 {} *", "1-7 {} *", "1,15 {} *", "L {} *", "L-3 {} *", "LW {} *", "15W {} *")
    weekdays = ("* {} MON", "* {} MON-FRI", "* {} SUN,SAT", "* {} FRIL", "* {} FRI#2")
    said: dict[str, str] = {}
    for minute, hour, day, month in product(minutes, hours, days + weekdays, ("*", "1", "1-3", "2,7")):
        expression = CronExpression.parse(f"{minute} {hour} {day.format(month)}")
        english = explain(expression)
        assert said.setdefault(english, expression.normalized) == expression.normalized
        assert "  " not in english
