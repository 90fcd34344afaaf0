from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.contexts import Auth, Job
from lunorash.scheduler.calls import make_job
from lunorash.scheduler.ids import mint_span
from lunorash.shard.calls import ShardCall
from lunorash.traceparent import (
    child_of,
    current_traceparent,
    read_traceparent,
    trace_id_of,
    tracing,
    with_traceparent,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "00",
        TRACEPARENT.upper(),
        f"{TRACEPARENT} ",
        f"{TRACEPARENT}\n",
        f"{TRACEPARENT}-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE[:-1]}\u0663-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01-{'x' * 600}",
        f"{TRACEPARENT}, {TRACEPARENT}",
    ],
)
def test_what_is_no_traceparent_is_ignored(text: Any) -> None:
    assert read_traceparent(text) is None


@pytest.mark.parametrize("text", [TRACEPARENT, f"01-{TRACE}-{SPAN}-01", f"cc-{TRACE}-{SPAN}-01-what-the-future-brings"])
def test_a_traceparent_is_read_and_a_newer_one_as_far_as_it_is_known(text: str) -> None:
    assert read_traceparent(text) == TRACEPARENT


@given(st.text(max_size=80) | st.from_regex(r"\A[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z"))
def test_what_is_let_through_is_valid_and_so_are_its_children(text: str) -> None:
    traceparent = read_traceparent(text)
    if traceparent is not None:
        child = child_of(traceparent, mint_span())
        assert child is not None
        assert read_traceparent(child) == child
        assert trace_id_of(child) == trace_id_of(traceparent) == text[3:35]
        assert child[-2:] == traceparent[-2:], "whether it is sampled is for whoever began it to say"
        assert child[36:52] != traceparent[36:52]


def test_a_span_is_never_all_zeros() -> None:
    assert mint_span(bytes) == "0000000000000001"


def _job() -> dict[str, Any]:
    return make_job("m:f", None, None, due=0, mint=lambda: "i", catalog=None)


async def test_each_task_has_its_own() -> None:
    async def serve(traceparent: str | None) -> list[Any]:
        with tracing(traceparent):
            await asyncio.sleep(0)
            return [_job().get("traceparent"), current_traceparent()]

    other = f"00-{'1' * 32}-{SPAN}-00"
    found = await asyncio.gather(*(serve(traceparent) for traceparent in (TRACEPARENT, None, other)))
    assert found == [[TRACEPARENT] * 2, [None] * 2, [other] * 2]
    assert current_traceparent() is None


def test_a_job_that_is_not_traced_travels_as_it_did_before_there_were_traces() -> None:
    assert "traceparent" not in _job()
    with tracing(TRACEPARENT):
        assert _job()["traceparent"] == TRACEPARENT


def test_a_shard_of_the_release_before_reads_a_call_and_this_one_reads_its() -> None:
    job = Job(id="j", incarnation="i", attempt=1, scheduled_for=0, traceparent=TRACEPARENT)
    call = ShardCall(path="m:f", args="{}", auth=Auth(), job=job, traceparent=TRACEPARENT)
    fields = call._to_dict()
    assert set(fields["job"]) == {"id", "incarnation", "attempt", "scheduled_for"}
    assert ShardCall.from_text(call.to_text()) == call
    del fields["traceparent"]
    assert ShardCall._from_dict(fields).traceparent is None


class _Headers:
    """As JavaScript has them: an iterable of pairs, and no mapping."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self._pairs = pairs

    def __iter__(self) -> Any:
        return iter(self._pairs)


class _Request:
    def __init__(self, **headers: str) -> None:
        self.headers = headers


@pytest.mark.parametrize(
    ("resource", "options", "headers"),
    [
        ("https://a.example", {}, [("traceparent", TRACEPARENT)]),
        ("https://a.example", {"headers": {"X-A": "1"}}, [("X-A", "1"), ("traceparent", TRACEPARENT)]),
        ("https://a.example", {"headers": [("x-a", "1")]}, [("x-a", "1"), ("traceparent", TRACEPARENT)]),
        ("https://a.example", {"headers": _Headers(("x-a", "1"))}, [("x-a", "1"), ("traceparent", TRACEPARENT)]),
        ("https://a.example", {"headers": {"TraceParent": "mine"}}, [("TraceParent", "mine")]),
        (_Request(accept="text/csv"), {}, [("accept", "text/csv"), ("traceparent", TRACEPARENT)]),
        (_Request(traceparent="mine"), {}, [("traceparent", "mine")]),
        (_Request(accept="text/csv"), {"headers": {"x-a": "1"}}, [("x-a", "1"), ("traceparent", TRACEPARENT)]),
    ],
)
def test_a_request_gets_the_header_unless_its_maker_has_set_it(
    resource: Any, options: dict[str, Any], headers: list[tuple[str, str]]
) -> None:
    given_before = dict(options)
    assert with_traceparent(TRACEPARENT, resource, {**options, "method": "PUT"}) == {
        "method": "PUT",
        "headers": headers,
    }
    assert options == given_before
