from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from lunorash.codec import MAX_ARGS_BYTES, MAX_BODY_BYTES, encode_args
from lunorash.errors import LunoraError
from lunorash.incident import MAX_TRACE
from lunorash.scheduler import protocol
from lunorash.scheduler.job import Attempt, Dispatch, Outcome, Result
from lunorash.scheduler.protocol import (
    END,
    HEARTBEAT,
    VERSION,
    End,
    Heartbeat,
    Results,
    encode_dispatch,
    encode_results,
    read_dispatch,
    read_line,
    split_lines,
)

_ATTEMPT = Attempt(
    job="j1",
    incarnation="i1",
    number=3,
    charged=2,
    max_attempts=5,
    redrives=1,
    target="billing:end_trial",
    args='{"user":"Zoë 🎉","n":12345678901234567890,"x":1.0}',
    scheduled_for=1_800_000_000_000,
    timeout_ms=600_000,
    shard_key="tenant/42 ✓",
)


def _attempt(args: str = "{}", shard_key: str | None = None, job: str = "j1") -> Attempt:
    return Attempt(
        job=job,
        incarnation="i1",
        number=1,
        charged=1,
        max_attempts=5,
        redrives=0,
        target="m:f",
        args=args,
        scheduled_for=0,
        timeout_ms=1,
        shard_key=shard_key,
    )


def _encode(*attempts: Attempt) -> bytes:
    return encode_dispatch(Dispatch(id="d1", attempts=attempts), audience="https://app.example.com", instance="abc")


# -- dispatches ----------------------------------------------------------------------------------------------


def test_a_dispatch_arrives_as_it_was_sent() -> None:
    dispatch = read_dispatch(_encode(_ATTEMPT))
    assert (dispatch.version, dispatch.audience, dispatch.instance) == (1, "https://app.example.com", "abc")
    assert [attempt.model_dump() for attempt in dispatch.attempts] == [
        {
            "job": "j1",
            "incarnation": "i1",
            "number": 3,
            "target": "billing:end_trial",
            "args": {"user": "Zoë 🎉", "n": 12345678901234567890, "x": 1.0},
            "scheduled_for": 1_800_000_000_000,
            "timeout_ms": 600_000,
            "shard_key": "tenant/42 ✓",
            "redrives": 1,
            "wants_result": False,
            "traceparent": None,
        }
    ]
    assert type(dispatch.attempts[0].args["x"]) is float


def test_only_an_attempt_that_wants_its_result_says_so() -> None:
    wanting = replace(_ATTEMPT, wants_result=True)
    assert [attempt.wants_result for attempt in read_dispatch(_encode(wanting, _ATTEMPT)).attempts] == [True, False]
    assert b"wants_result" not in _encode(_ATTEMPT)


def test_a_probe_carries_no_attempts() -> None:
    assert read_dispatch(_encode()).attempts == []


def test_several_attempts_travel_in_their_order() -> None:
    dispatch = read_dispatch(_encode(_attempt(job="b"), _attempt(job="a"), _attempt(job="c")))
    assert [attempt.job for attempt in dispatch.attempts] == ["b", "a", "c"]


def test_the_deepest_and_the_largest_arguments_travel() -> None:
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    assert read_dispatch(_encode(_attempt(encode_args({"a": deep})))).attempts[0].args == {"a": deep}
    large = encode_args({"a": "x" * (MAX_ARGS_BYTES - len('{"a":""}'))})
    body = _encode(_attempt(large, shard_key="🎉" * 256))
    assert len(body) <= MAX_BODY_BYTES
    assert read_dispatch(body).attempts[0].shard_key == "🎉" * 256


@given(st.dictionaries(st.text('ab"\\{}[]é🎉\n', max_size=5), st.text('ab"\\{}[]é🎉\n\x00', max_size=10), max_size=4))
def test_arguments_never_break_out_of_their_place(args: dict[str, str]) -> None:
    dispatch = read_dispatch(_encode(_attempt(encode_args(args)), _attempt(job="next")))
    assert dispatch.attempts[0].args == args
    assert dispatch.attempts[1].job == "next"


