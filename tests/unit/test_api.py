from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lunorash.codec import MAX_DEPTH
from lunorash.contexts import Auth
from lunorash.errors import LunoraError

from .api_worker import JSON, ApiWorker

_PAGE = "https://app.example.com"


def _error(answer: tuple[int, Any], status: int, code: str) -> Any:
    """The error of an answer that has to be one."""
    assert answer[0] == status, answer
    assert set(answer[1]) == {"status", "error"}
    assert answer[1]["status"] == "error"
    error = answer[1]["error"]
    assert error["code"] == code
    return error


# -- calls that succeed --------------------------------------------------------------------------------------


async def test_each_kind_is_called_at_its_own_path() -> None:
    worker = ApiWorker()
    assert await worker.post("mutation", {"path": "m:note", "args": {"text": "a"}}) == (
        200,
        {"status": "success", "value": "A"},
    )
    assert await worker.post("query", {"path": "m:notes"}) == (200, {"status": "success", "value": ["a"]})
    assert await worker.post("query", {"path": "m:notes", "args": {}, "shard_key": None}) == (
        200,
        {"status": "success", "value": ["a"]},
    )
    assert await worker.post("action", {"path": "m:act", "args": {"text": "b"}}, **{"x-user": "u1"}) == (
        200,
        {"status": "success", "value": {"result": "B", "notes": ["a", "b"], "who": "u1"}},
    )


async def test_numbers_come_back_to_the_letter() -> None:
    answer = await ApiWorker().answer("/api/action", b'{"path": "m:plain_act"}')
    assert answer.text == '{"status": "success", "value": [9007199254740993,1.0,"2026-01-02"]}'


async def test_an_answer_is_never_kept_by_a_cache() -> None:
    worker = ApiWorker()
    for body in (b'{"path": "m:notes"}', b'{"path": "m:gone"}', b""):
        assert (await worker.answer("/api/query", body)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", " application/json ;x=y"],
)
async def test_json_may_be_announced_in_any_of_its_spellings(content_type: str) -> None:
    answer = await ApiWorker().answer("/api/query", b'{"path": "m:notes"}', {"content-type": content_type})
    assert answer.status == 200


async def test_a_function_sees_who_calls_and_no_job() -> None:
    worker = ApiWorker()
    for headers, expected in (({}, [None, {}, None]), ({"x-user": "u1"}, ["u1", {"plan": "pro"}, None])):
        assert (await worker.post("mutation", {"path": "m:whoami"}, **headers))[1]["value"] == expected


# -- calls that are refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"]
)
async def test_another_content_type_is_refused_so_that_no_form_of_another_page_can_call(content_type: str) -> None:
    worker = ApiWorker()
    body = b'{"path": "m:note", "args": {"text": "a"}}'
    for headers in ({"content-type": content_type}, {}):
        answer = await worker.answer("/api/mutation", body, headers)
        _error((answer.status, json.loads(answer.text)), 415, "UNSUPPORTED_MEDIA_TYPE")
    assert worker.notes() == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"m:notes"',
        b"5",
        b"\xff",
        b'{"path": NaN}',
        b'{"path": "m:notes", "args": {"a": 1e999}}',
        b"[" * 8_000,
        b'{"args": ' * 8_000,
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    answer = await ApiWorker().answer("/api/query", body)
    _error((answer.status, json.loads(answer.text)), 400, "BAD_REQUEST")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"path": None},
        {"path": 5},
        {"path": ""},
        {"path": "m"},
        {"path": "m:no tes"},
        {"path": ["m:notes"]},
        {"path": "workflows.onboarding"},
        {"path": "m:notes", "args": None},
        {"path": "m:notes", "args": []},
        {"path": "m:notes", "args": "x"},
        {"path": "m:notes", "args": {"ctx": 1}},
        {"path": "m:notes", "args": {"more": 1}},
        {"path": "m:notes", "more": 1},
        {"path": "m:notes", "Path": "m:notes"},
        {"path": "m:notes", "user_id": "admin"},
        {"path": "m:notes", "shard_key": ""},
        {"path": "m:notes", "shard_key": 5},
        {"path": "m:notes", "shard_key": ["a"]},
        {"path": "m:notes", "shard_key": False},
        {"path": "m:notes", "shard_key": "x" * 257},
    ],
)
async def test_a_bad_call_is_refused(body: Any) -> None:
    error = _error(await ApiWorker(authorize_shard=_yes).post("query", body), 400, "INVALID_INPUT")
    assert len(error["message"]) < 600


async def test_every_field_that_is_wrong_is_told() -> None:
    worker = ApiWorker()
    error = _error(await worker.post("mutation", {"path": "m:note", "args": {"txt": "a"}}), 400, "INVALID_INPUT")
    assert {problem["path"] for problem in error["data"]} == {"text", "txt"}
    error = _error(await worker.post("action", {"path": "m:act", "args": {"text": 5}}), 400, "INVALID_INPUT")
    assert [problem["path"] for problem in error["data"]] == ["text"]


