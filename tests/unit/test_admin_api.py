from __future__ import annotations

import json
from typing import Any

import pytest

from lunorash.scheduler import RetryPolicy
from lunorash.scheduler.protocol import DISPATCH_PATH
from lunorash.studio.admin import AdminParts, admin_routes
from tests.routes.schedule import SCHEDULE

from .scheduler_object import ADMIN_TOKEN, ORIGIN
from .worker_app import TARGET, Worker, refusal

pytestmark = pytest.mark.usefixtures("stopped_clock")

_ADMIN = "/_lunora/admin"
_ROUTES = admin_routes(AdminParts())

# -- who may call --------------------------------------------------------------------------------------------

_GUARDED = [(route.method, route.path) for route in (*_ROUTES, SCHEDULE)]


@pytest.mark.parametrize(("method", "path"), _GUARDED)
@pytest.mark.parametrize("token", [None, "short", ADMIN_TOKEN])
async def test_nobody_passes_without_the_token_and_nothing_is_called(method: str, path: str, token: str | None) -> None:
    worker = Worker(LUNORA_ADMIN_TOKEN=token)
    answers = [
        await worker.json(method, path, headers=headers, body=b'{"id":"j"}', query="id=j")
        for headers in (
            {},
            {"authorization": ""},
            {"authorization": "Bearer "},
            {"authorization": "Bearer wrong"},
            {"authorization": "Bearer short"},
            {"authorization": f"Basic {ADMIN_TOKEN}"},
        )
    ]
    assert {refusal(answer) for answer in answers} == {(403, "ADMIN_FORBIDDEN")}
    assert len({json.dumps(answer) for answer in answers}) == 1
    assert worker.namespace.stubs == 0


async def test_a_stranger_learns_nothing_from_a_body_that_is_no_json() -> None:
    assert refusal(await Worker().json("POST", f"{_ADMIN}/scheduled/cancel", headers={}, body=b"[" * 9)) == (
        403,
        "ADMIN_FORBIDDEN",
    )


# -- the admin API -------------------------------------------------------------------------------------------


async def test_jobs_are_listed_with_the_originals_words() -> None:
    worker = Worker()
    for number in range(3):
        await worker.schedule(f"j{number}")
    status, body = await worker.json("GET", f"{_ADMIN}/scheduled", query="limit=2")
    assert status == 200
    assert [record["id"] for record in body["records"]] == ["j0", "j1"]
    assert body["truncated"] is True
    status, body = await worker.json("GET", f"{_ADMIN}/scheduled", query=f"limit=2&cursor={body['cursor']}")
    assert [record["id"] for record in body["records"]] == ["j2"]
    assert body["truncated"] is False
    assert "cursor" not in body


async def test_one_state_may_be_asked_for() -> None:
    worker = Worker()
    await worker.schedule("waits")
    await worker.schedule("gone")
    await worker.post(f"{_ADMIN}/scheduled/cancel", {"id": "gone"})
    for state, ids in {"pending": ["waits"], "canceled": ["gone"], "dead": [], "running": [], "succeeded": []}.items():
        _, body = await worker.json("GET", f"{_ADMIN}/scheduled", query=f"state={state}")
        assert [record["id"] for record in body["records"]] == ids


async def test_one_job_is_shown_with_all_that_is_known_of_it() -> None:
    worker = Worker()
    await worker.schedule(retry=RetryPolicy(max_attempts=1))
    worker.object.bury()
    _, body = await worker.json("GET", f"{_ADMIN}/scheduled/get", query="id=j")
    assert body["record"]["state"] == "dead"
    assert body["record"]["args"] == {"a": 1}
    assert [failure["number"] for failure in body["record"]["failures"]] == [2, 1]
    assert await worker.json("GET", f"{_ADMIN}/scheduled/get", query="id=nobody") == (200, {"record": None})