def _body(**changes: Any) -> bytes:
    body = {**json.loads(_encode(_ATTEMPT)), **changes}
    return json.dumps({key: value for key, value in body.items() if value is not ...}).encode()


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_version_is_refused_by_both_numbers(version: int) -> None:
    with pytest.raises(LunoraError, match=f"protocol version {version}; this Worker speaks {VERSION}") as raised:
        read_dispatch(_body(version=version))
    assert raised.value.code == "BAD_REQUEST"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"\xff",
        b"[" * 8_000,
        b"[" * 200_000,
        _body(version="1"),
        _body(version=1.5),
        _body(version=True),
        _body(version=...),
        _body(audience=None),
        _body(audience=...),
        _body(instance=5),
        _body(attempts=...),
        _body(attempts={}),
        _body(attempts=[{}]),
        _body(attempts=["x"]),
        _body(attempts=[{**json.loads(_encode(_ATTEMPT))["attempts"][0], "args": []}]),
        _body(attempts=[{**json.loads(_encode(_ATTEMPT))["attempts"][0], "number": "3"}]),
        _body(attempts=[{**json.loads(_encode(_ATTEMPT))["attempts"][0], "timeout_ms": 1e9}]),
        _body(attempts=[{**json.loads(_encode(_ATTEMPT))["attempts"][0], "job": None}]),
    ],
    ids=lambda body: body[:40].decode("ascii", "replace"),
)
def test_a_body_that_is_no_dispatch_is_refused(body: bytes) -> None:
    with pytest.raises(LunoraError) as raised:
        read_dispatch(body)
    assert raised.value.code == "BAD_REQUEST"
    assert len(raised.value.message) < 300


def test_a_refusal_names_the_place_and_never_the_value() -> None:
    attempt = {**json.loads(_encode(_ATTEMPT))["attempts"][0], "number": "hunter2"}
    with pytest.raises(LunoraError, match=r"attempts\.0\.number") as raised:
        read_dispatch(_body(attempts=[attempt]))
    assert "hunter2" not in str(raised.value)


def test_a_field_of_a_newer_sender_is_passed_over() -> None:
    assert read_dispatch(_body(later="x")).instance == "abc"


# -- lines ---------------------------------------------------------------------------------------------------


def _read(*results: Result) -> list[Result]:
    *lines, end = encode_results(results).decode().split("\n")
    assert end == ""
    assert all(len(line) < protocol.MAX_LINE for line in lines)
    read = [read_line(line) for line in lines]
    return [result for line in read if isinstance(line, Results) for result in line.as_results()]


def test_heartbeat_and_end_are_lines() -> None:
    assert isinstance(read_line(HEARTBEAT.decode()), Heartbeat)
    assert isinstance(read_line(END.decode()), End)
    assert HEARTBEAT.endswith(b"\n")
    assert END.endswith(b"\n")


_IDS = st.text("abcXYZ019_-", min_size=1, max_size=64)
_TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
_RESULTS = st.builds(
    Result, job=_IDS, attempt=st.integers(1, 2**53), outcome=st.just("ok"), result=_TEXTS, result_omitted=st.booleans()
) | st.builds(
    Result,
    job=_IDS,
    attempt=st.integers(1, 2**53),
    outcome=st.sampled_from(["failed", "unavailable"]),
    retryable=st.booleans(),
    shared=st.booleans(),
    code=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    message=_TEXTS,
    retry_after_ms=st.none() | st.integers(0, 2**53),
    traceback=_TEXTS,
)


@given(st.lists(_RESULTS, max_size=5))
def test_results_arrive_as_they_were_sent(results: list[Result]) -> None:
    assert _read(*results) == results


def test_what_is_too_much_for_a_line_comes_in_several() -> None:
    large = json.dumps("\x00🎉" * 3_000)
    results = [
        *(Result(job=f"j{number}", attempt=1, outcome="ok", result=large) for number in range(50)),
        *(Result(job=f"f{number}", attempt=1, outcome="failed", message="🎉" * 2_000) for number in range(50)),
    ]
    assert encode_results(results).count(b"\n") > 1
    assert _read(*results) == results
    assert encode_results(results[:1]).count(b"\n") == 1


