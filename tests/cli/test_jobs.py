from __future__ import annotations

import io
import sys

import pytest

from lunorash.codec import MAX_DEPTH

from .conftest import Lunora
from .worker_server import Asked, RealWorker, Scripted

LIST = "GET /_lunora/admin/v1/scheduled/jobs"


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


def test_states_are_in_one_line_the_newest_first_or_the_soonest(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("dead")
    worker.schedule("waits")
    states = ["--state", "dead", "--state", "pending", "--state", "dead"]

    def ids(*arguments: str) -> list[str]:
        done = lunora("jobs", "list", "--url", worker.url, "--format=json", *arguments)
        return [job["id"] for job in done.json["records"]]

    assert ids(*states) == ["waits", "dead"]
    assert ids(*states, "--order", "soonest") == ["dead", "waits"]
    assert ids() == ["waits"]
    assert [asked.query_text for asked in worker.asked] == [
        "limit=100&state=dead&state=pending&order=newest",
        "limit=100&state=dead&state=pending&order=soonest",
        "limit=100&state=running&state=pending&order=soonest",
    ]
    assert lunora("jobs", "list", "--url", worker.url, "--state", "done").status == 2
    assert lunora("jobs", "list", "--url", worker.url, "--order", "oldest").status == 2


def test_filters_choose_what_is_listed_and_counted(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("u1-died", "billing:charge")
    for job_id, target in (("u1-a", "billing:charge"), ("u1-b", "billing:refund"), ("u2-a", "billing:charge")):
        worker.schedule(job_id, target)
    worker.inside(lambda: worker.namespace.default.store.execute("UPDATE jobs SET tags = '[\"eu\"]' WHERE id = 'u1-b'"))

    def ids(*arguments: str) -> str:
        done = lunora("jobs", "list", "--url", worker.url, "--format=json", *arguments)
        told = " ".join(job["id"] for job in done.json["records"])
        states = [] if "--state" in arguments else ["--state", "running", "--state", "pending"]
        counted = lunora("jobs", "count", "--url", worker.url, "--format=json", *arguments, *states)
        assert counted.json == {"count": len(told.split()), "exact": True}
        return told

    assert ids("--function", "billing:charge") == "u1-a u2-a"
    assert ids("--target", "billing", "--id-prefix", "u1") == "u1-a u1-b"
    assert ids("--tag", "eu") == "u1-b"
    assert ids("--pool", "imports") == ""
    assert ids("--state", "dead", "--error", "OUTCOME_UNKNOWN") == "u1-died"
    assert ids("--since", "2030-01-01") == ""
    assert ids("--before", "2030-01-01") == "u1-a u1-b u2-a"
    assert ids("--state", "dead", "--by", "ended", "--since", "2026-01-01") == "u1-died"
    assert ids("--by", "due", "--before", "2026-01-01") == ""
    assert ids("--by", "ended", "--before", "2030-01-01") == ""
    assert lunora("jobs", "count", "--url", worker.url).out == "4\n"


@pytest.mark.parametrize("command", ["list", "count"])
@pytest.mark.parametrize("option", [["--pool", "a b"], ["--function", ""], ["--id-prefix", "-a"], ["--since", "soon"]])
def test_a_filter_that_cannot_be_is_refused_before_anything_is_asked(
    lunora: Lunora, worker: RealWorker, command: str, option: list[str]
) -> None:
    assert lunora("jobs", command, "--url", worker.url, *option).status == 2
    assert worker.asked == []


def test_a_count_that_is_not_exact_says_so(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers["GET /_lunora/admin/v1/scheduled/count"] = {"count": 10_000, "exact": False}
    assert lunora("jobs", "count", "--url", scripted.url).out == "at least 10,000\n"
    scripted.answers["GET /_lunora/admin/v1/scheduled/count"] = {"count": True}
    assert "BAD_ANSWER" in lunora("jobs", "count", "--url", scripted.url).err


def test_a_page_may_be_empty_with_more_to_come(lunora: Lunora, scripted: Scripted) -> None:
    def page(asked: Asked) -> object:
        if asked.query.get("cursor") is None:
            return {"records": [], "truncated": True, "cursor": "newest.5.a", "scanned": 2_000}
        return {"records": [{"id": "j"}], "truncated": False, "scanned": 1}

    scripted.answers[LIST] = page
    told = lunora("jobs", "list", "--tag", "eu", "--url", scripted.url, "--format", "json").json
    assert told == {"records": [{"id": "j"}], "truncated": False}


def test_jobs_are_made_due_now_each_for_itself(lunora: Lunora, worker: RealWorker) -> None:
    worker.bury("died")
    worker.schedule("a")
    store = worker.namespace.default.store
    worker.inside(lambda: store.execute("UPDATE jobs SET due = due + 50000 WHERE id = 'a'"))
    done = lunora("jobs", "run-now", "a", "--url", worker.url)
    assert (done.status, done.out) == (0, "due a\n")
    (row,) = worker.inside(lambda: store.execute("SELECT due FROM jobs WHERE id = 'a'"))
    assert row["due"] == worker.namespace.default.now
    done = lunora("jobs", "run-now", "a", "died", "--url", worker.url, "--format", "json")
    assert done.status == 1
    assert done.json == {"results": [{"id": "a", "due": True}, {"id": "died", "due": False}]}
    assert "no job waits by this id" in lunora("jobs", "run-now", "died", "--url", worker.url).err


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
    scripted.answers["GET /_lunora/admin/v1/scheduled/get"] = {"record": record}
    words = " ".join(lunora("jobs", "get", "j", "--url", scripted.url).out.split())
    for told in ("state expired", '"nightly", "team-a"', "expires_at 2027-01-15", "on_complete billing:told"):
        assert told in words
    assert words.count("lunora/billing.py:3 in charge") == 1, "the same place is told once"
    assert "attempt 2 failed at" in words
    assert "\x1b" not in words
    assert '"tags"' not in lunora("jobs", "get", "j", "--url", scripted.url).out
    scripted.answers["GET /_lunora/admin/v1/scheduled/get"] = {"record": {**record, "tags": [], "failures": []}}
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

    scripted.answers["POST /_lunora/admin/v1/scheduled/cancel"] = cancel
    done = lunora("jobs", "cancel", "a", "b", "--url", scripted.url, "--format", "json")
    assert done.status == 0
    assert done.json["results"] == [
        {"id": "a", "cancelled": False, "error": {"code": "INTERNAL", "message": "incident 7"}},
        {"id": "b", "cancelled": True},
    ]


def test_an_error_that_all_would_meet_is_met_once(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers["POST /_lunora/admin/v1/scheduled/cancel"] = (502, {}, b"bad gateway")
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
