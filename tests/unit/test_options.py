from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.refs import AgentReference, FunctionReference, WorkflowReference
from lunorash.scheduler.options import DEFAULT_TIMEOUT_MS, MAX_INSTANT_MS, RunOptions, delay_ms, instant_ms
from lunorash.scheduler.retry import RetryPolicy

_NOW = 1_800_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# -- delays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delay", "milliseconds"),
    [
        (0, 0),
        (0.0, 0),
        (-0.0, 0),
        (1, 1),
        (0.1, 1),
        (1500.0, 1500),
        (1500.2, 1501),
        (timedelta(0), 0),
        (timedelta(microseconds=1), 1),
        (timedelta(microseconds=1000), 1),
        (timedelta(microseconds=1001), 2),
        (timedelta(days=14), 1_209_600_000),
        (MAX_INSTANT_MS - _NOW, MAX_INSTANT_MS - _NOW),
    ],
)
def test_a_delay_is_whole_milliseconds_rounded_up(delay: Any, milliseconds: int) -> None:
    assert delay_ms(delay, now=_NOW) == milliseconds
    assert type(delay_ms(delay, now=_NOW)) is int


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=365_000)))
def test_a_job_is_never_early_and_less_than_a_millisecond_late(delay: timedelta) -> None:
    late = timedelta(milliseconds=delay_ms(delay, now=0)) - delay
    assert timedelta(0) <= late < timedelta(milliseconds=1)


_NOT_NUMBERS: list[Any] = [None, True, False, "1000", b"1", [1], {}, range(2), 1j]
_NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@pytest.mark.parametrize(
    "delay",
    [
        *_NOT_NUMBERS,
        *_NOT_FINITE,
        -1,
        -0.5,
        -5e-324,
        timedelta(microseconds=-1),
        timedelta(days=-1),
        MAX_INSTANT_MS - _NOW + 1,
        float(MAX_INSTANT_MS),
        1e300,
        10**400,
        10**5000,
        -(10**400),
        timedelta.max,
        datetime(2030, 1, 1, tzinfo=UTC),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) or abs(value) < 10**20 else "a huge integer",
)
def test_a_bad_delay_is_refused(delay: Any) -> None:
    with pytest.raises(LunoraError, match=r"^INVALID_INPUT: delay ") as raised:
        delay_ms(delay, now=_NOW)
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 300


# -- instants ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instant", "milliseconds"),
    [
        (0, 0),
        (1.2, 2),
        (1_800_000_000_000, 1_800_000_000_000),
        (MAX_INSTANT_MS, MAX_INSTANT_MS),
        (-5, 0),
        (-1e300, 0),
        (datetime(2026, 12, 1, tzinfo=UTC), 1_796_083_200_000),
        (datetime(2026, 12, 1, 0, 0, 0, 1, tzinfo=UTC), 1_796_083_200_001),
        (datetime(2026, 12, 1, 2, tzinfo=timezone(timedelta(hours=2))), 1_796_083_200_000),
        (datetime(1969, 12, 31, tzinfo=UTC), 0),
        (datetime.min.replace(tzinfo=UTC), 0),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=14))), 0),
        (datetime.max.replace(tzinfo=UTC), 253_402_300_800_000),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))), 253_402_344_000_000),
    ],
)
def test_an_instant_is_epoch_milliseconds_rounded_up_and_a_past_one_is_due_at_once(
    instant: Any, milliseconds: int
) -> None:
    assert instant_ms(instant) == milliseconds


@pytest.mark.parametrize(
    ("wall", "fold", "zone", "utc"),
    [
        # summer and winter
        ("2026-07-01T12:00", 0, "Europe/Berlin", "2026-07-01T10:00Z"),
        ("2026-01-01T12:00", 0, "Europe/Berlin", "2026-01-01T11:00Z"),
        # the hour that comes twice: the first one, and with fold=1 the second
        ("2026-11-01T01:30", 0, "America/New_York", "2026-11-01T05:30Z"),
        ("2026-11-01T01:30", 1, "America/New_York", "2026-11-01T06:30Z"),
        # the hour that is skipped: the offset before the change counts, as Python has it
        ("2026-03-08T02:30", 0, "America/New_York", "2026-03-08T07:30Z"),
        # offsets that are not whole hours
        ("2026-06-01T00:00", 0, "Asia/Kathmandu", "2026-05-31T18:15Z"),
    ],
)
def test_a_wall_time_in_a_zone_is_the_instant_it_names(wall: str, fold: int, zone: str, utc: str) -> None:
    local = datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone), fold=fold)
    assert instant_ms(local) == instant_ms(datetime.fromisoformat(utc))


@given(st.datetimes(min_value=_EPOCH.replace(tzinfo=None) + timedelta(days=2), timezones=st.timezones()))
def test_a_datetime_of_any_zone_is_never_early_and_less_than_a_millisecond_late(instant: datetime) -> None:
    late = timedelta(milliseconds=instant_ms(instant)) - (instant - _EPOCH)
    assert timedelta(0) <= late < timedelta(milliseconds=1)


def test_a_naive_datetime_is_refused_and_the_error_says_why_and_what_to_write() -> None:
    with pytest.raises(LunoraError, match="no time zone, so it names a different instant on each machine") as raised:
        instant_ms(datetime(2026, 12, 1))  # noqa: DTZ001 - that is what is refused
    assert raised.value.code == "INVALID_INPUT"
    assert "tzinfo=UTC" in raised.value.message