def test_a_line_of_the_release_before_is_understood() -> None:
    """A deploy in progress: the receiver knows nothing of results, of waits, or of tracebacks."""
    line = read_line(
        '{"type":"results","results":[{"job":"a","attempt":1,"outcome":"ok","retryable":true,"shared":false,'
        '"code":null,"message":null},{"job":"b","attempt":2,"outcome":"failed","retryable":true,"shared":true,'
        '"code":"X","message":"y"}]}'
    )
    assert isinstance(line, Results)
    assert line.as_results() == [
        Result(job="a", attempt=1, outcome="ok"),
        Result(job="b", attempt=2, outcome="failed", shared=True, code="X", message="y"),
    ]


def test_the_release_before_understands_a_line() -> None:
    """The other way round: it reads these fields, strictly, and passes over the others."""

    class Before(BaseModel):
        model_config = ConfigDict(strict=True)

        job: str
        attempt: int
        outcome: Literal["ok", "failed", "unavailable"]
        retryable: bool = True
        shared: bool = False
        code: str | None = None
        message: str | None = None

    text = encode_results(
        [
            Result(job="a", attempt=1, outcome="ok", result="{}"),
            Result(job="b", attempt=1, outcome="failed", code="X", retryable=False, retry_after_ms=5, traceback="t"),
        ]
    )
    read = [Before.model_validate(each) for each in json.loads(text)["results"]]
    assert [(each.job, each.outcome, each.retryable) for each in read] == [("a", "ok", True), ("b", "failed", False)]


def test_texts_that_the_sender_has_not_cut_are_cut_when_they_are_read() -> None:
    text = "x" * 300_000
    line = json.dumps(
        {
            "type": "results",
            "results": [
                {"job": "j", "attempt": 1, "outcome": "failed", "code": text, "message": text, "traceback": text}
            ],
        }
    )
    read = read_line(line)
    assert isinstance(read, Results)
    (result,) = read.as_results()
    assert [len(each or "") for each in (result.code, result.message, result.traceback)] == [100, 2_000, MAX_TRACE]


def test_a_traceback_is_cut_to_a_bearable_length() -> None:
    failed = Result(job="j", attempt=1, outcome="failed", traceback="x" * 3_000_000)
    assert _read(failed)[0].traceback == "x" * MAX_TRACE


def _failed(code: Any, message: Any) -> Result:
    return Result(job="j", attempt=1, outcome="failed", code=code, message=message)


def test_what_an_app_put_into_its_error_is_cut_to_a_bearable_length() -> None:
    read = _read(_failed("X" * 3_000_000, "y" * 3_000_000))[0]
    assert read.code is not None
    assert read.message is not None
    assert read.code == "X" * len(read.code)
    assert 0 < len(read.code) <= 200
    assert read.message == "y" * protocol.MAX_MESSAGE


def test_half_a_surrogate_pair_in_an_error_does_not_spoil_the_line() -> None:
    read = _read(_failed("BO\udc80OM", "file \udcff.txt"), Result(job="neighbour", attempt=1, outcome="ok"))
    assert [result.outcome for result in read] == ["failed", "ok"]
    assert read[0].message is not None
    assert read[0].message.startswith("file ")
    read[0].message.encode()


def test_a_cut_between_the_halves_of_a_character_leaves_text() -> None:
    read = _read(_failed("X", "🎉" * protocol.MAX_MESSAGE))[0]
    assert read.message == "🎉" * protocol.MAX_MESSAGE


@pytest.mark.parametrize(("code", "message"), [("X", ValueError("no text")), (5, "x"), (None, None), ("X", {"a": 1})])
def test_what_is_no_text_at_all_does_not_spoil_the_line(code: Any, message: Any) -> None:
    assert _read(_failed(code, message))[0].outcome == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "null",
        "<html>",
        '{"type":"heartbeat"',
        '{"type":"unknown"}',
        '{"type":null}',
        '{"type":"results"}',
        '{"type":"results","results":{}}',
        '{"type":"results","results":[{"job":"j","attempt":1}]}',
        '{"type":"results","results":[{"job":"j","attempt":1,"outcome":"perhaps"}]}',
        '{"type":"results","results":[{"job":"j","attempt":"1","outcome":"ok"}]}',
        '{"type":"results","results":[{"job":1,"attempt":1,"outcome":"ok"}]}',
        '{"type":"results","results":[{"job":"j","attempt":1,"outcome":"failed","retryable":0}]}',
        "[" * 8_000,
    ],
)
def test_a_line_that_is_part_of_no_answer_is_refused(line: str) -> None:
    with pytest.raises(LunoraError) as raised:
        read_line(line)
    assert raised.value.code == "BAD_REQUEST"
    assert len(raised.value.message) < 300


