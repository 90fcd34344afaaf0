from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.retrying import MAX_RETRY_AFTER_MS
from lunorash.scheduler.retry import DEFAULT_RETRY, MAX_DELAY_MS, MAX_HORIZON_MS, Backoff, RetryPolicy

_BACKOFFS: st.SearchStrategy[Backoff] = st.sampled_from(["exponential", "linear"])


@st.composite
def _policies(draw: st.DrawFn, *, jittery: bool = True) -> RetryPolicy:
    """Any policy whose waits add up to no more than they may."""
    retries = draw(st.integers(1, 1000))
    most = MAX_HORIZON_MS // retries
    base = draw(st.integers(1, most))
    return RetryPolicy(
        max_attempts=retries,
        backoff=draw(_BACKOFFS),
        base_ms=base,
        max_ms=draw(st.integers(base, most)),
        jitter=draw(st.floats(0, 1)) if jittery else 0.0,
    )


def _never() -> float:
    return 0.0


@given(_policies(), st.integers(1, 1000))
def test_waits_never_get_shorter_without_luck(policy: RetryPolicy, retry: int) -> None:
    assert policy.delay_ms(retry, random=_never) <= policy.delay_ms(retry + 1, random=_never)


@given(_policies(), st.integers(1, 1000), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_at_least_a_millisecond_and_at_most_the_cap(policy: RetryPolicy, retry: int, luck: float) -> None:
    wait = policy.delay_ms(retry, random=lambda: luck)
    assert type(wait) is int
    assert policy.max_ms
    assert 1 <= wait <= policy.max_ms


@given(_policies(), st.integers(1, 1000), st.integers(-(2**60), 2**60), st.floats(0, 1, exclude_max=True))
def test_what_is_asked_for_is_the_least_and_jitter_only_adds_to_it(
    policy: RetryPolicy, retry: int, asked: int, luck: float
) -> None:
    least = max(0, min(asked, MAX_RETRY_AFTER_MS))
    wait = policy.delay_after_ms(retry, asked, random=lambda: luck)
    own = policy.delay_ms(retry, random=lambda: luck)
    assert max(least, own) <= wait <= max(own, least * (1 + policy.jitter) + 1)
    assert policy.delay_after_ms(retry, None, random=lambda: luck) == own


@given(_policies(), st.integers(1, 1000), st.floats(0, 1, exclude_max=True))
def test_the_jitter_shortens_a_wait_by_no_more_than_its_share(policy: RetryPolicy, retry: int, luck: float) -> None:
    full = policy.delay_ms(retry, random=_never)
    jittered = policy.delay_ms(retry, random=lambda: luck)
    assert max(1.0, full * (1 - policy.jitter) - 1) <= jittered <= full


@given(_policies(jittery=False), st.integers(1, 1000), st.floats(0, 1, exclude_max=True))
def test_without_jitter_luck_changes_nothing(policy: RetryPolicy, retry: int, luck: float) -> None:
    assert policy.delay_ms(retry, random=lambda: luck) == policy.delay_ms(retry, random=_never)


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        ("exponential", [30_000, 60_000, 120_000, 240_000, 480_000, 960_000]),
        ("linear", [30_000, 60_000, 90_000, 120_000, 150_000, 180_000]),
    ],
)
def test_the_waits_of_both_backoffs(backoff: Backoff, waits: list[int]) -> None:
    policy = RetryPolicy(backoff=backoff)
    assert [policy.delay_ms(retry, random=_never) for retry in range(1, 7)] == waits


def test_the_default_is_five_retries_from_thirty_seconds_on() -> None:
    assert DEFAULT_RETRY.to_dict() == {
        "max_attempts": 5,
        "backoff": "exponential",
        "base_ms": 30_000,
        "max_ms": None,
        "jitter": 0.0,
    }


