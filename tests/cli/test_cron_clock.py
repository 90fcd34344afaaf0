from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.cli.cron_clock import CronClock, Missed, Tick
from lunorash.crons import CronExpression

EIGHT = datetime(2026, 1, 5, 8, tzinfo=UTC)  # a Monday
EVERY = CronExpression.parse("* * * * *")
FIVE = CronExpression.parse("*/5 * * * *")
MONDAY = CronExpression.parse("0 8 * * MON")


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def test_a_minute_fires_once_however_often_it_is_looked_at() -> None:
    clock = CronClock(EIGHT - seconds(30))
    assert clock.look(EIGHT - seconds(0.001), [FIVE, MONDAY, EVERY]).due == ()
    assert clock.look(EIGHT + seconds(0.2), [FIVE, MONDAY, EVERY]) == Tick(EIGHT, (FIVE, MONDAY, EVERY))
    for later in (0.3, 1, 59.999):
        assert clock.look(EIGHT + seconds(later), [FIVE, MONDAY, EVERY]) == Tick(EIGHT)
    assert clock.look(EIGHT + minutes(1), [FIVE, MONDAY, EVERY]) == Tick(EIGHT + minutes(1), (EVERY,))


def test_the_minute_in_which_it_starts_is_over() -> None:
    clock = CronClock(EIGHT)
    assert clock.look(EIGHT + seconds(1), [MONDAY]) == Tick(EIGHT)


def test_a_minute_that_is_late_still_fires_while_it_lasts() -> None:
    assert CronClock(EIGHT - minutes(1)).look(EIGHT + seconds(59), [MONDAY]).due == (MONDAY,)


def test_a_machine_that_slept_fires_the_present_and_tells_the_rest() -> None:
    clock = CronClock(EIGHT - minutes(1))
    awake = EIGHT + minutes(20) + seconds(7)
    assert clock.look(awake, [FIVE, MONDAY]) == Tick(
        EIGHT + minutes(20),
        (FIVE,),
        (Missed(FIVE, 4, EIGHT, EIGHT + minutes(15)), Missed(MONDAY, 1, EIGHT, EIGHT)),
    )
    assert clock.look(awake + seconds(1), [FIVE, MONDAY]) == Tick(EIGHT + minutes(20)), "told once"


def test_a_long_sleep_is_not_counted_out() -> None:
    (missed,) = CronClock(EIGHT).look(EIGHT + timedelta(days=10_000), [EVERY]).missed
    assert missed == Missed(EVERY, 1000, EIGHT + minutes(1), EIGHT + minutes(1000))


def test_a_clock_that_is_corrected_back_fires_nothing_twice() -> None:
    clock = CronClock(EIGHT - minutes(1))
    assert clock.look(EIGHT, [EVERY]).due == (EVERY,)
    for back in (-1, -59, -60, -119):
        assert clock.look(EIGHT + seconds(back), [EVERY]).due == ()
    assert clock.look(EIGHT + seconds(1), [EVERY]).due == ()
    assert clock.look(EIGHT + minutes(1), [EVERY]).due == (EVERY,)


def test_a_clock_that_is_put_back_by_hours_goes_on_from_there() -> None:
    clock = CronClock(EIGHT)
    earlier = EIGHT - timedelta(hours=3)
    assert clock.look(earlier, [EVERY]) == Tick(earlier)
    assert clock.look(earlier + minutes(1), [EVERY]) == Tick(earlier + minutes(1), (EVERY,))


def test_another_zone_is_the_same_minute() -> None:
    berlin = timezone(timedelta(hours=1))
    assert CronClock((EIGHT - minutes(1)).astimezone(berlin)).look(EIGHT.astimezone(berlin), [MONDAY]) == Tick(
        EIGHT, (MONDAY,)
    )


def test_triggers_may_change_from_look_to_look() -> None:
    clock = CronClock(EIGHT - minutes(2))
    assert clock.look(EIGHT - minutes(1), []).due == ()
    assert clock.look(EIGHT, [MONDAY]).due == (MONDAY,)
    assert clock.look(EIGHT + minutes(5), []) == Tick(EIGHT + minutes(5))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(min_value=0, max_value=1500), max_size=30))
def test_every_fire_is_either_due_or_missed_and_never_both(steps: list[float]) -> None:
    """However the looks are spread, as long as the clock only goes on."""
    clock, now = CronClock(EIGHT), EIGHT
    due: list[datetime] = []
    missed = 0
    for step in steps:
        now += seconds(step)
        tick = clock.look(now, [FIVE])
        due += [tick.minute for _ in tick.due]
        missed += sum(each.count for each in tick.missed)
    fires = [EIGHT + minutes(5 * number) for number in range(1, int((now - EIGHT) / minutes(5)) + 1)]
    assert set(due) <= set(fires)
    assert len(due) == len(set(due))
    assert len(due) + missed == len(fires)
