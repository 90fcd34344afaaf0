"""How jobs end on real workerd, who is told, and what is tried again: each with what it refuses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.integration.client import ADMIN, Client, wait_for
from tests.integration.conftest import Launch

ONCE = {"max_attempts": 1, "base_ms": 50}


def _endings(client: Client, job_id: str, count: int = 1) -> list[Any]:
    """What was told of a job, as soon as so many of its endings were."""
    told: list[Any] = wait_for(
        lambda: len(found := client.query("outcomes:endings", {"job_id": job_id})) >= count and found,
        f"{count} endings of {job_id}",
        20,
        lambda: client.get(job_id),
    )
    assert len(told) == count
    return told


# -- who is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("teller", ["outcomes:told", "outcomes:told_far_away"])
def test_whoever_wants_to_know_is_told_of_a_success_and_its_result(shared: Client, teller: str) -> None:
    job_id = shared.schedule("outcomes:act", on_complete=teller, tags=["b", "a", "b"])
    (told,) = _endings(shared, job_id)
    record = shared.get(job_id)
    assert (record["tags"], record["on_complete"]) == (["a", "b"], teller)
    assert told == {
        "id": job_id,
        "incarnation": record["incarnation"],
        "target": "outcomes:act",
        "outcome": "succeeded",
        "attempts": 1,
        "scheduled_for": record["scheduled_for"],
        "ended": record["ended"],
        "tags": ["a", "b"],
        "result": {"number": 2**60, "text": "ééé"},
        "result_omitted": False,
        "error": None,
    }


def test_a_result_that_is_too_large_is_left_out_and_that_is_said(shared: Client) -> None:
    for target, args in (
        ("outcomes:act", {"size": 20_000}),
        ("outcomes:give", {"value": "é" * 20_000}),
    ):
        (told,) = _endings(shared, shared.schedule(target, args, on_complete="outcomes:told"))
        assert (told["outcome"], told["result"], told["result_omitted"]) == ("succeeded", None, True)


def test_of_a_batch_of_mutations_each_is_told_with_its_own_result(shared: Client) -> None:
    at = int(time.time() * 1000) + 1_000
    ids = shared.mutate("outcomes:book", {"count": 30, "at_ms": at})
    for number, job_id in enumerate(ids):
        (told,) = _endings(shared, job_id)
        assert told["tags"] == sorted(["booked", f"n{number}"])
        if number % 3 == 2:
            assert (told["outcome"], told["error"]["code"], told["attempts"]) == ("dead", "TOLD_TO", 1)
        else:
            assert (told["outcome"], told["result"]) == ("succeeded", {"number": number})


def test_a_dead_letter_that_is_retried_by_hand_ends_once_more(shared: Client) -> None:
    job_id = shared.schedule("probes:fail", retry=ONCE, on_complete="outcomes:told")
    (told,) = _endings(shared, job_id)
    assert (told["outcome"], told["error"]["code"], told["attempts"]) == ("dead", "PROBE_FAILED", 2)
    shared.call("POST", f"{ADMIN}/dead/retry", {"id": job_id})
    first, second = _endings(shared, job_id, 2)
    assert (second["outcome"], second["attempts"]) == ("dead", 4)
    assert first["incarnation"] != second["incarnation"] == shared.get(job_id)["incarnation"]


def test_of_a_cancel_it_is_told_whether_it_waits_or_runs(shared: Client) -> None:
    waits = shared.schedule("probes:note", delay_ms=600_000, on_complete="outcomes:told")
    runs = shared.schedule("probes:slow", {"seconds": 1.5}, on_complete="outcomes:told")
    shared.wait(runs, "running")
    for job_id in (waits, runs):
        assert shared.call("POST", f"{ADMIN}/cancel", {"id": job_id}).json() == {"cancelled": True}
        (told,) = _endings(shared, job_id)
        assert (told["outcome"], told["result"], told["error"]) == ("canceled", None, None)


def test_of_a_bulk_cancel_each_is_told(shared: Client) -> None:
    ids = [
        shared.schedule("probes:note", {"value": number}, delay_ms=600_000, id=f"bulk-told-{number}",
                        on_complete="outcomes:told")
        for number in range(3)
    ]  # fmt: skip
    answer = shared.call("POST", f"{ADMIN}/cancel-many", {"filter": {"id_prefix": "bulk-told-"}, "limit": 100})
    assert answer.status_code == 200, answer.text
    for job_id in ids:
        (told,) = _endings(shared, job_id)
        assert told["outcome"] == "canceled"


@pytest.mark.parametrize(
    ("on_complete", "code", "why"),
    [
        ("outcomes:nobody", "FUNCTION_NOT_FOUND", "on_complete: there is no function"),
        ("outcomes:act", "INVALID_INPUT", "lunorash.scheduler.Completion"),
        ("outcomes:endings", "INVALID_INPUT", "a query; it must be a mutation or an action"),
        ("workflows.errand", "INVALID_INPUT", "on_complete"),
        (5, "INVALID_INPUT", "on_complete is 5"),
    ],
)
def test_who_cannot_be_told_is_refused_at_the_door(shared: Client, on_complete: Any, code: str, why: str) -> None:
    _status, given, message = shared.refusal(target="probes:note", on_complete=on_complete)
    assert given == code
    assert why in message


def test_who_cannot_be_told_is_refused_inside_a_mutation_too_and_nothing_is_kept(shared: Client) -> None:
    status, code, message = shared.error("mutation", "outcomes:book_badly", {"tag": "booked badly"})
    assert (status, code) == (400, "INVALID_INPUT")
    assert "on_complete" in message
    assert shared.effects("booked badly") == []


# -- tags and expiry ---------------------------------------------------------------------------------------------


def test_tags_that_cannot_be_are_refused(shared: Client) -> None:
    for tags in ("nightly", [""], ["x" * 65], [5], [f"t{number}" for number in range(11)], None):
        status, code, message = shared.refusal(target="probes:note", tags=tags)
        assert (status, code) == (400, "INVALID_INPUT")
        assert "tag" in message


def test_a_job_that_comes_too_late_expires_unrun_and_visible(shared: Client) -> None:
    """Its first attempt fails, and its next would come in ten seconds, when nobody wants it any more."""
    expires_at = int(time.time() * 1000) + 1_500
    job_id = shared.schedule(
        "probes:fail",
        retry={"max_attempts": 3, "base_ms": 10_000},
        expires_at=expires_at,
        on_complete="outcomes:told",
    )
    expired = shared.wait(job_id, "expired")
    assert expires_at <= expired["ended"] < expires_at + 5_000
    assert (expired["expires_at"], expired["error_code"], expired["attempts"]) == (expires_at, "JOB_EXPIRED", 1)
    assert [entry["event"] for entry in shared.journal(job_id)] == ["start"]
    (told,) = _endings(shared, job_id)
    assert (told["outcome"], told["error"]["code"]) == ("expired", "JOB_EXPIRED")
    assert job_id in shared.ids("expired")
    assert shared.call("POST", f"{ADMIN}/dead/retry", {"id": job_id}).json()["retried"] is False


def test_a_job_that_is_in_time_runs(shared: Client) -> None:
    job_id = shared.schedule("probes:note", expires_at=int(time.time() * 1000) + 60_000)
    shared.wait(job_id, "succeeded")


@pytest.mark.parametrize("expires_at", [1, "soon", True, 10**18])
def test_an_expiry_that_cannot_be_is_refused(shared: Client, expires_at: Any) -> None:
    status, code, message = shared.refusal(target="probes:note", expires_at=expires_at)
    assert (status, code) == (400, "INVALID_INPUT")
    assert "expires_at" in message


@pytest.mark.parametrize("jitter", [-0.1, 1.1, "x", True, None])
def test_a_jitter_that_cannot_be_is_refused(shared: Client, jitter: Any) -> None:
    retry = {"max_attempts": 1, "jitter": jitter}
    assert shared.refusal(target="probes:note", retry=retry)[:2] == (400, "INVALID_INPUT")


def test_the_jitter_spreads_jobs_that_failed_together(shared: Client) -> None:
    retry = {"max_attempts": 1, "base_ms": 600_000, "jitter": 1}
    ids = [shared.schedule("probes:fail", retry=retry) for _ in range(6)]
    waits = [
        wait_for(
            lambda job_id=job_id: (job := shared.get(job_id))["attempts"] == 1 and job["state"] == "pending" and job,  # type: ignore[misc]
            "a first failure",
            20,
        )
        for job_id in ids
    ]
    pauses = {job["due"] - job["failures"][0]["ended"] for job in waits}
    assert len(pauses) == 6
    assert all(0 < pause <= 600_000 for pause in pauses)
    for job_id in ids:
        shared.call("POST", f"{ADMIN}/cancel", {"id": job_id})


# -- what is tried again -----------------------------------------------------------------------------------------


def test_what_would_not_help_is_not_tried_again_and_the_record_says_where_it_failed(shared: Client) -> None:
    dead = shared.wait(shared.schedule("outcomes:give_up"), "dead")
    assert (dead["attempts"], dead["error_code"], dead["error_message"]) == (1, "CARD_STOLEN", "the card was stolen")
    (failure,) = dead["failures"]
    assert (failure["outcome"], failure["number"]) == ("failed", 1)
    assert dead["started"] == failure["started"] <= failure["ended"] == dead["ended"]
    assert failure["dispatch"]
    last = failure["traceback"].splitlines()[-1]
    assert last.startswith("lunora/outcomes.py:")
    assert last.endswith(" in _stolen")


def test_where_it_failed_is_told_of_a_mutation_too_and_never_with_values(shared: Client) -> None:
    mutation = shared.wait(shared.schedule("outcomes:give", {"value": 1, "fail": True}), "dead")
    assert mutation["failures"][0]["traceback"].splitlines()[-1].endswith(" in give")
    action = shared.wait(shared.schedule("outcomes:break_down", {"secret": "hunter2"}, retry=ONCE), "dead")
    assert "hunter2" not in "".join(failure["traceback"] for failure in action["failures"])
    assert action["failures"][0]["traceback"].splitlines()[-1].endswith(" in break_down")
    stopped = shared.wait(shared.schedule("probes:slow", {"seconds": 60}, timeout_ms=300, retry=ONCE), "dead")
    assert " in slow" in stopped["failures"][0]["traceback"]


@pytest.mark.parametrize("target", ["outcomes:busy", "outcomes:busy_shard"])
def test_who_asks_for_time_is_given_it(shared: Client, target: str) -> None:
    job_id = shared.schedule(target, {"seconds": 2}, retry={"max_attempts": 1, "base_ms": 10})
    record = shared.wait(job_id, "succeeded")
    (failure,) = record["failures"]
    assert failure["code"] == "BUSY"
    assert record["started"] - failure["ended"] >= 2_000
    assert record["charged"] == 2, "it counts"


def test_a_delay_that_cannot_be_is_a_failure_with_the_rule(shared: Client) -> None:
    dead = shared.wait(
        shared.schedule("outcomes:busy", {"seconds": -1.0}, retry={"max_attempts": 1, "base_ms": 10}), "succeeded"
    )
    assert dead["failures"][0]["code"] == "INVALID_INPUT"
    assert "0 or more seconds" in dead["failures"][0]["message"]


@pytest.fixture
def upstream() -> Iterator[tuple[str, list[float]]]:
    """Answers 429 the first time it is asked, 503 the second time; returns when it was asked."""
    asked: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(time.time())
            status, retry_after = {1: (429, "2"), 2: (503, "soon")}.get(len(asked), (200, None))
            self.send_response(status)
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", asked
    server.shutdown()
    server.server_close()


def test_an_upstream_that_is_busy_is_passed_on_in_one_line(shared: Client, upstream: tuple[str, list[float]]) -> None:
    url, asked = upstream
    job_id = shared.schedule("outcomes:ask_upstream", {"url": url}, retry={"max_attempts": 3, "base_ms": 50})
    record = shared.wait(job_id, "succeeded")
    second, first = record["failures"]
    assert [first["code"], second["code"]] == ["RETRY_AFTER", "RETRY_AFTER"]
    assert "429 and asks to wait 2 s" in first["message"]
    assert "503 and does not say for how long" in second["message"]
    assert asked[1] - asked[0] >= 2
    assert len(asked) == 3


# -- how long it is kept -----------------------------------------------------------------------------------------


def test_what_is_too_much_history_is_still_known_while_its_call_may_be_repeated(launch: Launch) -> None:
    """That the oldest go then is shown by the conformance suite, which has the time."""
    few = launch(vars={"LUNORA_HISTORY_LIMIT": "5", "LUNORA_HISTORY": "1d", "LUNORA_DEAD_RETENTION": "1d"}, name="few")
    few.wait_all({few.schedule("probes:note", {"value": number}, id=f"few-{number}") for number in range(12)})
    for number in range(12):
        assert few.refusal(target="probes:note", id=f"few-{number}")[1] == "DUPLICATE_SCHEDULE_ID"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("LUNORA_HISTORY", "a week", "HISTORY_INVALID"),
        ("LUNORA_HISTORY_LIMIT", "0", "HISTORY_INVALID"),
        ("LUNORA_DEAD_RETENTION", "off", "DEAD_RETENTION_INVALID"),
    ],
)
def test_a_retention_that_cannot_be_is_refused_when_scheduling(
    launch: Launch, name: str, value: str, code: str
) -> None:
    client = launch(vars={name: value}, name=f"with a bad {name}")
    status, given, message = client.refusal(target="probes:note")
    assert (status, given) == (500, code)
    assert message.startswith(f"{name} is {value!r}; it must be")
    client.worker.stop()