@pytest.mark.parametrize(
    ("policy", "days"),
    [
        ({"max_attempts": 1000}, "176,762"),
        ({"max_attempts": 40, "base_ms": 60_000}, "4,142"),
        ({"max_attempts": 1000, "backoff": "linear", "base_ms": 60_000}, "347"),
        ({"max_attempts": 2, "base_ms": MAX_DELAY_MS}, "360"),
    ],
)
def test_waits_that_add_up_to_more_than_180_days_are_refused(policy: dict[str, Any], days: str) -> None:
    """A shard remembers for a year that a job has had its effect: no retry of it may come later."""
    with pytest.raises(LunoraError) as raised:
        RetryPolicy(**policy)
    assert raised.value.code == "INVALID_INPUT"
    assert f"add up to {days}" in raised.value.message
    assert "Set max_ms" in raised.value.message


def test_waits_that_add_up_to_180_days_are_taken() -> None:
    RetryPolicy(max_attempts=1, base_ms=MAX_DELAY_MS)
    RetryPolicy(max_attempts=180, base_ms=1, max_ms=86_400_000)


def test_a_base_of_one_doubles_until_the_cap_exactly() -> None:
    policy = RetryPolicy(max_attempts=1000, base_ms=1, max_ms=1_000_000)
    waits = [policy.delay_ms(retry, random=_never) for retry in range(1, 60)]
    assert waits == [min(2**power, 1_000_000) for power in range(59)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", -1),
        ("max_attempts", 1001),
        ("max_attempts", True),
        ("max_attempts", 3.0),
        ("max_attempts", "3"),
        ("max_attempts", None),
        pytest.param("max_attempts", 10**5000, id="an integer of 5,001 digits"),
        pytest.param("base_ms", 0, id="R1: base 0"),
        pytest.param("base_ms", 0.0, id="R3: delay 0 as a number"),
        ("base_ms", -1),
        ("base_ms", True),
        ("base_ms", 0.5),
        ("base_ms", 1000.0),
        ("base_ms", float("nan")),
        ("base_ms", float("inf")),
        ("base_ms", None),
        ("base_ms", "1000"),
        ("base_ms", MAX_DELAY_MS + 1),
        ("max_ms", 0),
        ("max_ms", 29_999),
        ("max_ms", True),
        ("max_ms", 60_000.0),
        ("max_ms", MAX_DELAY_MS + 1),
        ("jitter", -0.1),
        ("jitter", 1.1),
        ("jitter", float("nan")),
        ("jitter", float("inf")),
        ("jitter", True),
        ("jitter", "0.5"),
        ("jitter", None),
        ("backoff", "quadratic"),
        ("backoff", "Exponential"),
        ("backoff", ""),
        ("backoff", None),
        ("backoff", 1),
        ("backoff", ["linear"]),
    ],
)
def test_a_bad_policy_is_refused_by_the_name_of_its_field(field: str, value: Any) -> None:
    with pytest.raises(LunoraError, match=rf"retry\.{field} is ") as raised:
        RetryPolicy.from_dict({field: value})
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 300


def test_a_cap_below_the_base_is_refused() -> None:
    with pytest.raises(LunoraError, match=r"retry\.max_ms is 999; it must be a whole number from 1,000 to"):
        RetryPolicy(base_ms=1_000, max_ms=999)
    assert RetryPolicy(base_ms=1_000, max_ms=1_000).delay_ms(9, random=_never) == 1_000


@pytest.mark.parametrize("field", ["maxAttempts", "baseMs", "attempts", "", "delay_ms"])
def test_a_field_that_does_not_exist_is_refused_and_never_dropped_in_silence(field: str) -> None:
    with pytest.raises(LunoraError, match="retry has no field") as raised:
        RetryPolicy.from_dict({field: 1})
    assert raised.value.code == "INVALID_INPUT"
    assert "max_attempts" in raised.value.message


@given(_policies())
def test_a_policy_survives_its_storage(policy: RetryPolicy) -> None:
    assert RetryPolicy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
