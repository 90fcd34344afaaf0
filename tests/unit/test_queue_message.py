from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.codec import encode_args
from lunorash.errors import LunoraError
from lunorash.scheduler.queue_message import MAX_MESSAGE_BYTES, encode_message, read_message

SECRET = "sesame"

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    args=st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), _JSON, max_size=4),
    shard_key=st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=10),
    due=st.integers(0, 10**15),
)
def test_a_message_is_read_as_it_was_written(args: dict[str, Any], shard_key: str | None, due: int) -> None:
    text = encode_message(target="m:f", args=encode_args(args), due=due, shard_key=shard_key)
    message = read_message(text)
    assert (message.target, message.due, message.shard_key) == ("m:f", due, shard_key)
    assert json.dumps(message.args) == json.dumps(args), "1.0 stays a float, and integers keep their digits"


def _sized(size: int) -> str:
    empty = len(encode_message(target="m:f", args='{"a":""}', due=0, shard_key=None))
    return encode_message(target="m:f", args=f'{{"a":"{"x" * (size - empty)}"}}', due=0, shard_key=None)


def test_the_largest_message_is_let_through_and_one_byte_more_is_not() -> None:
    assert len(_sized(MAX_MESSAGE_BYTES)) == MAX_MESSAGE_BYTES == 127_900
    with pytest.raises(LunoraError, match=r"PAYLOAD_TOO_LARGE.*'m:f' takes 127,901 bytes; a queue takes 127,900"):
        _sized(MAX_MESSAGE_BYTES + 1)


def test_bytes_are_counted_and_not_characters() -> None:
    with pytest.raises(LunoraError, match="PAYLOAD_TOO_LARGE"):
        encode_message(target="m:f", args=f'{{"a":"{"é" * 64_000}"}}', due=0, shard_key=None)


GOOD: dict[str, Any] = {"version": 1, "target": "m:f", "args": {}, "due": 0, "shard_key": None}


def test_what_a_later_version_adds_is_ignored_and_what_may_be_missing_may() -> None:
    assert read_message(json.dumps({**GOOD, "traceparent": "00-1"})) == read_message(json.dumps(GOOD))
    assert read_message(json.dumps({k: v for k, v in GOOD.items() if k != "shard_key"})).shard_key is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, "its body is not text"),
        ({**GOOD}, "its body is not text"),
        (b"{}", "its body is not text"),
        (f"no {SECRET}", "its body is not JSON that we read"),
        ("[" * 8_000, "its body is not JSON that we read"),
        ('{"version": 1, "args": {"a": NaN}}', "its body is not JSON that we read"),
        ("[" * 100 + "]" * 100, "its body is not JSON that we read"),
        ("7", "its body is not one of ours: look at the whole"),
        (f'["{SECRET}"]', "its body is not one of ours: look at the whole"),
        (json.dumps({"hello": SECRET}), "its body is not one of ours: look at version"),
        (json.dumps({**GOOD, "version": SECRET}), "its body is not one of ours: look at version"),
        (json.dumps({**GOOD, "version": True}), "its body is not one of ours: look at version"),
        (json.dumps({**GOOD, "version": 2, "args": SECRET}), "it is of version 2; this Worker speaks 1"),
        (json.dumps({**GOOD, "version": 0}), "it is of version 0; this Worker speaks 1"),
        (json.dumps({**GOOD, "args": [SECRET]}), "its body is not one of ours: look at args"),
        (json.dumps({**GOOD, "due": SECRET, "target": 7}), "its body is not one of ours: look at due, target"),
        (json.dumps({**GOOD, "shard_key": 7}), "its body is not one of ours: look at shard_key"),
        (json.dumps({"version": 1}), "its body is not one of ours: look at args, due, target"),
    ],
)
def test_what_is_none_of_ours_is_refused_without_repeating_it(body: object, why: str) -> None:
    with pytest.raises(LunoraError) as raised:
        read_message(body)
    assert (raised.value.code, raised.value.message) == ("BAD_REQUEST", why)
    assert raised.value.__cause__ is None


@given(st.text() | st.binary() | _JSON.map(json.dumps))
def test_nothing_else_is_ever_raised(body: object) -> None:
    try:
        read_message(body)
    except LunoraError as error:
        assert error.code == "BAD_REQUEST"  # noqa: PT017