@given(st.text(max_size=100))
def test_whatever_a_line_says_it_is_read_or_refused(line: str) -> None:
    with pytest.raises(LunoraError, match=r"^BAD_REQUEST: the line "):
        read_line(line)


@given(st.sampled_from(["ok", "failed", "unavailable"]), st.booleans())
def test_a_result_may_leave_out_what_is_not_needed(outcome: Outcome, retryable: bool) -> None:
    line = json.dumps(
        {"type": "results", "results": [{"job": "j", "attempt": 1, "outcome": outcome, "retryable": retryable}]}
    )
    read = read_line(line)
    assert isinstance(read, Results)
    assert read.as_results() == [Result(job="j", attempt=1, outcome=outcome, retryable=retryable)]


# -- cutting a stream into lines -----------------------------------------------------------------------------


async def _stream(chunks: Iterable[str]) -> AsyncGenerator[str]:
    for chunk in chunks:
        yield chunk


def _split(chunks: Iterable[str]) -> tuple[list[str], str | None]:
    """The lines of a stream, and the code of the error it ended with."""

    async def collect() -> tuple[list[str], str | None]:
        lines: list[str] = []
        try:
            async for some in split_lines(_stream(chunks)):
                lines += some
        except LunoraError as error:
            return lines, error.code
        return lines, None

    return asyncio.run(collect())


def _chunks(text: str, cuts: Iterable[int]) -> list[str]:
    places = [0, *sorted(cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


@st.composite
def _chunked(draw: st.DrawFn, text: st.SearchStrategy[str]) -> tuple[str, list[str]]:
    whole = draw(text)
    return whole, _chunks(whole, draw(st.lists(st.integers(0, len(whole)), max_size=8)))


@given(_chunked(st.text("ab\n🎉", max_size=40)))
def test_lines_are_the_same_however_the_stream_is_cut(chunked: tuple[str, list[str]]) -> None:
    text, chunks = chunked
    assert _split(chunks) == (text.split("\n")[:-1], None)


def test_what_follows_the_last_line_break_was_cut_and_is_dropped() -> None:
    assert _split(['{"type":"heart', 'beat"}\n{"type":"en', 'd"}']) == (['{"type":"heartbeat"}'], None)
    assert _split([]) == ([], None)
    assert _split(["no line break"]) == ([], None)


@given(_chunked(st.text("ab\n", max_size=60)))
def test_an_over_long_line_is_refused_however_the_stream_is_cut(chunked: tuple[str, list[str]]) -> None:
    """The lines before it have come, and count."""
    text, chunks = chunked
    limit = 10
    good: list[str] = []
    refused = None
    for line in text.split("\n"):
        if len(line) > limit:
            refused = "BAD_REQUEST"
            break
        good.append(line)
    if refused is None:
        good = good[:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "MAX_LINE", limit)
        assert _split(chunks) == (good, refused)


def test_the_longest_line_a_receiver_writes_is_no_longer_than_the_longest_that_is_read() -> None:
    results = [_failed("C" * 10_000, "\u0001" * 10_000) for _ in range(50)]
    assert len(encode_results(results)) <= protocol.MAX_LINE


def test_an_end_line_with_blanks_is_one() -> None:
    assert isinstance(read_line('{"type": "end"}\n'), End)


def test_a_garbled_line_whose_last_type_is_end_is_none() -> None:
    """A simulated receiver wrote it: attempts that still ran were given up, and overlapped with the next ones."""
    with pytest.raises(LunoraError, match="its end line is written in one way"):
        read_line('{"type": "heartbeat", "type": "end"}')
