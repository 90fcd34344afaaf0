"""Jobs on real workerd: they run when they should, once, and can be steered."""

from __future__ import annotations

import time

import pytest

from tests.integration.client import ADMIN, Client, wait_for


def test_a_job_due_in_300_ms_runs_once_and_not_early(shared: Client) -> None:
    job_id = shared.schedule("probes:note", delay_ms=300)
    record = shared.wait(job_id, "succeeded")
    (start,) = [entry for entry in shared.journal(job_id) if entry["event"] == "start"]
    assert start["at"] >= record["scheduled_for"]
    assert record["attempts"] == record["charged"] == 1


def test_200_jobs_due_at_once_all_run_once(shared: Client) -> None:
    due = int(time.time() * 1000) + 3_000
    ids = {shared.schedule("probes:note", {"value": number}, at_ms=due) for number in range(200)}
    assert len(ids) == 200

    def all_done() -> bool:
        starts = [entry["job"] for entry in shared.journal() if entry["event"] == "start" and entry["job"] in ids]
        assert len(starts) == len(set(starts)), "a job ran twice"
        return len(starts) == 200

    wait_for(all_done, "200 jobs to run", 60, shared.status)
    shared.wait_all(ids)


def test_chained_jobs_that_are_due_at_once_all_run(shared: Client) -> None:
    """A1: cloudflare/workerd#6866, an alarm set to now inside alarm() is lost."""
    before = len(shared.journal())
    shared.schedule("probes:chain", {"remaining": 20}, delay_ms=0)
    wait_for(lambda: len(shared.journal()) >= before + 42, "21 jobs to run", 30, lambda: len(shared.journal()) - before)


def test_a_failing_job_is_retried_then_dead_then_redriven_by_hand(shared: Client) -> None:
    job_id = shared.schedule("probes:fail", retry={"max_attempts": 2, "base_ms": 50})
    dead = shared.wait(job_id, "dead")
    assert (dead["attempts"], dead["charged"], dead["error_code"]) == (3, 3, "PROBE_FAILED")
    assert [failure["number"] for failure in dead["failures"]] == [3, 2, 1]
    assert job_id in {letter["id"] for letter in shared.call("GET", f"{ADMIN}/dead").json()["records"]}

    assert shared.call("POST", f"{ADMIN}/dead/retry", {"id": job_id}).json() == {"id": job_id, "retried": True}
    again = wait_for(
        lambda: (record := shared.get(job_id))["attempts"] == 6 and record["state"] == "dead" and record,
        "three further attempts",
        20,
        lambda: shared.get(job_id),
    )
    assert again["incarnation"] != dead["incarnation"]
    assert shared.call("POST", f"{ADMIN}/dead/cancel", {"id": job_id}).json() == {"removed": True}
    assert shared.get(job_id) is None


def test_a_cancelled_job_never_runs(shared: Client) -> None:
    job_id = shared.schedule("probes:note", delay_ms=1_500)
    assert shared.call("POST", f"{ADMIN}/cancel", {"id": job_id}).json() == {"cancelled": True}
    later = shared.schedule("probes:note", delay_ms=2_000)
    shared.wait(later, "succeeded")
    assert shared.get(job_id)["state"] == "canceled"
    assert shared.journal(job_id) == []
    assert shared.call("POST", f"{ADMIN}/cancel", {"id": job_id}).json() == {"cancelled": False}


def test_an_attempt_that_takes_too_long_is_stopped(shared: Client) -> None:
    job_id = shared.schedule("probes:slow", {"seconds": 60}, timeout_ms=300, retry={"max_attempts": 1, "base_ms": 50})
    dead = shared.wait(job_id, "dead")
    assert dead["error_code"] == "ATTEMPT_TIMED_OUT"
    assert [entry["event"] for entry in shared.journal(job_id)] == ["start", "start"]


def test_a_taken_id_is_refused_in_every_state(shared: Client) -> None:
    waiting = shared.schedule("probes:note", id="taken-pending", delay_ms=600_000)
    done = shared.schedule("probes:note", id="taken-history")
    dead = shared.schedule("probes:fail", id="taken-dead", retry={"max_attempts": 1, "base_ms": 10})
    running = shared.schedule("probes:slow", {"seconds": 5}, id="taken-running")
    shared.wait(done, "succeeded")
    shared.wait(dead, "dead")
    shared.wait(running, "running")
    for job_id, word in ((waiting, "pending"), (done, "succeeded"), (dead, "dead"), (running, "running")):
        status, code, message = shared.refusal(target="probes:note", id=job_id)
        assert (status, code) == (409, "DUPLICATE_SCHEDULE_ID")
        assert word in message
    shared.call("POST", f"{ADMIN}/cancel", {"id": waiting})


def test_a_job_for_a_function_that_is_unknown_is_refused(shared: Client) -> None:
    status, code, message = shared.refusal(target="probes:nothing")
    assert (status, code) == (404, "FUNCTION_NOT_FOUND")
    assert "probes:note" in message


def test_arguments_that_do_not_fit_are_refused_with_every_reason(shared: Client) -> None:
    status, code, message = shared.refusal(target="probes:slow", args={"minutes": 1})
    assert (status, code) == (400, "INVALID_INPUT")
    assert "seconds: Field required" in message
    assert "minutes: Extra inputs are not permitted" in message


def test_lists_come_in_pages_that_miss_nothing(shared: Client) -> None:
    ids = [shared.schedule("probes:note", delay_ms=3_600_000 + number) for number in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = shared.call("GET", ADMIN, **query).json()
        assert len(page["records"]) <= 3
        seen += [record["id"] for record in page["records"]]
        cursor = page.get("cursor")
        assert page["truncated"] is (cursor is not None)
        if cursor is None:
            break
    assert [job_id for job_id in seen if job_id in ids] == ids
    assert len(seen) == len(set(seen))
    for job_id in ids:
        shared.call("POST", f"{ADMIN}/cancel", {"id": job_id})


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"limit": "0"}, "INVALID_INPUT"),
        ({"limit": "101"}, "INVALID_INPUT"),
        ({"limit": "x"}, "INVALID_INPUT"),
        ({"cursor": "x"}, "INVALID_INPUT"),
        ({"state": "lost"}, "INVALID_INPUT"),
    ],
)
def test_a_page_that_cannot_be_is_refused(shared: Client, query: dict[str, str], code: str) -> None:
    answer = shared.call("GET", ADMIN, **query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_waits_that_ended_in_time_leave_no_timers_behind(shared: Client) -> None:
    """A Durable Object may have 10,000 timers, and Pyodide keeps those that were not needed until they have fired."""
    ids = {shared.schedule("probes:note", {"value": number}) for number in range(60)}
    shared.wait_all(ids)
    timers = shared.call("GET", "/test/timers").json()["timers"]
    assert 0 < timers < 60
