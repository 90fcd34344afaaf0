from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError, SharedError
from lunorash.retrying import MAX_RETRY_AFTER_MS, NonRetryableError, RetryAfter, raise_for_retry

_NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
_DAY_MS = 86_400_000


def _response(retry_after: str | None, status: int = 429) -> Any:
    headers = Message()
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    return SimpleNamespace(status=status, headers=headers)


def _asked(retry_after: str | None) -> int | None:
    return RetryAfter.from_response(_response(retry_after), now=lambda: _NOW).retry_after_ms


def test_an_error_is_tried_again_unless_it_says_otherwise() -> None:
    assert (LunoraError("X", "y").retryable, RetryAfter(1).retryable, NonRetryableError("no").retryable) == (
        True,
        True,
        False,
    )
    assert LunoraError("X", "y").retry_after_ms is None
    assert SharedError.of(LunoraError("X", "y")).retryable


def test_both_carry_a_code_of_ones_own() -> None:
    assert NonRetryableError("no").code == "NON_RETRYABLE"
    stolen = NonRetryableError("no", code="CARD_STOLEN", data={"card": 4})
    assert stolen.to_dict() == {"code": "CARD_STOLEN", "message": "no", "data": {"card": 4}}
    assert RetryAfter(1, "busy", code="BUSY").to_dict() == {"code": "BUSY", "message": "busy"}


@pytest.mark.parametrize(
    ("delay", "milliseconds"),
    [
        (0, 0),
        (1, 1_000),
        (0.0001, 1),
        (90.5, 90_500),
        (timedelta(minutes=2), 120_000),
        (86_400, _DAY_MS),
        (86_401, _DAY_MS),
        (1e300, _DAY_MS),
        (10**4_000, _DAY_MS),
        (timedelta.max, _DAY_MS),
    ],
)
def test_a_delay_is_seconds_or_a_timedelta_of_at_most_a_day(delay: Any, milliseconds: int) -> None:
    assert RetryAfter(delay).retry_after_ms == milliseconds


@pytest.mark.parametrize("delay", [-1, -0.1, float("nan"), float("inf"), True, "60", None, timedelta(seconds=-1), []])
def test_a_delay_that_cannot_be_is_refused(delay: Any) -> None:
    with pytest.raises(LunoraError, match="0 or more seconds") as raised:
        RetryAfter(delay)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("header", "milliseconds"),
    [
        ("120", 120_000),
        (" 120 ", 120_000),
        ("0", 0),
        ("999999999999", _DAY_MS),
        (format_datetime(_NOW + timedelta(minutes=5), usegmt=True), 300_000),
        ("Tue, 01 Dec 2026 12:00:10 +0000", 10_000),
        ("Tue, 01 Dec 2026 12:00:10", 10_000),
        ("Tue, 01 Dec 2026 11:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", _DAY_MS),
        # what says nothing is left to the policy
        (None, 0),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("1.5", 0),
        ("1e3", 0),
        ("\u0661\u0662", 0),
        ("Tue, 99 Dec 2026 12:00:10 GMT", 0),
        ("0" * 100_000, 0),
        ("x" * 100_000, 0),
    ],
)
def test_what_an_upstream_asks_for_is_understood_or_passed_over(header: str | None, milliseconds: int) -> None:
    assert _asked(header) == milliseconds


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60))
def test_no_header_breaks_it(header: str) -> None:
    response = SimpleNamespace(status=429, headers={"retry-after": header})
    asked = RetryAfter.from_response(response, now=lambda: _NOW).retry_after_ms
    assert asked is not None
    assert 0 <= asked <= MAX_RETRY_AFTER_MS


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("name", ["retry-after", "Retry-After"])
def test_a_busy_upstream_is_passed_on_in_one_line(status: int, name: str) -> None:
    for response in (
        httpx.Response(status, headers={name: "7"}),
        SimpleNamespace(status=status, headers={name: "7"}),
        _response("7", status),
    ):
        with pytest.raises(RetryAfter, match=f"answered {status} and asks to wait 7 s") as raised:
            raise_for_retry(response)
        assert raised.value.retry_after_ms == 7_000


def test_a_busy_upstream_that_does_not_say_for_how_long_is_left_to_the_policy() -> None:
    with pytest.raises(RetryAfter, match="does not say for how long") as raised:
        raise_for_retry(httpx.Response(503))
    assert raised.value.retry_after_ms == 0


@pytest.mark.parametrize("status", [200, 301, 404, 500, 502])
def test_any_other_answer_is_left_alone(status: int) -> None:
    raise_for_retry(httpx.Response(status, headers={"retry-after": "7"}))


@pytest.mark.parametrize("response", [None, 5, object(), SimpleNamespace(status="429"), SimpleNamespace(headers=None)])
def test_what_is_no_answer_is_left_alone(response: object) -> None:
    raise_for_retry(response)
