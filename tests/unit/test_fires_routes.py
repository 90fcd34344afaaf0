from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lunorash.crons import CronJob
from lunorash.crons.expression import CronExpression
from lunorash.studio.fires_routes import MAX_FIRES, telling_fires, upcoming
from tests.unit.requests import a_request

AFTER = datetime(2026, 11, 30, 12, 30, 30, tzinfo=UTC)
DAY_MS = 24 * 60 * 60 * 1000


def _table(*expressions: str) -> dict[str, list[CronJob]]:
    return {text: [CronJob(f"job {number}", text, "a:b", {})] for number, text in enumerate(expressions)}


def test_jobs_that_fire_together_are_counted_together() -> None:
    told = upcoming(_table("0 * * * *", "0 8 * * *", "30 8 * * *"), after=AFTER)
    eight = int(datetime(2026, 12, 1, 8, 0, tzinfo=UTC).timestamp() * 1000)
    assert (eight, 2) in told.minutes
    assert (eight + 30 * 60_000, 1) in told.minutes
    assert len(told.minutes) == 25
    assert not told.truncated


@given(st.sampled_from(["*/7 * * * *", "0 9 * * MON", "0 0 LW * *", "59 23 31 12 *"]), st.integers(0, 10**6))
def test_the_next_five_are_those_of_the_expression(text: str, minutes: int) -> None:
    after = AFTER + timedelta(minutes=minutes)
    told = upcoming(_table(text), after=after)
    expected, at = [], after
    for _ in range(5):
        following = CronExpression.parse(text).next_after(at)
        assert following is not None
        at = following
        expected.append(int(at.timestamp() * 1000))
    assert [(job.name, list(job.next)) for job in told.jobs] == [("job 0", expected)]
    assert all(told.now < minute <= told.now + DAY_MS for minute, _ in told.minutes)


def test_an_app_that_fires_all_the_time_costs_no_more_than_the_limit() -> None:
    told = upcoming(_table(*(f"{first}-59 * * * *" for first in range(6))), after=AFTER)
    assert sum(count for _, count in told.minutes) == MAX_FIRES
    assert told.truncated
    assert all(len(job.next) == 5 for job in told.jobs)


def test_without_cron_jobs_there_is_nothing() -> None:
    told = upcoming({}, after=AFTER)
    assert (told.jobs, told.minutes, told.truncated) == ((), (), False)


async def test_the_handler_tells_from_now_on() -> None:
    told = await telling_fires(_table("0 * * * *"), AFTER.timestamp)(a_request(), None)
    assert told == upcoming(_table("0 * * * *"), after=AFTER)
