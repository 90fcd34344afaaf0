"""Functions on real workerd: the three kinds, what they are given, what they may do, and what callers are told."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.client import Client, Kind, wait_for

INCIDENT = re.compile(r"incident ([0-9a-f]{12})")
RICH = {
    "at": "2026-12-01T08:30:00.123456+01:00",
    "day": "2028-02-29",
    "span": "P1DT2H3.5S",
    "price": "9.90",
    "key": "7e57d004-2b97-0e7a-b45f-5387367791cd",
    "data": "AP-_",
    "colour": "red",
    "point": {"x": 9_007_199_254_740_993, "y": 1.0},
    "line": None,
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_a_query_reads_a_mutation_writes_and_an_action_calls_both(shared: Client) -> None:
    shared.mutate("kinds:keep", {"name": "greeting", "value": "hello"})
    assert shared.query("kinds:kept", {"name": "greeting"}) == "hello"
    assert shared.value("action", "kinds:round_trip", {"name": "answer", "value": 42}) == [42, "for insiders"]
    assert shared.query("kinds:kept", {"name": "answer"}) == 42


def test_each_shard_has_data_of_its_own(shared: Client) -> None:
    shared.mutate("kinds:keep", {"name": "mine", "value": 1}, shard="one")
    assert shared.query("kinds:kept", {"name": "mine"}, shard="one") == 1
    assert shared.query("kinds:kept", {"name": "mine"}, shard="two") is None
    args = {"name": "mine", "value": 2, "shard": "two"}
    assert shared.value("action", "kinds:round_trip", args) == [2, "for insiders"]
    assert shared.query("kinds:kept", {"name": "mine"}, shard="one") == 1


def test_a_shard_is_for_those_whom_the_app_lets_in_and_for_jobs(shared: Client) -> None:
    refused = shared.error("query", "kinds:who", shard="private", user="somebody")
    assert refused[:2] == (403, "SHARD_FORBIDDEN")
    assert shared.query("kinds:who", shard="private", user="owner")[0] == "owner"
    shared.mutate("ledger:book", {"tags": ["let in"], "shard": "private"})
    wait_for(lambda: shared.query("ledger:effects", shard="private", user="owner"), "the job's effect", 10)


@pytest.mark.parametrize(
    ("path", "args", "problems"),
    [
        pytest.param(
            "ledger:book",
            {"delay_ms": "5", "fail": 1, "then": [None], "tag": "x"},
            {
                "tags": "Field required",
                "delay_ms": "Input should be a valid integer",
                "fail": "Input should be a valid boolean",
                "then.0": "Input should be a valid string",
                "tag": "Extra inputs are not permitted",
            },
            id="separate arguments",
        ),
        pytest.param(
            "kinds:order",
            {"plan": "free", "lines": [{"sku": "a", "count": 1}, {"count": 0}]},
            {
                "plan": "Input should be 'pro' or 'team'",
                "lines.1.sku": "Field required",
                "lines.1.count": "Input should be greater than or equal to 1",
            },
            id="one model",
        ),
    ],
)
def test_arguments_are_refused_with_the_path_and_reason_of_every_field(
    shared: Client, path: str, args: dict[str, Any], problems: dict[str, str]
) -> None:
    answer = shared.post("mutation", path, args)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "INVALID_INPUT")
    assert {problem["path"]: problem["reason"] for problem in error["data"]} == problems
    for field, reason in problems.items():
        assert f"{field}: {reason}" in error["message"]


def test_a_model_can_be_the_only_argument(shared: Client) -> None:
    args = {"plan": "pro", "lines": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2}]}
    assert shared.mutate("kinds:order", args) == 3


def test_rich_values_arrive_as_python_has_them_and_return_as_they_were_sent(shared: Client) -> None:
    answer = shared.query("kinds:echo_rich", RICH)
    assert answer["given"] == RICH
    assert answer["seen"] == {
        "at": "datetime.datetime(2026, 12, 1, 8, 30, 0, 123456, tzinfo=TzInfo(3600))",
        "day": "datetime.date(2028, 2, 29)",
        "span": "datetime.timedelta(days=1, seconds=7203, microseconds=500000)",
        "price": "Decimal('9.90')",
        "key": "UUID('7e57d004-2b97-0e7a-b45f-5387367791cd')",
        "data": r"b'\x00\xff\xbf'",
        "colour": "<Colour.RED: 'red'>",
        "point": "Point(x=9007199254740993, y=1.0)",
        "line": "None",
    }


def test_a_model_whose_bytes_are_no_text_is_an_error_that_names_the_function(shared: Client) -> None:
    status, code, message = shared.error("query", "kinds:parcel")
    assert (status, code) == (500, "RESULT_INVALID")
    assert "kinds:parcel" in message


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(VALUES, min_size=10, max_size=40))
def test_json_values_cross_to_a_shard_and_back_unchanged(shared: Client, batch: list[Any]) -> None:
    answer = shared.post("query", "kinds:echo", {"value": batch})
    assert answer.status_code == 200, answer.text
    # compared as text, in which 1, 1.0 and true differ
    assert json.dumps(json.loads(answer.text)["value"]) == json.dumps(batch)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(VALUES, min_size=20, max_size=40))
def test_json_values_cross_to_a_job_by_the_outbox_unchanged(shared: Client, batch: list[Any]) -> None:
    batch = [*batch, 2**53 - 1, 2**53, 2**64, -(2**100), 1.0, -0.0, 1e300, None, [[[]]], {"": {}}]
    name = f"by outbox {len(json.dumps(batch))} {hash(json.dumps(batch))}"
    shared.mutate("kinds:keep_later", {"name": name, "value": batch})
    wait_for(lambda: shared.query("kinds:kept", {"name": f"{name} auth"}), "the job", 10)
    assert json.dumps(shared.query("kinds:kept", {"name": name})) == json.dumps(batch)


def test_an_internal_function_is_answered_like_one_that_is_not_there(shared: Client) -> None:
    for kind in ("query", "mutation", "action"):
        internal = shared.error(kind, "kinds:secret")
        unknown = shared.error(kind, "kinds:secrex")
        assert internal[:2] == (404, "FUNCTION_NOT_FOUND")
        assert (*internal[:2], internal[2].replace("secret", "secrex")) == unknown


def test_a_function_of_another_kind_says_where_to_post_it(shared: Client) -> None:
    status, code, message = shared.error("query", "kinds:keep", {"name": "x", "value": 1})
    assert (status, code) == (400, "INVALID_INPUT")
    assert "/api/mutation" in message


def test_the_api_takes_json_objects_by_post_only(shared: Client) -> None:
    url = f"{shared.worker.url}/api/query"
    cases = [
        (shared.http.get(url), 405, "METHOD_NOT_ALLOWED"),
        (shared.http.post(url, data={"path": "kinds:who"}), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (shared.http.post(url, json=["kinds:who"]), 400, "BAD_REQUEST"),
        (shared.http.post(url, json={"path": "kinds:who", "arg": {}}), 400, "INVALID_INPUT"),
        (shared.http.post(url, json={"path": "kinds:who", "args": []}), 400, "INVALID_INPUT"),
        (shared.http.post(url, json={"path": "kinds.who"}), 400, "INVALID_INPUT"),
        (shared.http.post(url, json={"path": "kinds:who", "shard_key": ""}), 400, "INVALID_INPUT"),
    ]
    for answer, status, code in cases:
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("swallow", [False, True], ids=["and says so", "also if the query ignores the refusal"])
def test_a_query_that_writes_is_refused_and_rolled_back(shared: Client, swallow: bool) -> None:
    status, code, message = shared.error("query", "kinds:write_in_query", {"swallow": swallow})
    assert (status, code) == (500, "QUERY_WROTE")
    assert "mutation" in message
    assert shared.query("kinds:kept", {"name": "by a query"}) is None


def test_a_query_has_no_scheduler_and_says_why(shared: Client) -> None:
    status, code, message = shared.error("query", "kinds:schedule_in_query")
    assert (status, code) == (500, "SCHEDULER_NOT_IN_QUERY")
    assert "a query has no ctx.scheduler" in message


@pytest.mark.parametrize("kind", ["query", "mutation", "action"])
def test_an_unexpected_exception_becomes_an_id_that_is_in_the_log_and_leaks_nothing(shared: Client, kind: Kind) -> None:
    begin = shared.worker.log_position()
    answer = shared.post(kind, f"kinds:break_{kind}", {"text": "a-password"})
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert set(error) == {"code", "message"}
    assert error["code"] == "INTERNAL"
    incident = INCIDENT.search(error["message"])
    assert incident
    line = shared.worker.wait_for_log(incident[1], since=begin).string
    assert f"break_{kind} line" in line
    for leaked in ("a-password", "kinds.py", "ValueError", "Traceback"):
        assert leaked not in answer.text
    assert not [line for line in shared.worker.log_lines(begin) if "a-password" in line]
    assert shared.query("kinds:kept", {"name": "by a broken mutation"}) is None


def test_a_result_that_is_not_what_the_annotation_says_is_an_error_that_names_it(shared: Client) -> None:
    status, code, message = shared.error("query", "kinds:mistyped_result")
    assert (status, code) == (500, "RESULT_INVALID")
    assert "kinds:mistyped_result" in message
    assert "1: Input should be a valid integer" in message


def test_an_error_of_the_app_keeps_its_code_status_message_and_data(shared: Client) -> None:
    answer = shared.post("query", "kinds:refuse")
    assert answer.status_code == 409
    error = {"code": "TRIAL_RUNNING", "message": "your trial is running already", "data": {"days": 3}}
    assert answer.json() == {"status": "error", "error": error}


def test_a_function_knows_who_calls_and_a_job_is_nobody(shared: Client) -> None:
    assert shared.query("kinds:who", user="ada") == ["ada", {"from": "a header"}]
    assert shared.query("kinds:who") == [None, {}]
    shared.mutate("kinds:keep_later", {"name": "who", "value": 1}, user="ada")
    assert wait_for(lambda: shared.query("kinds:kept", {"name": "who auth"}), "the job", 10) == [None, {}]