async def test_a_job_is_canceled() -> None:
    worker = Worker()
    await worker.schedule()
    assert await worker.post(f"{_ADMIN}/scheduled/cancel", {"id": "j"}) == (200, {"cancelled": True})
    assert await worker.post(f"{_ADMIN}/scheduled/cancel", {"id": "j"}) == (200, {"cancelled": False})


async def test_a_dead_letter_is_listed_retried_and_removed() -> None:
    worker = Worker()
    await worker.schedule(retry=RetryPolicy(max_attempts=1))
    worker.object.bury()
    _, body = await worker.json("GET", f"{_ADMIN}/scheduled/dead")
    assert [record["id"] for record in body["records"]] == ["j"]
    assert await worker.post(f"{_ADMIN}/scheduled/dead/retry", {"id": "j"}) == (200, {"id": "j", "retried": True})
    assert await worker.post(f"{_ADMIN}/scheduled/dead/retry", {"id": "j"}) == (200, {"id": "j", "retried": False})
    worker.object.bury()
    assert await worker.post(f"{_ADMIN}/scheduled/dead/cancel", {"id": "j"}) == (200, {"removed": True})
    assert await worker.post(f"{_ADMIN}/scheduled/dead/cancel", {"id": "j"}) == (200, {"removed": False})


async def test_the_status_tells_backlog_and_origin() -> None:
    worker = Worker()
    await worker.schedule()
    _, body = await worker.json("GET", f"{_ADMIN}/scheduled/status")
    assert (body["backlog"], body["in_flight"], body["dead"]) == (1, 0, 0)
    assert body["origin"]["url"] == ORIGIN


@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        ("/scheduled", "state=waiting", "INVALID_INPUT"),
        ("/scheduled", "limit=0", "INVALID_INPUT"),
        ("/scheduled", "limit=101", "INVALID_INPUT"),
        ("/scheduled", "limit=-1", "INVALID_INPUT"),
        ("/scheduled", "limit=1e2", "INVALID_INPUT"),
        ("/scheduled", "limit=%D9%A1", "INVALID_INPUT"),
        ("/scheduled", "limit=" + "9" * 5_000, "INVALID_INPUT"),
        ("/scheduled", "cursor=x", "INVALID_INPUT"),
        ("/scheduled", "cursor=pending.9999999999999999.a", "INVALID_INPUT"),
        ("/scheduled", "cursor=%00%FF", "INVALID_INPUT"),
        ("/scheduled", "state=dead&cursor=pending.0.a", "INVALID_INPUT"),
        ("/scheduled/dead", "cursor=pending.0.a", "INVALID_INPUT"),
        ("/scheduled/get", "", "INVALID_SCHEDULE_ID"),
        ("/scheduled/get", "id=", "INVALID_SCHEDULE_ID"),
        ("/scheduled/get", "id=-a", "INVALID_SCHEDULE_ID"),
        ("/scheduled/get", "id=a%00", "INVALID_SCHEDULE_ID"),
        ("/scheduled/get", "ID=a", "INVALID_SCHEDULE_ID"),
        ("/scheduled/get", "&".join(["a=1"] * 101), "BAD_REQUEST"),
    ],
    ids=lambda value: value[:30],
)
async def test_a_bad_query_is_refused(path: str, query: str, code: str) -> None:
    answer = await Worker().json("GET", _ADMIN + path, query=query)
    assert refusal(answer) == (400, code)
    assert len(answer[1]["error"]["message"]) < 300


_POSTS = [route.path for route in (*_ROUTES, SCHEDULE) if route.method == "POST"]
_HOSTILE = [
    b"",
    b"null",
    b"true",
    b"5",
    b'"id"',
    b"[]",
    b"{",
    b"\xff\xfe",
    b"NaN",
    b'{"id": NaN}',
    b'{"id": 1e999}',
    b"[" * 8_000,
    b"[" * 8_000 + b"]" * 8_000,
    b'{"a":' * 8_000,
    b"[" * 200_000,
    b'{"id":' + b"[" * 100 + b"]" * 100 + b"}",
    b'{"id":"\\ud800"}',
    b'{"id":' + b"9" * 5_000 + b"}",
]


