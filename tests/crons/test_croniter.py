"""croniter reads Unix crons: where it agrees with Cloudflare, and where it would mislead whoever trusts it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Final

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lunorash.crons.days import EveryDay, OnDays, OnWeekdays
from lunorash.crons.expression import CronExpression
from lunorash.crons.fires import calendar_fires, croniter_fires
from lunorash.errors import LunoraError
from tests.crons.expressions import expressions

_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def _croniter(text: str, count: int) -> list[datetime]:
    fires = croniter(text, _BEGIN)
    return [fires.get_next(datetime) for _ in range(count)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "* * * * *",
            "*/5 * * * *",
            "0 */6 * * *",
            "10 7 * * MON-FRI",
            "0 8 * * SUN",
            "0 0 1,15 * *",
            "5-10/2 9-17 * * *",
        ),
        *("0 0 29 2 *", "0 0 31 * *", "0 0 L * *", "0 9 * * FRI#2", "0 0 * 2 FRI#5", "0 0 1 */3 *", "0 0 15W * *"),
        *("0 0 1W * *", "0 0 31W 1,3,5,7 *"),
    ],
)
def test_they_agree_on_the_plain_cases(text: str) -> None:
    assert list(islice(CronExpression.parse(text).fires_after(_BEGIN), 12)) == _croniter(text, 12)


@pytest.mark.parametrize("text", ["0 0 * * 1-5", "0 0 * * 7", "0 0 * * 2", "0 0 * * 6#2"])
def test_digits_are_other_weekdays_to_croniter(text: str) -> None:
    assert list(islice(CronExpression.parse(text).fires_after(_BEGIN), 3)) != _croniter(text, 3)


@pytest.mark.parametrize(
    "text",
    [
        *("0 0 * * 0", "0 0 * * FRI-MON", "50-10 * * * *", "0 0 ? * *", "@daily", "0 0 1 1 * *", "*/60 * * * *"),
        *("0 16 */2 * SAT", "0 4 1 * MON-FRI", "0 0 1,L * *", "0 0 31W * *", "0 0 * * L5"),
    ],
)
def test_croniter_takes_what_cloudflare_refuses_or_does_not_document(text: str) -> None:
    assert croniter.is_valid(text)
    with pytest.raises(LunoraError):
        CronExpression.parse(text)


@pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 30 2 *"])
def test_croniter_calls_valid_what_never_fires(text: str) -> None:
    assert croniter.is_valid(text)
    assert CronExpression.parse(text).never_fires


@pytest.mark.parametrize("text", ["0 0 LW * *", "0 0 L-3 * *", "0 0 * * FRIL", "0 0 * * 6L", "0 0 * * L"])
def test_croniter_refuses_what_cloudflare_takes(text: str) -> None:
    assert not croniter.is_valid(text)
    assert CronExpression.parse(text).next_after(_BEGIN) is not None


@settings(max_examples=150, deadline=None)
@given(expressions(), st.datetimes(datetime(1971, 1, 1), datetime(2099, 12, 31)), st.booleans())  # noqa: DTZ001
def test_where_it_is_asked_it_answers_as_our_calendar_does(text: str, begin: datetime, forward: bool) -> None:
    expression = CronExpression.parse(text)
    assume(isinstance(expression.days, EveryDay | OnDays | OnWeekdays) and not expression.never_fires)
    minute = begin.replace(second=0, microsecond=0)
    ours = calendar_fires(
        expression.minutes, expression.hours, expression.months, expression.days, minute, forward=forward
    )
    assert list(islice(croniter_fires(expression.normalized, minute, forward=forward), 5)) == list(islice(ours, 5))
