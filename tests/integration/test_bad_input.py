"""Whatever is sent, to whatever route: a clear refusal, nothing stored, and the process lives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.client import ADMIN, TOKEN, Client

POSTS = [
    "/test/schedule",
    f"{ADMIN}/cancel",
    f"{ADMIN}/dead/retry",
    f"{ADMIN}/dead/cancel",
    "/_lunora/scheduler/dispatch",
]
NOTE = "probes:note"


@pytest.fixture(autouse=True)
def nothing_is_stored(shared: Client) -> Any:
    before = shared.status()["backlog"]
    yield
    assert shared.status()["backlog"] == before


@pytest.mark.parametrize("path", [*POSTS, "/", "/nowhere", "/_lunora/health"])
@pytest.mark.parametrize("body", [b"[" * 8_000 + b"]" * 8_000, b'{"a":' * 8_000, b"\xff\xfe", b"", b"null", b"NaN"])
def test_hostile_bodies_are_refused_and_the_process_survives(shared: Client, path: str, body: bytes) -> None:
    answer = shared.http.post(shared.worker.url + path, content=body)
    assert 400 <= answer.status_code < 500
    assert set(answer.json()["error"]) == {"code", "message"}
    assert shared.call("GET", "/_lunora/health").json() == {"ok": True}


def test_a_body_over_the_limit_is_refused(shared: Client) -> None:
    answer = shared.http.post(shared.worker.url + "/test/schedule", content=b" " * (1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "1,048,576" in answer.json()["error"]["message"]


def test_a_body_over_the_limit_that_hides_its_length_is_refused(shared: Client) -> None:
    answer = shared.http.post(shared.worker.url + "/test/schedule", content=iter([b" " * 100_000] * 11))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth - 1):
        value = [value]
    return {"value": value}


@pytest.mark.parametrize(
    ("fields", "code", "hint"),
    [
        ({"delay_ms": -1}, "INVALID_INPUT", "-1"),
        ({"delay_ms": "soon"}, "INVALID_INPUT", "str"),
        ({"delay_ms": True}, "INVALID_INPUT", "bool"),
        ({"delay_ms": 1e300}, "INVALID_INPUT", "too far"),
        ({"at_ms": 999_999_999_999_999 + 1}, "INVALID_INPUT", "too far"),
        ({"at_ms": None}, "INVALID_INPUT", "NoneType"),
        ({"id": ""}, "INVALID_SCHEDULE_ID", "1 to 64"),
        ({"id": "-a"}, "INVALID_SCHEDULE_ID", "does not start with"),
        ({"id": "a" * 65}, "INVALID_SCHEDULE_ID", "1 to 64"),
        ({"id": "a b"}, "INVALID_SCHEDULE_ID", "'a b'"),
        ({"id": 7}, "INVALID_SCHEDULE_ID", "7"),
        ({"retry": {"base_ms": 0}}, "INVALID_INPUT", "base_ms"),
        ({"retry": {"base_ms": -5}}, "INVALID_INPUT", "base_ms"),
        ({"retry": {"base_ms": 1.5}}, "INVALID_INPUT", "base_ms"),
        ({"retry": {"max_attempts": 0}}, "INVALID_INPUT", "max_attempts"),
        ({"retry": {"jitter": 2}}, "INVALID_INPUT", "jitter"),
        ({"retry": {"backoff": "random"}}, "INVALID_INPUT", "backoff"),
        ({"retry": {"tries": 3}}, "INVALID_INPUT", "tries"),
        ({"retry": 3}, "INVALID_INPUT", "retry"),
        ({"timeout_ms": 0}, "INVALID_INPUT", "timeout"),
        ({"shard_key": ""}, "INVALID_INPUT", "shard_key"),
        ({"target": "nothing"}, "INVALID_INPUT", "module:name"),
        ({"target": 5}, "INVALID_INPUT", "module:name"),
        ({"args": [1]}, "INVALID_INPUT", "list"),
        ({"args": nested(65)}, "INVALID_INPUT", "64 levels"),
        ({"priority": 1}, "INVALID_INPUT", "priority"),
    ],
)
def test_a_job_that_cannot_be_is_refused_at_the_door(
    shared: Client, fields: dict[str, Any], code: str, hint: str
) -> None:
    status, given, message = shared.refusal(**{"target": NOTE, **fields})
    assert (status, given) == (400, code)
    assert hint in message


def test_arguments_over_the_limit_are_refused_with_the_limit(shared: Client) -> None:
    status, code, message = shared.refusal(target=NOTE, args={"value": "x" * 1_000_000})
    assert (status, code) == (413, "PAYLOAD_TOO_LARGE")
    assert "1,000,000" in message


def test_arguments_at_both_limits_arrive_as_they_were_sent(shared: Client) -> None:
    value = {
        "text": "x" * 999_000,
        "deep": nested(62)["value"],
        "big": 2**53 + 1,
        "whole": 1.0,
        "none": None,
        "smile": "\N{GRINNING FACE}\u202e",
    }
    args = {"value": value}
    job_id = shared.schedule(NOTE, args)
    assert shared.wait(job_id, "succeeded")["args"] == args
    assert type(shared.get(job_id)["args"]["value"]["whole"]) is float


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("GET", "/_lunora/nowhere", 404, "NOT_FOUND"),
        ("GET", "/_lunora/scheduler/dispatch", 405, "METHOD_NOT_ALLOWED"),
        ("PUT", f"{ADMIN}/cancel", 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_routes_that_are_not_there_say_so(shared: Client, method: str, path: str, status: int, code: str) -> None:
    answer = shared.call(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_the_wrong_token_opens_nothing(shared: Client, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    for method, path in (("GET", ADMIN), ("GET", f"{ADMIN}/status"), *(("POST", path) for path in POSTS[:4])):
        request = shared.http.build_request(method, shared.worker.url + path, content=json.dumps({"id": "a"}))
        del request.headers["authorization"]
        request.headers.update(headers)
        answer = shared.http.send(request)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
