from __future__ import annotations

import io
import sys

import pytest

from lunorash.codec import MAX_DEPTH

from .conftest import Lunora
from .worker_server import RealWorker, Scripted

LIST = "GET /_lunora/admin/scheduled"


def test_what_waits_is_listed(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("z")
    worker.schedule("a", "billing:charge")
    worker.schedule("b")
    done = lunora("jobs", "list", "--url", worker.url)
    assert done.status == 0
    head, *rows = done.out.splitlines()
    assert head.split() == ["ID", "TARGET", "STATE", "DUE", "ATTEMPTS", "ERROR"]
    assert [row.split()[:4] for row in rows] == [
        ["a", "billing:charge", "pending", "2027-01-15T08:00:30Z"],
        ["b", "email:send", "pending", "2027-01-15T08:00:30Z"],
    ]


def test_nothing_to_list(lunora: Lunora, worker: RealWorker) -> None:
    assert lunora("jobs", "list", "--url", worker.url).out == "there are no such jobs\n"
    assert lunora("jobs", "list", "--url", worker.url, "--format", "json").json == {"records": [], "truncated": False}


def test_states_come_in_the_order_in_which_they_were_named(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("dead")
    worker.schedule("waits")
    states = ["--state", "dead", "--state", "pending", "--state", "dead"]
    done = lunora("jobs", "list", "--url", worker.url, "--format=json", *states)
    assert [job["id"] for job in done.json["records"]] == ["dead", "waits"]
    assert [asked.query.get("state") for asked in worker.asked] == ["dead", "pending"]
    assert lunora("jobs", "list", "--url", worker.url, "--state", "done").status == 2


def test_pages_are_followed_until_the_limit(lunora: Lunora, worker: RealWorker) -> None:
    for number in range(230):
        worker.schedule(f"j{number:03}")

    def ids(limit: int) -> tuple[list[str], bool]:
        told = lunora("jobs", "list", "--url", worker.url, "--format", "json", "--limit", str(limit)).json
        return [job["id"] for job in told["records"]], told["truncated"]

    every = [f"j{number:03}" for number in range(230)]
    assert ids(5) == (every[:5], True)
    assert ids(100) == (every[:100], True)
    assert ids(229) == (every[:229], True)
    assert ids(230) == (every, False)
    assert ids(1000) == (every, False)
    assert "there are more than these 5" in lunora("jobs", "list", "--url", worker.url, "--limit", "5").err
    assert lunora("jobs", "list", "--url", worker.url, "--limit", "0").status == 2


def test_a_cursor_that_leads_nowhere_ends(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[LIST] = {"records": [], "truncated": True, "cursor": "again"}
    done = lunora("jobs", "list", "--url", scripted.url)
    assert done.status == 1
    assert "BAD_ANSWER" in done.err
    assert len(scripted.asked) == 2


@pytest.mark.parametrize("told", [{}, {"records": {}}, {"records": [1]}, {"records": None}])
def test_an_answer_of_another_shape_is_no_traceback(lunora: Lunora, scripted: Scripted, told: object) -> None:
    scripted.answers[LIST] = told
    done = lunora("jobs", "list", "--url", scripted.url)
    assert done.status == 1
    assert "BAD_ANSWER" in done.err


def test_one_job_is_shown_with_all_that_is_known(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("j", "billing:charge", user_id="u1")
    done = lunora("jobs", "get", "j", "--url", worker.url)
    assert done.status == 0
    words = " ".join(done.out.split())
    for told in ("target billing:charge", "state dead", '"user_id": "u1"', "its last attempts that failed"):
        assert told in words
    assert done.out.count("OUTCOME_UNKNOWN") == 3
    record = lunora("jobs", "get", "j", "--url", worker.url, "--format", "json").json["record"]
    assert [failure["number"] for failure in record["failures"]] == [2, 1]


def test_a_job_is_shown_with_its_options_and_with_where_it_failed(lunora: Lunora, scripted: Scripted) -> None:
    failure = {"number": 1, "code": "BOOM", "message": "no", "traceback": "lunora/billing.py:3 in charge\n\x1b[31mred"}
    record = {
        "id": "j",
        "state": "expired",
        "tags": ["nightly", "team-a"],
        "expires_at": 1_800_000_000_000,
        "on_complete": "billing:told",
        "failures": [{**failure, "number": 2}, failure, {**failure, "traceback": None}],
    }
    scripted.answers[f"{LIST}/get"] = {"record": record}
    words = " ".join(lunora("jobs", "get", "j", "--url", scripted.url).out.split())
    for told in ("state expired", '"nightly", "team-a"', "expires_at 2027-01-15", "on_complete billing:told"):
        assert told in words
    assert words.count("lunora/billing.py:3 in charge") == 1, "the same place is told once"
    assert "attempt 2 failed at" in words
    assert "\x1b" not in words
    assert '"tags"' not in lunora("jobs", "get", "j", "--url", scripted.url).out
    scripted.answers[f"{LIST}/get"] = {"record": {**record, "tags": [], "failures": []}}
    assert "tags" not in lunora("jobs", "get", "j", "--url", scripted.url).out


def test_a_job_with_the_deepest_arguments_there_can_be_is_shown(lunora: Lunora, worker: RealWorker) -> None:
    deep: object = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    worker.schedule("deep", args={"deep": deep})
    assert lunora("jobs", "list", "--url", worker.url, "--format", "json").json["records"][0]["args"] == {"deep": deep}


def test_a_job_that_is_not_there(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("jobs", "get", "nobody", "--url", worker.url, "--format", "json")
    assert done.status == 1
    assert done.json["error"]["code"] == "JOB_NOT_FOUND"
    assert lunora("jobs", "get", "no/id", "--url", worker.url).status == 2
    assert len(worker.asked) == 1


def test_jobs_are_cancelled_each_for_itself(lunora: Lunora, worker: RealWorker) -> None:
    worker.schedule("a")
    worker.schedule("b")
    done = lunora("jobs", "cancel", "a", "nobody", "a", "--url", worker.url)
    assert done.status == 0
    assert done.out == "cancelled a\n"
    assert done.err == "not cancelled nobody: there is no such job, or it has ended\n"
    assert worker.states() == {"a": "canceled", "b": "pending"}
    again = lunora("jobs", "cancel", "a", "--url", worker.url, "--format", "json")
    assert again.status == 1
    assert again.json == {"results": [{"id": "a", "cancelled": False}]}


def test_an_id_that_cannot_be_is_refused_before_any_is_cancelled(lunora: Lunora, worker: RealWorker) -> None:
    worker.schedule("a")
    done = lunora("jobs", "cancel", "a", "b c", "--url", worker.url)
    assert done.status == 2
    assert "'b c' cannot be used" in done.err
    assert worker.asked == []


def test_an_error_of_one_does_not_keep_the_others_from_being_tried(lunora: Lunora, scripted: Scripted) -> None:
    def cancel(asked: object) -> object:
        refusal: object = (500, {}, b'{"error": {"code": "INTERNAL", "message": "incident 7"}}')
        return refusal if len(scripted.asked) == 1 else {"cancelled": True}

    scripted.answers["POST /_lunora/admin/scheduled/cancel"] = cancel
    done = lunora("jobs", "cancel", "a", "b", "--url", scripted.url, "--format", "json")
    assert done.status == 0
    assert done.json["results"] == [
        {"id": "a", "cancelled": False, "error": {"code": "INTERNAL", "message": "incident 7"}},
        {"id": "b", "cancelled": True},
    ]


def test_an_error_that_all_would_meet_is_met_once(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers["POST /_lunora/admin/scheduled/cancel"] = (502, {}, b"bad gateway")
    done = lunora("jobs", "cancel", "a", "b", "c", "--url", scripted.url, "--format", "json")
    assert done.status == 1
    assert [result["error"]["code"] for result in done.json["results"]] == ["BAD_ANSWER", "NOT_TRIED", "NOT_TRIED"]
    assert len(scripted.asked) == 1


# -- all at once ---------------------------------------------------------------------------------------------


def test_all_that_the_filters_let_through_are_cancelled(lunora: Lunora, worker: RealWorker) -> None:
    for job_id, target in (("a", "billing:charge"), ("b", "billing:refund"), ("c", "email:send")):
        worker.schedule(job_id, target)
    done = lunora("jobs", "cancel", "--all", "--target", "billing", "--yes", "--url", worker.url)
    assert (done.status, done.out) == (0, "cancelled a\ncancelled b\n")
    assert worker.states() == {"a": "canceled", "b": "canceled", "c": "pending"}
    done = lunora("jobs", "cancel", "--all", "--pool", "imports", "--yes", "--url", worker.url, "--format", "json")
    assert (done.status, done.json) == (0, {"results": []})
    assert lunora("jobs", "cancel", "--all", "--state", "running", "--yes", "--url", worker.url).status == 0
    assert worker.states()["c"] == "pending"
    assert lunora("jobs", "cancel", "--all", "--limit", "1", "--yes", "--url", worker.url).out == "cancelled c\n"


@pytest.mark.parametrize("text", ["y\n", "n\n"])
def test_the_question_says_how_many(
    lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    worker.schedule("a", "billing:charge")
    worker.schedule("b")
    stdin = io.StringIO(text)
    stdin.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", stdin)
    done = lunora("jobs", "cancel", "--all", "--url", worker.url)
    assert "Cancel 2 jobs (1 of billing:charge, 1 of email:send)? [y/N]" in done.err
    agreed = text == "y\n"
    assert done.status == (0 if agreed else 1)
    assert set(worker.states().values()) == {"canceled" if agreed else "pending"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--all"], "there is no terminal to ask on; add --yes"),
        ([], "name the jobs to cancel by ID, or say --all"),
        (["a", "--all", "--yes"], "not both"),
        (["a", "--target", "x"], "filters choose among --all"),
        (["--all", "--yes", "--pool", "a b"], "the pool 'a b' cannot be used"),
        (["--all", "--yes", "--target", ""], "target is ''"),
        (["--all", "--yes", "--state", "dead"], "dead"),
    ],
)
def test_a_cancel_that_makes_no_sense_asks_for_nothing(
    lunora: Lunora, worker: RealWorker, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    done = lunora("jobs", "cancel", "--url", worker.url, *arguments)
    assert done.status == 2
    assert why in done.err
    assert worker.asked == []
