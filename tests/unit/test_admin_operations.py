"""The admin API's table: where each operation is found, what it takes and refuses, and the document made from it."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

import pytest

from lunorash.errors import STATUS_BY_CODE, LunoraError
from lunorash.scheduler import JobFilter, RetryPolicy, RunOptions
from lunorash.server import define_app
from lunorash.studio.admin import PREFIX, AdminParts, admin_operations
from lunorash.studio.openapi import openapi_document

from .scheduler_object import NOW
from .worker_app import TARGET, Worker, refusal

pytestmark = pytest.mark.usefixtures("stopped_clock")

_OPERATIONS: Final = admin_operations(AdminParts())
_DOCUMENT: Final = openapi_document(_OPERATIONS)
_OLDER: Final = "/_lunora/admin"
_HUGE: Final = 2**53 + 1


async def _get(worker: Worker, path: str, query: str = "") -> tuple[int, Any]:
    return await worker.json("GET", PREFIX + path, query=query)


async def _post(worker: Worker, path: str, body: Any) -> tuple[int, Any]:
    return await worker.post(PREFIX + path, body)


async def _ids(worker: Worker, query: str) -> str:
    status, body = await _get(worker, "/scheduled/jobs", query)
    assert status == 200, body
    return " ".join(record["id"] for record in body["records"])


# -- the table -----------------------------------------------------------------------------------------------


def test_every_operation_has_a_versioned_path_and_what_was_there_before_keeps_its_own() -> None:
    routes = Worker().app.routes
    for operation in _OPERATIONS:
        assert operation.method in routes[PREFIX + operation.path]
        assert (_OLDER + operation.path in routes) is operation.older
    older = {f"{operation.method} {operation.path}" for operation in _OPERATIONS if operation.older}
    assert older == {
        *("GET /scheduled", "GET /scheduled/get", "GET /scheduled/status", "GET /scheduled/dead", "POST /run"),
        *("POST /scheduled/cancel", "POST /scheduled/dead/retry", "POST /scheduled/dead/cancel"),
        *("POST /scheduled/cancel-many", "POST /scheduled/dead/retry-many", "POST /scheduled/dead/cancel-many"),
        *("GET /scheduled/pools", "POST /scheduled/pools/pause", "POST /scheduled/pools/resume"),
        *("POST /scheduled/pools/cap", "GET /cron-jobs", "GET /cron-jobs/runs", "POST /cron-jobs/run"),
    }


def test_names_are_there_once_and_codes_are_known() -> None:
    names = [operation.name for operation in _OPERATIONS]
    assert sorted(names) == sorted(set(names))
    assert {code for operation in _OPERATIONS for code in operation.every_code} <= set(STATUS_BY_CODE)


@pytest.mark.parametrize(
    "operation", [operation for operation in _OPERATIONS if operation.asks], ids=lambda operation: operation.name
)
async def test_what_there_is_not_is_refused(operation: Any) -> None:
    worker = Worker()
    required = {name: "x" for name, field in operation.asks.model_fields.items() if field.is_required()}
    if operation.method == "GET":
        query = "&".join(f"{name}={value}" for name, value in {**required, "stat": "dead"}.items())
        status, told = await _get(worker, operation.path, query)
    else:
        values = {"filter": {}, "max_concurrency": 1}
        body = {name: values.get(name, value) for name, value in required.items()}
        status, told = await _post(worker, operation.path, {**body, "stat": "dead"})
    assert (status, told["error"]["code"]) == (400, "INVALID_INPUT")
    assert worker.namespace.stubs == 0


async def test_a_refusal_names_the_field_the_value_and_the_rule() -> None:
    worker = Worker()

    async def why(path: str, body: Any) -> str:
        status, told = await _post(worker, path, body)
        assert (status, told["error"]["code"]) == (400, "INVALID_INPUT")
        message: str = told["error"]["message"]
        return message

    assert await why("/scheduled/run-now", {}) == "id is missing; the body must have it"
    assert await why("/scheduled/run-now", {"id": "j", "more": 1}) == "there is no field 'more'; there is id"
    assert await why("/scheduled/cancel-many", {"filter": {}, "limit": 0}) == (
        "limit is 0; it must be a whole number from 1 to 1,000"
    )
    assert await why("/scheduled/cancel-many", {"filter": {"targets": "x"}}) == (
        "there is no field 'filter.targets'; there is state, target, pool, tag, error, id_prefix, created_from, "
        "created_before, due_from, due_before, ended_from, ended_before"
    )
    assert (
        await why("/scheduled/schedule", {"target": TARGET, "options": {"priority": 11}})
        == "options.priority is 11; it must be a whole number from -10 to 10"
    )
    status, told = await _get(worker, "/scheduled/jobs", "state=gone")
    assert status == 400
    assert told["error"]["message"].startswith("state.0 is 'gone'; it must be 'pending', 'running'")


async def test_answers_are_laid_out_as_they_always_were() -> None:
    """People grep them: the README does."""
    worker = Worker()
    await worker.schedule()
    for path, query in (("/scheduled/get", "id=j"), ("/scheduled/jobs", ""), ("/scheduled/status", "")):
        answer = await worker.answer("GET", PREFIX + path, query=query)
        assert answer.text == json.dumps(json.loads(answer.text))
        assert '": ' in answer.text


# -- finding and counting ------------------------------------------------------------------------------------


async def test_jobs_are_found_and_counted_by_a_query() -> None:
    worker = Worker()
    for job_id, pool in (("u1-a", None), ("u1-b", "imports"), ("u2-a", "imports")):
        await worker.schedule(job_id, pool=pool, retry=RetryPolicy(max_attempts=1))
    await _post(worker, "/scheduled/cancel", {"id": "u1-a"})
    for query, ids in {
        "": "u2-a u1-b u1-a",
        "order=soonest": "u1-a u1-b u2-a",
        "state=pending": "u2-a u1-b",
        "state=pending&state=canceled&order=soonest": "u1-a u1-b u2-a",
        "pool=imports&id_prefix=u1": "u1-b",
        f"function={quote('m:*')}": "u2-a u1-b u1-a",
        "function=m": "u2-a u1-b u1-a",
        "function=other": "",
        "error=BOOM": "",
        "tag=eu": "",
        f"created_before={NOW}": "",
        f"created_from={NOW}&due_before={NOW + 1}": "u2-a u1-b u1-a",
        f"ended_from={NOW}": "u1-a",
    }.items():
        assert await _ids(worker, query) == ids, query
        counted = await _get(
            worker, "/scheduled/count", query.replace("&order=soonest", "").replace("order=soonest", "")
        )
        assert counted == (200, {"count": len(ids.split()), "exact": True}), query


async def test_pages_of_found_jobs_follow_each_other() -> None:
    worker = Worker()
    for number in range(5):
        await worker.schedule(f"j{number}")
    seen, query = [], "limit=2&order=soonest&cursor="
    while True:
        _, body = await _get(worker, "/scheduled/jobs", query)
        assert body["scanned"] == len(body["records"])
        seen.append([record["id"] for record in body["records"]])
        assert body["truncated"] is ("cursor" in body)
        if "cursor" not in body:
            break
        query = f"limit=2&order=soonest&cursor={body['cursor']}"
    assert seen == [["j0", "j1"], ["j2", "j3"], ["j4"]]


@pytest.mark.parametrize(
    "query",
    [
        *("state=", "state=gone", "state=pending&state=pending", "pool=", "pool=a%20b", "function=", "tag=", "error="),
        *("function=" + "x" * 257, "id_prefix=", "id_prefix=-a", "order=oldest", "order=", "limit=0", "limit=101"),
        *("limit=1.0", "limit=+5", "limit=%205", "limit=1_0", "limit=", "cursor=x", "cursor=soonest.1.a"),
        *("created_from=-1", "created_from=1.5", "created_from=now", "due_before=" + "9" * 17, "ended_from=%D9%A1"),
        *("created_from=9999999999999999", "nobody=1", "state=pending&STATE=dead"),
    ],
)
async def test_a_search_that_makes_no_sense_is_refused(query: str) -> None:
    worker = Worker()
    assert refusal(await _get(worker, "/scheduled/jobs", query)) == (400, "INVALID_INPUT")
    if not query.startswith(("order", "limit", "cursor")):
        assert refusal(await _get(worker, "/scheduled/count", query)) == (400, "INVALID_INPUT")


# -- scheduling and hurrying ---------------------------------------------------------------------------------


async def test_a_job_is_scheduled_with_all_its_options_and_numbers_of_any_size() -> None:
    worker = Worker()
    body = {
        "target": TARGET,
        "args": {"n": _HUGE, "deep": [{"x": -(10**40)}], "f": 1.0},
        "at": NOW + 5_000,
        "options": {
            "id": "j",
            "retry": {"max_attempts": 2, "backoff": "linear", "base_ms": 10},
            "timeout_ms": 7_000,
            "shard_key": "tenant",
            "pool": "imports",
            "priority": -3,
            "expires_at": NOW + 9_000,
            "tags": ["vip", "eu", "vip"],
            "on_complete": TARGET,
        },
    }
    assert await _post(worker, "/scheduled/schedule", body) == (200, {"id": "j"})
    answer = await worker.answer("GET", f"{PREFIX}/scheduled/get", query="id=j")
    record = json.loads(answer.text)["record"]
    assert record["args"] == body["args"]
    assert isinstance(record["args"]["f"], float)
    told = [record[name] for name in ("due", "timeout_ms", "shard_key", "pool", "priority", "expires_at", "tags")]
    assert told == [NOW + 5_000, 7_000, "tenant", "imports", -3, NOW + 9_000, ["eu", "vip"]]
    assert record["on_complete"] == TARGET
    assert await _ids(worker, "tag=vip&state=pending") == "j"
    assert await _ids(worker, "tag=vi") == ""
    assert record["retry"] == RetryPolicy(max_attempts=2, backoff="linear", base_ms=10).to_dict()


async def test_a_job_is_scheduled_now_or_after_a_delay() -> None:
    worker = Worker()
    for job_id, when in (("now", {}), ("later", {"delay_ms": 1_500.2}), ("past", {"at": -5})):
        await _post(worker, "/scheduled/schedule", {"target": TARGET, "options": {"id": job_id}, **when})
    dues = {row["id"]: row["due"] for row in worker.object.store.execute("SELECT id, due FROM jobs")}
    assert dues == {"now": NOW, "later": NOW + 1_501, "past": 0}
    status, body = await _post(worker, "/scheduled/schedule", {"target": TARGET})
    assert status == 200
    assert len(body["id"]) == 16


async def test_workflows_and_agents_are_scheduled_by_their_names() -> None:
    worker = Worker()
    worker.app = (
        define_app()
        .scheduler(namespace=lambda env: env.SCHEDULER)
        .functions({TARGET: len})
        .workflows({"onboarding": "WORKFLOW_ONBOARDING"})
        .agents({"support": "AGENT_SUPPORT"})
        .build()
    )
    for target in ("workflows.onboarding", "agents.support"):
        status, _ = await _post(worker, "/scheduled/schedule", {"target": target})
        assert status == 200
    for target in ("workflows.gone", "agents.onboarding", "workflows."):
        assert refusal(await _post(worker, "/scheduled/schedule", {"target": target})) == (404, "FUNCTION_NOT_FOUND")
    assert await _ids(worker, "function=agents") == await _ids(worker, "function=agents.support") != ""
    _, body = await _get(worker, "/functions")
    assert body["functions"][0] == {
        "path": "agents.support",
        "kind": "agent",
        "visibility": "internal",
        "args_schema": None,
    }


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"target": ""}, "INVALID_INPUT"),
        ({"target": 5}, "INVALID_INPUT"),
        ({"target": "m:gone"}, "FUNCTION_NOT_FOUND"),
        ({"target": "m"}, "INVALID_INPUT"),
        ({"args": []}, "INVALID_INPUT"),
        ({"args": None}, "INVALID_INPUT"),
        ({"at": 1, "delay_ms": 1}, "INVALID_INPUT"),
        ({"at": "2026-01-01"}, "INVALID_INPUT"),
        ({"at": True}, "INVALID_INPUT"),
        ({"at": 10**15}, "INVALID_INPUT"),
        ({"delay_ms": -1}, "INVALID_INPUT"),
        ({"delay_ms": 10**400}, "INVALID_INPUT"),
        ({"delay_ms": 10**15}, "INVALID_INPUT"),
        ({"options": []}, "INVALID_INPUT"),
        ({"options": {"id": "-a"}}, "INVALID_SCHEDULE_ID"),
        ({"options": {"timeout": 5}}, "INVALID_INPUT"),
        ({"options": {"timeout_ms": 0}}, "INVALID_INPUT"),
        ({"options": {"priority": 1}}, "INVALID_INPUT"),
        ({"options": {"retry": {"base_ms": 0}}}, "INVALID_INPUT"),
        ({"options": {"retry": {"max_attempts": 1000, "base_ms": 10**9}}}, "INVALID_INPUT"),
        ({"options": {"shard_key": ""}}, "INVALID_INPUT"),
        ({"options": {"pool": "a b"}}, "INVALID_INPUT"),
        ({"options": {"expires_at": 5}}, "INVALID_INPUT"),
        ({"options": {"tags": "vip"}}, "INVALID_INPUT"),
        ({"options": {"tags": ["x" * 65]}}, "INVALID_INPUT"),
        ({"options": {"tags": [str(number) for number in range(11)]}}, "INVALID_INPUT"),
        ({"options": {"on_complete": "nowhere"}}, "INVALID_INPUT"),
    ],
)
async def test_a_job_that_cannot_be_is_not_stored(change: dict[str, Any], code: str) -> None:
    worker = Worker()
    status, told = await _post(worker, "/scheduled/schedule", {"target": TARGET, **change})
    assert (status, told["error"]["code"]) == (STATUS_BY_CODE[code], code)
    assert worker.namespace.stubs == 0


async def test_an_id_that_is_taken_is_refused() -> None:
    worker = Worker()
    body = {"target": TARGET, "options": {"id": "j"}}
    await _post(worker, "/scheduled/schedule", body)
    assert refusal(await _post(worker, "/scheduled/schedule", body)) == (409, "DUPLICATE_SCHEDULE_ID")


async def test_a_job_is_made_due_now() -> None:
    worker = Worker()
    await _post(worker, "/scheduled/schedule", {"target": TARGET, "delay_ms": 10**6, "options": {"id": "j"}})
    assert await _post(worker, "/scheduled/run-now", {"id": "j"}) == (200, {"id": "j", "due": True})
    assert worker.object.store.execute("SELECT due, scheduled_for FROM jobs") == [
        {"due": NOW, "scheduled_for": NOW + 10**6}
    ]
    assert worker.object.alarm.armed == NOW + 1
    assert worker.object.claim_one().attempts[0].job == "j"
    assert await _post(worker, "/scheduled/run-now", {"id": "j"}) == (200, {"id": "j", "due": False})
    assert await _post(worker, "/scheduled/run-now", {"id": "nobody"}) == (200, {"id": "nobody", "due": False})


async def test_dead_letters_are_told_in_groups() -> None:
    worker = Worker()
    for job_id in ("a", "b"):
        await worker.schedule(job_id, retry=RetryPolicy(max_attempts=1))
        worker.object.bury()
    status, body = await _get(worker, "/scheduled/dead/groups")
    assert status == 200
    (group,) = body["groups"]
    assert (group["target"], group["error_code"], group["count"], group["example_id"]) == (
        TARGET,
        "OUTCOME_UNKNOWN",
        2,
        "b",
    )
    assert body["exact"] is True


# -- functions -----------------------------------------------------------------------------------------------


async def test_functions_are_told_with_what_they_take() -> None:
    def counts(ctx: Any, word: str, times: int = 1) -> None: ...

    def odd(ctx: Any, what: type[Any]) -> None: ...

    def broken(ctx: Any, what: Nothing) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    worker = Worker()
    worker.app = define_app().functions({"m:counts": counts, "m:odd": odd, "m:broken": broken}).build()
    status, body = await _get(worker, "/functions")
    assert status == 200
    told = {each["path"]: each for each in body["functions"]}
    assert list(told) == ["m:broken", "m:counts", "m:odd"]
    schema = told["m:counts"]["args_schema"]
    assert (schema["required"], schema["properties"]["times"]["default"]) == (["word"], 1)
    assert (told["m:counts"]["kind"], told["m:counts"]["visibility"]) == ("action", "internal")
    assert "problem" not in told["m:counts"]
    assert told["m:broken"]["args_schema"] is None
    assert "Nothing" in told["m:broken"]["problem"]


# -- the document --------------------------------------------------------------------------------------------


async def test_the_worker_tells_the_document_to_those_who_bear_the_token() -> None:
    worker = Worker()
    assert await _get(worker, "/openapi.json") == (200, json.loads(json.dumps(_DOCUMENT)))
    assert refusal(await worker.json("GET", f"{PREFIX}/openapi.json", headers={})) == (403, "ADMIN_FORBIDDEN")


def test_everything_in_the_document_is_described_and_every_reference_leads_somewhere() -> None:
    schemas = _DOCUMENT["components"]["schemas"]
    for name, schema in schemas.items():
        assert schema["description"], name
        for field, rule in schema.get("properties", {}).items():
            assert name in ("DeadGroup", "Failure", "Problem") or "description" in rule, f"{name}.{field}"
    for path, methods in _DOCUMENT["paths"].items():
        for operation in methods.values():
            assert operation["summary"]
            assert all(parameter["description"] for parameter in operation.get("parameters", [])), path
    text = json.dumps(_DOCUMENT)
    named = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named == set(schemas)


def test_a_filter_and_its_models_have_the_same_conditions() -> None:
    """Whoever adds a condition to `JobFilter` adds it to both of its models."""
    from lunorash.studio.bulk_routes import FilterFields
    from lunorash.studio.job_routes import FilterQuery

    conditions = set(JobFilter.__slots__)
    assert set(FilterFields.model_fields) == conditions
    assert {name.replace("function", "target") for name in FilterQuery.model_fields} == conditions


def test_options_of_a_job_are_those_of_the_library() -> None:
    from lunorash.studio.job_routes import OptionFields

    assert {name.replace("timeout_ms", "timeout") for name in OptionFields.model_fields} == set(RunOptions.__slots__)


def test_the_table_can_be_described_and_not_done_without_an_app() -> None:
    with pytest.raises(LunoraError, match="no app"):
        AdminParts().runner(None)  # type: ignore[arg-type]