@pytest.mark.parametrize("path", [*_POSTS, DISPATCH_PATH])
@pytest.mark.parametrize("body", _HOSTILE, ids=lambda body: body[:12].decode("latin-1"))
async def test_a_hostile_body_is_refused_by_every_route_and_harms_nobody(path: str, body: bytes) -> None:
    worker = Worker(LUNORA_NOW=None)
    status, told = await worker.json("POST", path, body=body)
    assert status in (400, 403)
    assert told["error"]["code"] in ("BAD_REQUEST", "INVALID_INPUT", "INVALID_SCHEDULE_ID", "DISPATCH_UNAUTHENTICATED")
    assert len(told["error"]["message"]) < 400
    assert worker.namespace.stubs == 0


@pytest.mark.parametrize("path", [path for path in _POSTS if path.startswith(_ADMIN)])
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": None},
        {"id": 5},
        {"id": ["j"]},
        {"id": {"id": "j"}},
        {"id": "-j"},
        {"id": "j", "more": 1},
        {"ID": "j"},
    ],
)
async def test_a_body_without_a_good_id_is_refused(path: str, body: Any) -> None:
    status, told = await Worker().post(path, body)
    assert status == 400
    assert told["error"]["code"] in ("INVALID_INPUT", "INVALID_SCHEDULE_ID")


async def test_a_route_schedules_a_job() -> None:
    worker = Worker()
    body = {"target": TARGET, "args": {"name": "Ada"}, "delay_ms": 1e3, "id": "hello", "retry": {"max_attempts": 2}}
    assert await worker.post("/test/schedule", body) == (200, {"id": "hello"})
    job = await worker.app.scheduler(worker.env).get("hello")
    assert job is not None
    assert (job.args, job.retry.max_attempts) == ({"name": "Ada"}, 2)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"target": "m:gone"}, "FUNCTION_NOT_FOUND"),
        ({"target": None}, "INVALID_INPUT"),
        ({"delay_ms": -1}, "INVALID_INPUT"),
        ({"delay_ms": "5"}, "INVALID_INPUT"),
        ({"delay_ms": 10**400}, "INVALID_INPUT"),
        ({"delay_ms": None}, "INVALID_INPUT"),
        ({"at_ms": 10**18}, "INVALID_INPUT"),
        ({"args": []}, "INVALID_INPUT"),
        ({"args": "x"}, "INVALID_INPUT"),
        ({"id": ""}, "INVALID_SCHEDULE_ID"),
        ({"id": "-a"}, "INVALID_SCHEDULE_ID"),
        ({"retry": []}, "INVALID_INPUT"),
        ({"retry": {"base_ms": 0}}, "INVALID_INPUT"),
        ({"retry": {"baseMs": 5}}, "INVALID_INPUT"),
        ({"retry": {"max_attempts": 1.5}}, "INVALID_INPUT"),
        ({"timeout_ms": 0}, "INVALID_INPUT"),
        ({"shard_key": ""}, "INVALID_INPUT"),
        ({"delayMs": 5}, "INVALID_INPUT"),
    ],
)
async def test_a_route_refuses_bad_input_with_the_codes_of_the_library(change: dict[str, Any], code: str) -> None:
    worker = Worker()
    _, told = await worker.post("/test/schedule", {"target": TARGET, **change})
    assert told["error"]["code"] == code
    assert worker.namespace.stubs == 0


async def test_arguments_of_the_deepest_kind_pass_through_a_route() -> None:
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    worker = Worker()
    assert await worker.post("/test/schedule", {"target": TARGET, "args": {"a": deep}, "id": "deep"}) == (
        200,
        {"id": "deep"},
    )