@pytest.mark.parametrize(
    "instant",
    [*_NOT_NUMBERS, *_NOT_FINITE, MAX_INSTANT_MS + 1, 1e15, 10**400, 10**5000, timedelta.max],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) or abs(value) < 10**20 else "a huge integer",
)
def test_a_bad_instant_is_refused(instant: Any) -> None:
    with pytest.raises(LunoraError, match="instant") as raised:
        instant_ms(instant)
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 300


def test_a_timedelta_is_no_instant() -> None:
    with pytest.raises(LunoraError, match="instant") as raised:
        instant_ms(timedelta(days=1))
    assert raised.value.code == "INVALID_INPUT"


# -- options -------------------------------------------------------------------------------------------------


def test_the_defaults_are_a_minted_id_five_retries_and_ten_minutes() -> None:
    options = RunOptions()
    assert (options.id, options.retry, options.shard_key) == (None, None, None)
    assert options.timeout_ms == DEFAULT_TIMEOUT_MS == 600_000


@pytest.mark.parametrize(
    ("timeout", "milliseconds"),
    [
        (1, 1),
        (0.5, 1),
        (timedelta(microseconds=1), 1),
        (timedelta(minutes=2), 120_000),
        (timedelta(hours=24), 86_400_000),
        (86_400_000, 86_400_000),
    ],
)
def test_a_timeout_is_one_millisecond_to_a_day(timeout: Any, milliseconds: int) -> None:
    assert RunOptions(timeout=timeout).timeout_ms == milliseconds


@pytest.mark.parametrize(
    "timeout",
    [0, -1, -0.5, timedelta(0), 86_400_001, timedelta(hours=24, microseconds=1), 10**400, True, "5", *_NOT_FINITE],
    ids=lambda value: repr(value)[:30],
)
def test_a_bad_timeout_is_refused_when_the_options_are_made(timeout: Any) -> None:
    with pytest.raises(LunoraError, match="timeout") as raised:
        RunOptions(timeout=timeout)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize("shard_key", ["", "x" * 257, 1, True, b"x", ["x"], "half \ud800 a pair", "x" * 1_000_000])
def test_a_bad_shard_key_is_refused(shard_key: Any) -> None:
    with pytest.raises(LunoraError, match="shard_key") as raised:
        RunOptions(shard_key=shard_key)
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 250


@pytest.mark.parametrize("shard_key", ["x", "x" * 256, "tenant/42 ✓", "🎉"])
def test_a_good_shard_key_is_kept(shard_key: str) -> None:
    assert RunOptions(shard_key=shard_key).shard_key == shard_key


@pytest.mark.parametrize("retry", [{"max_attempts": 3}, 3, True, "linear"])
def test_a_retry_that_is_no_policy_is_refused(retry: Any) -> None:
    with pytest.raises(LunoraError, match="it must be a RetryPolicy") as raised:
        RunOptions(retry=retry)
    assert raised.value.code == "INVALID_INPUT"


def test_a_bad_id_is_refused_when_the_options_are_made() -> None:
    with pytest.raises(LunoraError) as raised:
        RunOptions(id="-starts-with-a-dash")
    assert raised.value.code == "INVALID_SCHEDULE_ID"


def test_options_are_values() -> None:
    assert RunOptions(id="a", retry=RetryPolicy()) == RunOptions(id="a", retry=RetryPolicy())
    with pytest.raises(AttributeError):
        RunOptions().id = "a"  # type: ignore[misc]


# -- expiry, tags, endings -----------------------------------------------------------------------------------


def test_tags_are_sorted_and_none_is_there_twice() -> None:
    assert RunOptions().tags == ()
    assert RunOptions(tags=["b", "a", "b"]).tags == ("a", "b")
    assert RunOptions(tags={"x"}).tags == ("x",)  # type: ignore[arg-type]
    assert len(RunOptions(tags=[f"t{number}" for number in range(10)] * 2).tags) == 10
    assert RunOptions(tags=["é" * 64]) == RunOptions(tags=("é" * 64,))


@pytest.mark.parametrize(
    "tags",
    ["nightly", b"nightly", None, 5, {"a": 1}, [""], ["x" * 65], [5], [None], ["\ud800"], [f"t{n}" for n in range(11)]],
)
def test_bad_tags_are_refused_with_the_rule(tags: Any) -> None:
    with pytest.raises(LunoraError, match="tag") as raised:
        RunOptions(tags=tags)
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 200


def test_an_expiry_is_an_instant() -> None:
    assert RunOptions().expires_ms is None
    assert RunOptions(expires_at=_NOW).expires_ms == _NOW
    assert RunOptions(expires_at=datetime(2026, 12, 1, tzinfo=UTC)).expires_ms == 1_796_083_200_000


@pytest.mark.parametrize("instant", [*_NOT_FINITE, datetime(2026, 12, 1), "2026-12-01", True, timedelta(1), 10**18])  # noqa: DTZ001
def test_a_bad_expiry_is_refused_when_the_options_are_made(instant: Any) -> None:
    with pytest.raises(LunoraError, match="expires_at: ") as raised:
        RunOptions(expires_at=instant)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    "target",
    [
        "",
        "billing",
        "workflows.onboarding",
        5,
        lambda: None,
        WorkflowReference("onboarding", "WORKFLOW_ONBOARDING"),
        AgentReference("support", "AGENT_SUPPORT"),
        FunctionReference("billing:totals", kind="query", internal=True),
    ],
)
def test_endings_are_told_to_a_mutation_or_an_action_and_to_nothing_else(target: Any) -> None:
    with pytest.raises(LunoraError, match="on_complete") as raised:
        RunOptions(on_complete=target)
    assert raised.value.code == "INVALID_INPUT"
    RunOptions(on_complete="billing:told")
    RunOptions(on_complete=FunctionReference("billing:told", kind="action", internal=True))
