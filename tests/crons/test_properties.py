"""Next and previous fires against a walker that looks at every minute, and the canonical text."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.crons.english import explain
from lunorash.crons.expression import MAX_LENGTH, CronExpression
from lunorash.errors import LunoraError
from tests.crons.expressions import expressions
from tests.crons.walker import walk

_HORIZON = 800  # days that the walker looks at
_instants = st.datetimes(datetime(1990, 1, 1), datetime(2110, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@settings(max_examples=120, deadline=None)
@given(expressions(), _instants)
def test_the_next_fires_are_those_a_walk_through_every_minute_meets(text: str, instant: datetime) -> None:
    expression = CronExpression.parse(text)
    begin = instant.replace(second=0, microsecond=0) + timedelta(minutes=1)
    walked = list(islice(walk(text, begin, days=_HORIZON), 4))
    found = list(islice(expression.fires_after(instant), 4))
    assert found[: len(walked)] == walked
    assert len(walked) == 4 or all(fire >= begin + timedelta(days=_HORIZON - 1) for fire in found[len(walked) :])
    assert expression.next_after(instant) == (found[0] if found else None)


@settings(max_examples=80, deadline=None)
@given(expressions(), _instants)
def test_the_previous_fires_are_those_a_walk_backwards_meets(text: str, instant: datetime) -> None:
    expression = CronExpression.parse(text)
    begin = (instant - timedelta(microseconds=1)).replace(second=0, microsecond=0)
    walked = list(islice(walk(text, begin, days=_HORIZON, backward=True), 4))
    found = list(islice(expression.fires_before(instant), 4))
    assert found[: len(walked)] == walked
    assert len(walked) == 4 or all(fire <= begin - timedelta(days=_HORIZON - 1) for fire in found[len(walked) :])
    assert expression.previous_before(instant) == (found[0] if found else None)


@settings(max_examples=80, deadline=None)
@given(expressions(), _instants)
def test_what_we_write_reads_as_the_same(text: str, instant: datetime) -> None:
    expression = CronExpression.parse(text)
    again = CronExpression.parse(expression.normalized)
    assert again == expression
    assert again.normalized == expression.normalized
    assert len(expression.normalized) <= MAX_LENGTH
    assert list(islice(again.fires_after(instant), 3)) == list(islice(expression.fires_after(instant), 3))
    assert not any("field is" in notice for notice in again.notices)


@settings(max_examples=80, deadline=None)
@given(expressions(), _instants)
def test_after_and_before_undo_each_other(text: str, instant: datetime) -> None:
    expression = CronExpression.parse(text)
    following = expression.next_after(instant)
    assert (following is None) == expression.never_fires
    if following is None:
        assert expression.previous_before(instant) is None
        assert explain(expression) == "Never"
        return
    previous = expression.previous_before(following)
    assert previous is not None
    assert previous <= instant < following
    assert expression.next_after(previous) == following
    assert "UTC" in explain(expression) or explain(expression).startswith(("Every", "At minutes"))


@settings(max_examples=200, deadline=None)
@given(st.text("0123456789*,-/LW#?@ SUNMONjan\t\n٣", max_size=24))
def test_no_text_is_met_with_anything_but_an_answer_or_a_refusal(text: str) -> None:
    with suppress(LunoraError):
        assert CronExpression.parse(text).normalized


def test_the_longest_canonical_text_can_be_read_again() -> None:
    """Values in pairs are what the canonical text saves least on."""
    sizes = ((0, 60), (0, 24), (1, 32), (1, 13))
    fields = [",".join(str(value) for value in range(low, high) if value % 3) for low, high in sizes]
    text = f"{' '.join(fields)} *"
    assert CronExpression.parse(text).normalized == text
    assert 200 < len(text) <= MAX_LENGTH
