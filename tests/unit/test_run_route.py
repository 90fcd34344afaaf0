from __future__ import annotations

import json
from typing import Any, Final

import pytest

from .api_worker import ApiWorker
from .scheduler_object import ADMIN_TOKEN

_PATH: Final = "/_lunora/admin/run"


async def _run(worker: ApiWorker, token: str = ADMIN_TOKEN, **body: Any) -> tuple[int, Any]:
    answer = await worker.answer(_PATH, json.dumps(body).encode(), {"authorization": f"Bearer {token}"})
    return answer.status, json.loads(answer.text)


@pytest.mark.parametrize(
    ("path", "args", "value"),
    [
        ("m:note", {"text": "a"}, "A"),
        ("m:secret_note", {"text": "b"}, "B"),
        ("m:notes", {}, []),
        ("m:secret_act", {"n": 5}, [5, 1.0, "2026-01-02"]),
        ("m:whoami", {}, [None, {}, None]),
        ("m:act", {"text": "c"}, {"result": "C", "notes": ["c"], "who": None}),
    ],
)
async def test_a_function_of_any_kind_runs_an_internal_one_too_and_as_nobody(path: str, args: Any, value: Any) -> None:
    assert await _run(ApiWorker(), path=path, args=args) == (200, {"value": value})


async def test_arguments_and_shard_may_be_left_out_or_given() -> None:
    worker = ApiWorker()
    assert await _run(worker, path="m:notes") == (200, {"value": []})
    await _run(worker, path="m:note", args={"text": "a"}, shard_key="tenant")
    assert worker.notes("tenant") == ["a"]
    assert worker.notes() == []


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_nobody_runs_anything_without_the_token(token: str) -> None:
    worker = ApiWorker()
    status, body = await _run(worker, token, path="m:note", args={"text": "a"})
    assert (status, body["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
    assert worker.shards.objects == {}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "INVALID_INPUT"),
        ({"path": 5}, 400, "INVALID_INPUT"),
        ({"path": "m:gone"}, 404, "FUNCTION_NOT_FOUND"),
        ({"path": "m:note", "args": {}}, 400, "INVALID_INPUT"),
        ({"path": "m:note", "args": []}, 400, "INVALID_INPUT"),
        ({"path": "m:notes", "shard_key": ""}, 400, "INVALID_INPUT"),
        ({"path": "m:notes", "shard_key": 5}, 400, "INVALID_INPUT"),
        ({"path": "m:notes", "job": "j"}, 400, "INVALID_INPUT"),
        ({"path": "m:fails", "args": {"how": "expected"}}, 402, "CARD_DECLINED"),
        ({"path": "m:act_fails", "args": {"how": "expected"}}, 402, "CARD_DECLINED"),
        ({"path": "m:waits"}, 500, "MUTATION_YIELDED"),
        ({"path": "m:bad_sql"}, 500, "SQL_FAILED"),
    ],
)
async def test_what_goes_wrong_is_answered_with_its_code(body: Any, status: int, code: str) -> None:
    worker = ApiWorker()
    answer = await _run(worker, **body)
    assert (answer[0], answer[1]["error"]["code"]) == (status, code)
    assert worker.notes() == []


@pytest.mark.parametrize("path", ["m:fails", "m:act_fails"])
async def test_an_unexpected_error_is_told_since_it_is_an_operator_who_asks_and_the_log_has_its_place(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, body = await _run(ApiWorker(), path=path, args={"how": "unexpected"})
    assert (status, body) == (500, {"error": {"code": "ATTEMPT_FAILED", "message": "KeyError: 'hunter2'"}})
    logged = capsys.readouterr().out
    assert "KeyError at _fail line" in logged
    assert "hunter2" not in logged