async def test_arguments_may_be_as_deep_as_a_job_may_have_them_and_no_deeper() -> None:
    worker = ApiWorker()
    for levels, code in ((MAX_DEPTH - 2, "SHARD_FORBIDDEN"), (MAX_DEPTH, "INVALID_INPUT")):
        deep: Any = "x"
        for _ in range(levels):
            deep = [deep]
        body = {"path": "m:act_on", "args": {"path": "m:note", "args": {"text": deep}}, "shard_key": "a"}
        status = 403 if code == "SHARD_FORBIDDEN" else 400
        _error(await worker.post("action", body), status, code)


async def test_too_much_is_refused() -> None:
    body = {"path": "m:note", "args": {"text": "x" * 1_000_000}}
    _error(await ApiWorker().post("mutation", body), 413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("kind", ["query", "mutation", "action"])
async def test_an_internal_function_is_answered_exactly_as_one_that_does_not_exist(kind: str) -> None:
    worker = ApiWorker(authorize_shard=_yes)
    for internal, unknown in (("m:secret_note", "m:secret_gone"), ("m:secret_act", "m:secret_xyz")):
        for more in ({}, {"args": {"text": 5}}, {"shard_key": "a"}, {"args": {"a": [1.0]}, "shard_key": "default"}):
            answers = [
                await worker.answer(f"/api/{kind}", json.dumps({"path": path, **more}).encode())
                for path in (internal, unknown)
            ]
            assert answers[0].status == answers[1].status == 404
            assert answers[0].text.replace(internal, "?") == answers[1].text.replace(unknown, "?")
            assert answers[0].headers == answers[1].headers
            assert "secret_act" not in answers[1].text
    assert worker.shards.objects == {}, "and nobody is asked"


@pytest.mark.parametrize(
    ("kind", "path", "right"),
    [
        ("query", "m:note", "mutation"),
        ("mutation", "m:notes", "query"),
        ("action", "m:note", "mutation"),
        ("query", "m:act", "action"),
    ],
)
async def test_a_function_called_as_another_kind_is_refused_and_the_error_says_where_it_is(
    kind: str, path: str, right: str
) -> None:
    worker = ApiWorker()
    error = _error(await worker.post(kind, {"path": path, "args": {"text": "a"}}), 400, "INVALID_INPUT")
    assert f"/api/{right}" in error["message"]
    assert worker.notes() == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
async def test_another_method_is_refused(method: str) -> None:
    assert (await ApiWorker().answer("/api/query", method=method)).status == 405


async def test_there_is_nothing_beside_the_three_paths() -> None:
    for path in ("/api", "/api/", "/api/querys", "/api/query/", "/API/query", "/api/internal"):
        assert (await ApiWorker().answer(path)).status == 404


# -- who calls -----------------------------------------------------------------------------------------------


async def test_a_credential_that_is_no_good_is_refused_before_anything_runs() -> None:
    async def authenticate(_request: Any) -> Auth:
        raise LunoraError("UNAUTHORIZED", "the token has expired")

    worker = ApiWorker(authenticate=authenticate)
    for kind, path in (("mutation", "m:note"), ("action", "m:act")):
        _error(await worker.post(kind, {"path": path, "args": {"text": "a"}}), 401, "UNAUTHORIZED")
    assert worker.shards.objects == {}


async def test_a_hook_that_breaks_lets_nobody_in(capsys: pytest.CaptureFixture[str]) -> None:
    async def breaks(*_args: Any) -> Any:
        raise KeyError("hunter2")

    for worker in (ApiWorker(authenticate=breaks), ApiWorker(authorize_shard=breaks)):
        body = {"path": "m:note", "args": {"text": "a"}, "shard_key": "a"}
        error = _error(await worker.post("mutation", body), 500, "INTERNAL")
        assert "hunter2" not in error["message"] + capsys.readouterr().out
        assert worker.shards.objects == {}


# -- shards --------------------------------------------------------------------------------------------------


async def _yes(_auth: Auth, _key: str) -> bool:
    return True


async def test_without_a_hook_clients_use_the_default_shard_only() -> None:
    worker = ApiWorker()
    for key in ("a", "default"):
        body = {"path": "m:note", "args": {"text": "a"}, "shard_key": key}
        _error(await worker.post("mutation", body), 403, "SHARD_FORBIDDEN")
    assert worker.shards.objects == {}


async def test_a_hook_decides_who_may_use_which_shard() -> None:
    asked: list[tuple[str | None, str]] = []

    async def own(auth: Auth, key: str) -> bool:
        asked.append((auth.user_id, key))
        return auth.user_id == key

    worker = ApiWorker(authorize_shard=own)
    body = {"path": "m:note", "args": {"text": "a"}, "shard_key": "u1"}
    assert (await worker.post("mutation", body, **{"x-user": "u1"}))[0] == 200
    _error(await worker.post("mutation", body, **{"x-user": "u2"}), 403, "SHARD_FORBIDDEN")
    _error(await worker.post("mutation", body), 403, "SHARD_FORBIDDEN")
    assert asked == [("u1", "u1"), ("u2", "u1"), (None, "u1")]
    assert (worker.notes("u1"), worker.notes()) == (["a"], [])


async def test_the_hook_is_not_asked_for_the_default_shard() -> None:
    async def never(*_args: Any) -> bool:
        raise AssertionError("asked")

    worker = ApiWorker(authorize_shard=never)
    assert (await worker.post("mutation", {"path": "m:note", "args": {"text": "a"}}))[0] == 200


async def test_a_hook_may_say_why_not() -> None:
    async def says(_auth: Auth, key: str) -> bool:
        raise LunoraError("TENANT_CLOSED", f"{key} is closed", status=410)

    body = {"path": "m:notes", "shard_key": "a"}
    _error(await ApiWorker(authorize_shard=says).post("query", body), 410, "TENANT_CLOSED")


async def test_what_an_action_calls_itself_is_its_own_affair() -> None:
    worker = ApiWorker()
    args = {"path": "m:note", "args": {"text": "a"}, "shard_key": "tenant"}
    assert await worker.post("action", {"path": "m:act_on", "args": args}) == (200, {"status": "success", "value": "A"})
    assert (worker.notes("tenant"), worker.notes()) == (["a"], [])
    internal = {"path": "m:secret_note", "args": {"text": "b"}}
    assert (await worker.post("action", {"path": "m:act_on", "args": internal}))[1]["value"] == "B"


# -- errors of functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "path"), [("mutation", "m:fails"), ("action", "m:act_fails")])
async def test_an_error_of_the_app_is_told_as_it_is(kind: str, path: str) -> None:
    answer = await ApiWorker().post(kind, {"path": path, "args": {"how": "expected"}})
    assert answer == (
        402,
        {"status": "error", "error": {"code": "CARD_DECLINED", "message": "no funds", "data": {"limit": 5}}},
    )


@pytest.mark.parametrize(("kind", "path"), [("mutation", "m:fails"), ("action", "m:act_fails")])
@pytest.mark.parametrize("how", ["unexpected", "set", "nan", "half a pair"])
async def test_an_unexpected_error_is_told_by_an_id_that_the_log_has_too_and_by_nothing_else(
    kind: str, path: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = ApiWorker()
    answer = await worker.post(kind, {"path": path, "args": {"how": how}})
    error = _error(answer, 500, "INTERNAL")
    assert set(error) == {"code", "message"}
    (incident,) = re.findall(r"\b[0-9a-f]{12}\b", error["message"])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if incident in line]
    assert line.startswith("lunora: incident ")
    for text in (str(answer), line):
        for leak in ("hunter2", "Traceback", __file__):
            assert leak not in text
    assert "KeyError" not in str(answer)
    if how == "unexpected":
        assert "KeyError" in line
    assert worker.notes() == []


async def test_a_mutation_that_waits_is_rolled_back_and_told() -> None:
    worker = ApiWorker()
    _error(await worker.post("mutation", {"path": "m:waits"}), 500, "MUTATION_YIELDED")
    assert worker.notes() == []


async def test_sql_is_for_the_log_and_not_for_clients(capsys: pytest.CaptureFixture[str]) -> None:
    error = _error(await ApiWorker().post("mutation", {"path": "m:bad_sql"}), 500, "SQL_FAILED")
    assert "hunter2" not in str(error)
    (incident,) = re.findall(r"\b[0-9a-f]{12}\b", error["message"])
    assert incident in capsys.readouterr().out


async def test_a_shard_that_does_not_answer_is_unavailable() -> None:
    worker = ApiWorker()
    worker.shards.get("default").broken = True
    for kind, path in (("mutation", "m:note"), ("action", "m:act")):
        error = _error(await worker.post(kind, {"path": path, "args": {"text": "a"}}), 503, "SHARD_UNAVAILABLE")
        assert "reset" not in error["message"]


async def test_without_a_binding_the_error_says_how_to_make_one() -> None:
    worker = ApiWorker()
    del worker.env.SHARD
    _error(await worker.post("query", {"path": "m:notes"}), 400, "SHARD_NOT_CONFIGURED")


# -- pages of other origins ----------------------------------------------------------------------------------


async def test_a_page_that_was_named_may_ask_and_may_read_every_answer() -> None:
    worker = ApiWorker(origins=[_PAGE])
    for kind in ("query", "mutation", "action"):
        answer = await worker.answer(f"/api/{kind}", headers={"origin": _PAGE}, method="OPTIONS")
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == _PAGE
        assert answer.headers["access-control-allow-methods"] == "POST"
    for body, status in ((b'{"path": "m:notes"}', 200), (b'{"path": "m:gone"}', 404), (b"", 400)):
        answer = await worker.answer("/api/query", body, JSON | {"origin": _PAGE})
        assert answer.status == status
        assert answer.headers["access-control-allow-origin"] == _PAGE
        assert answer.headers["vary"] == "origin"


async def test_another_page_is_not_told_that_it_may() -> None:
    worker = ApiWorker(origins=[_PAGE])
    for method, body in (("OPTIONS", b""), ("POST", b'{"path": "m:notes"}')):
        answer = await worker.answer("/api/query", body, JSON | {"origin": "https://evil.example"}, method=method)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["vary"] == "origin"
