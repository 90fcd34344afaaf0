from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lunorash.scheduler.alarm import Alarm

_NOW = 1_000_000


class _Platform:
    """What the platform was told: each time the alarm was set, None when it was taken away."""

    def __init__(self) -> None:
        self.calls: list[int | None] = []
        self.alarm = Alarm(self.calls.append, lambda: self.calls.append(None))

    def armed_at(self, at: int, now: int = _NOW) -> Alarm:
        self.alarm.arm(at, now)
        self.calls.clear()
        return self.alarm


def test_a_fresh_object_sets_its_alarm_whatever_the_platform_may_remember() -> None:
    """A4: there is no "already armed" that trusts a stored value."""
    platform = _Platform()
    platform.alarm.arm(_NOW + 100, _NOW)
    assert platform.calls == [_NOW + 100]
    assert platform.alarm.armed == _NOW + 100


def test_a_fresh_object_that_needs_no_alarm_takes_away_what_may_stand() -> None:
    platform = _Platform()
    platform.alarm.arm(None, _NOW)
    platform.alarm.arm(None, _NOW)
    assert platform.calls == [None]


def test_an_alarm_is_never_set_to_the_present_or_the_past() -> None:
    """A1: max(due, now + 1)"""
    for wanted in (0, _NOW - 1, _NOW, _NOW + 1):
        platform = _Platform()
        platform.alarm.arm(wanted, _NOW)
        assert platform.calls == [_NOW + 1]


def test_the_alarm_is_moved_forward_at_once() -> None:
    platform = _Platform()
    platform.armed_at(_NOW + 60_000).arm(_NOW + 59_999, _NOW)
    assert platform.calls == [_NOW + 59_999]


def test_an_alarm_that_stands_right_is_left() -> None:
    platform = _Platform()
    platform.armed_at(_NOW + 60_000).arm(_NOW + 60_000, _NOW)
    assert platform.calls == []


def test_an_alarm_up_to_thirty_seconds_early_is_left_and_moved_when_it_is_earlier() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10_000)
    alarm.arm(_NOW + 40_000, _NOW)
    assert platform.calls == []
    alarm.arm(_NOW + 40_001, _NOW)
    assert platform.calls == [_NOW + 40_001]


def test_an_alarm_on_its_way_is_never_pushed_back() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10)
    for now in range(_NOW + 10, _NOW + 5_010, 100):
        alarm.arm(now, now)
    assert platform.calls == []


def test_an_alarm_five_seconds_overdue_was_lost_and_is_set_again() -> None:
    """A2: a stale alarm is noticed by whatever wakes the object next."""
    platform = _Platform()
    alarm = platform.armed_at(_NOW)
    armed = _NOW + 1
    assert not alarm.lost(armed + 5_000)
    assert alarm.lost(armed + 5_001)
    alarm.arm(_NOW, armed + 5_001)
    assert platform.calls == [armed + 5_002]
    assert not alarm.lost(armed + 5_001)


def test_an_abandoned_alarm_does_not_hide_a_newer_job() -> None:
    """A4: the alarm of an hour ago never came; the newer job's time is armed although it is later."""
    platform = _Platform()
    alarm = platform.armed_at(_NOW)
    alarm.arm(_NOW + 3_600_000 + 5, _NOW + 3_600_000)
    assert platform.calls == [_NOW + 3_600_005]


def test_an_alarm_that_went_off_stands_no_more() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10)
    alarm.fired()
    assert alarm.armed is None
    assert not alarm.lost(_NOW + 3_600_000)
    alarm.arm(_NOW + 10, _NOW)
    assert platform.calls == [_NOW + 10]


def test_after_it_went_off_there_is_nothing_to_take_away() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10)
    alarm.fired()
    alarm.arm(None, _NOW)
    assert platform.calls == []


def test_an_alarm_nobody_needs_is_taken_away_once() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10)
    alarm.arm(None, _NOW)
    alarm.arm(None, _NOW)
    assert platform.calls == [None]
    assert alarm.armed is None


def test_after_an_undone_transaction_nothing_is_trusted() -> None:
    platform = _Platform()
    alarm = platform.armed_at(_NOW + 10)
    alarm.forget()
    assert alarm.armed is None
    alarm.arm(_NOW + 10, _NOW)
    assert platform.calls == [_NOW + 10]
    alarm.forget()
    alarm.arm(None, _NOW)
    assert platform.calls == [_NOW + 10, None]


def test_what_may_not_stand_at_all_counts_as_lost() -> None:
    """A2: after a refused call, any request still notices."""
    platform = _Platform()
    assert platform.alarm.lost(_NOW)
    alarm = platform.armed_at(_NOW + 10)
    assert not alarm.lost(_NOW)
    alarm.forget()
    assert alarm.lost(_NOW)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 100_000), st.sampled_from(["arm", "disarm", "fire", "forget"]), st.integers(-9, 90_000)
        ),
        max_size=30,
    )
)
def test_after_arming_the_alarm_always_stands_in_time(steps: list[tuple[int, str, int]]) -> None:
    """The platform's alarm is never later than wanted, never long before it, and never set to the past."""
    platform = _Platform()
    now, stands = _NOW, _NOW + 1  # what an earlier object left
    for passed, what, ahead in steps:
        now += passed
        if what == "fire":
            platform.alarm.fired()
            stands = -1
        elif what == "forget":
            platform.alarm.forget()
        else:
            before = len(platform.calls)
            wanted = None if what == "disarm" else now + ahead
            platform.alarm.arm(wanted, now)
            for call in platform.calls[before:]:
                assert call is None or call > now
                stands = -1 if call is None else call
            if wanted is None:
                assert stands == -1
            else:
                assert max(now - 5_000, max(wanted, now + 1) - 30_000) <= stands <= max(wanted, now + 1)
