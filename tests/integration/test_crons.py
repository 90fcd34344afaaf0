"""Crons on real workerd: a trigger runs its jobs, once, side by side, whatever becomes of any of them."""

from __future__ import annotations

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lunorash.crons import CronJob
from lunorash.server.cron_tick import Tick
from tests.integration.client import TOKEN, Client, wait_for
from tests.integration.conftest import Launch

AT = 1_800_000_000_000
CRONS = "/_lunora/admin/cron-jobs"
OK = {"outcome": "ok", "noRetry": True}
FAILED = {"outcome": "exception", "noRetry": True}


@pytest.fixture(scope="module")
def client(launch: Launch) -> Client:
    return launch(name="crons")


@pytest.fixture
def beside() -> Iterator[ThreadPoolExecutor]:
    """Fires what takes a while."""
    with ThreadPoolExecutor(2) as pool:
        yield pool


def fire(client: Client, hour: int, at: int = AT) -> dict[str, Any]:
    return client.worker.trigger_scheduled(f"0 {hour} * * *", at)


def tick(name: str, at: int = AT) -> str:
    """The id of the job that a cron's tick runs as."""
    return Tick.of_schedule(CronJob(name, "", "", {}), at).id


def runs(client: Client, name: str) -> list[dict[str, Any]]:
    """What is on record of a cron job, the newest first."""
    found: list[dict[str, Any]] = client.call("GET", f"{CRONS}/runs", name=name, limit=100).json()["runs"]
    return found


def run_now(client: Client, name: str) -> tuple[int, dict[str, Any]]:
    answer = client.call("POST", f"{CRONS}/run", {"name": name})
    return answer.status_code, answer.json()


def outcomes(client: Client, name: str) -> list[tuple[str, str | None]]:
    return [(run["outcome"], run["error_code"]) for run in runs(client, name)]


# -- a trigger fires -----------------------------------------------------------------------------------------


def test_siblings_run_although_one_of_them_fails_and_the_failure_is_what_the_platform_sees(client: Client) -> None:
    begin = client.worker.log_position()
    assert fire(client, 1) == FAILED, "and it is not to fire again, for the sake of those that succeeded"
    assert [entry["event"] for entry in client.journal(tick("first sibling"))] == ["start", "end"]
    assert [effect["job"] for effect in client.effects("sibling")] == [tick("third sibling")]
    client.worker.wait_for_log("CRON_JOB_FAILED: the cron job 'second sibling' failed: PROBE_FAILED", since=begin)
    assert outcomes(client, "first sibling") == outcomes(client, "third sibling") == [("succeeded", None)]
    assert outcomes(client, "second sibling") == [("failed", "PROBE_FAILED")]


def test_a_tick_that_is_delivered_twice_has_its_effect_once_and_another_tick_has_its_own(client: Client) -> None:
    for at in (AT, AT, AT + 60_000):
        assert fire(client, 2, at) == OK
    times = (AT, AT + 60_000)
    expected = [
        {
            "tag": "ticked",
            "job": tick("mutation", at),
            "incarnation": tick("mutation", at),
            "attempt": 1,
            "user_id": None,
        }
        for at in times
    ]
    assert client.effects("ticked") == expected, "as nobody"
    started = {tick(kind, at) for kind in ("workflow", "agent") for at in times}

    def entries() -> list[str]:
        return [entry["job"] for entry in client.journal() if entry["event"] in ("workflow ticked", "agent ticked")]

    wait_for(lambda: set(entries()) == started, "every instance to run", 20, client.journal)
    assert sorted(entries()) == sorted(started), "once"
    assert outcomes(client, "mutation") == [("succeeded", None)] * 3
    assert {run["scheduled_for"] for run in runs(client, "mutation")} == {*times}


def test_an_expression_that_nobody_has_registered_is_told_with_those_that_are(client: Client) -> None:
    begin = client.worker.log_position()
    assert client.worker.trigger_scheduled("0 0 1 1 *", AT) == OK
    line = client.worker.wait_for_log(r"the trigger 0 0 1 1 \* fired; no cron job is registered for it", since=begin)
    for hour in range(1, 8):
        assert f"'0 {hour} * * *'" in line.string


def test_a_run_that_takes_too_long_is_cut_off(client: Client) -> None:
    assert fire(client, 4) == FAILED
    assert [entry["event"] for entry in client.journal(tick("hasty"))] == ["start"]
    (run,) = runs(client, "hasty")
    assert (run["outcome"], run["error_code"]) == ("failed", "ATTEMPT_TIMED_OUT")
    assert run["error_message"] == "it took longer than its 500 ms"
    assert 500 <= run["ended"] - run["started"] < 10_000


# -- trying again --------------------------------------------------------------------------------------------


def test_what_failed_is_tried_again_by_the_scheduler_until_it_succeeds(client: Client) -> None:
    client.mutate("ledger:close")
    assert fire(client, 5) == FAILED, "this tick has failed, whatever comes after"
    job_id = tick("tried again")
    assert runs(client, "tried again")[0]["job"] == job_id
    client.mutate("ledger:close", {"closed": False})
    record = client.wait(job_id, "succeeded")
    (effect,) = client.effects("tried again")
    assert (effect["job"], effect["incarnation"], effect["user_id"]) == (job_id, job_id, None)
    assert record["scheduled_for"] == AT, "and what it was to run for stays"
    assert 2 <= record["charged"] == record["attempts"] == effect["attempt"] <= 3, "the tick's was the first"


def test_what_fails_for_good_ends_as_a_dead_letter_after_as_many_attempts_as_its_policy_says(client: Client) -> None:
    begin = client.worker.log_position()
    assert fire(client, 6) == FAILED
    client.worker.wait_for_log("2 of 2 cron jobs failed: 'in vain', 'for nothing'", since=begin)
    record = client.wait(tick("in vain"), "dead")
    assert (record["attempts"], record["charged"]) == (3, 3), "two retries are three attempts"
    assert [failure["number"] for failure in record["failures"]] == [3, 2]
    attempts = [entry["attempt"] for entry in client.journal(tick("in vain"))]
    assert attempts == [1, 2, 3]
    assert client.get(tick("for nothing")) is None, "without a policy it is not tried again"


def test_a_mutation_that_had_its_effect_unheard_is_not_applied_again(client: Client) -> None:
    client.arm({"shard": "default", "point": "answering"})
    assert fire(client, 7) == FAILED
    assert client.wait(tick("unheard"), "succeeded")["charged"] == 2
    assert [effect["attempt"] for effect in client.effects("unheard")] == [1]
    assert outcomes(client, "unheard") == [("failed", "SHARD_UNAVAILABLE")]


# -- by hand -------------------------------------------------------------------------------------------------


def test_a_job_that_is_run_by_hand_twice_runs_twice(client: Client) -> None:
    before = len(client.effects("ticked"))
    results = [run_now(client, "mutation") for _ in range(2)]
    assert results == [
        (200, {"name": "mutation", "ran": True, "result": before + 1}),
        (200, {"name": "mutation", "ran": True, "result": before + 2}),
    ]
    first, second = client.effects("ticked")[-2:]
    assert first["job"] != second["job"]
    assert {effect["user_id"] for effect in (first, second)} == {None}
    newest = runs(client, "mutation")[:2]
    assert [(run["trigger"], run["result"]) for run in newest] == [("manual", before + 2), ("manual", before + 1)]


def test_a_failure_by_hand_is_told_with_its_reason(client: Client) -> None:
    status, body = run_now(client, "for nothing")
    assert (status, body["error"]["code"]) == (500, "CRON_JOB_FAILED")
    assert body["error"]["message"] == "the cron job 'for nothing' failed: PROBE_FAILED: it always does"
    assert run_now(client, "nobody")[1]["error"]["code"] == "CRON_JOB_NOT_FOUND"


def test_the_jobs_are_listed_with_their_next_time_and_last_run(client: Client) -> None:
    run_now(client, "mutation")
    jobs = client.call("GET", CRONS).json()["jobs"]
    assert [job["name"] for job in jobs] == sorted(job["name"] for job in jobs)
    (job,) = [job for job in jobs if job["name"] == "mutation"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT02:00:00Z", job["next"])
    assert (job["cron"], job["english"], job["target"]) == ("0 2 * * *", "Every day at 02:00 UTC", "ledger:effect")
    assert (job["last_run"]["outcome"], job["last_run"]["trigger"]) == ("succeeded", "manual")


def test_any_function_is_run_for_whoever_has_the_admin_token(client: Client) -> None:
    answer = client.call("POST", "/_lunora/admin/run", {"path": "ledger:effect", "args": {"tag": "operated"}})
    assert (answer.status_code, answer.json()) == (200, {"value": 1})
    (effect,) = client.effects("operated")
    assert (effect["job"], effect["user_id"]) == (None, None)
    client.http.headers["authorization"] = "Bearer wrong"
    try:
        answer = client.call("POST", "/_lunora/admin/run", {"path": "ledger:effect", "args": {"tag": "operated"}})
    finally:
        client.http.headers["authorization"] = f"Bearer {TOKEN}"
    assert answer.status_code == 403
    assert len(client.effects("operated")) == 1


# -- overlap -------------------------------------------------------------------------------------------------


def started(client: Client, at: int) -> bool:
    return bool(client.journal(tick("alone", at)))


def test_a_tick_is_skipped_while_the_run_before_is_under_way(client: Client, beside: ThreadPoolExecutor) -> None:
    first: Future[dict[str, Any]] = beside.submit(fire, client, 3)
    wait_for(lambda: started(client, AT), "the first run to begin", 10)
    begin = client.worker.log_position()
    assert fire(client, 3, AT + 60_000) == OK, "that is no failure"
    assert run_now(client, "alone")[1] == {"name": "alone", "ran": False, "reason": "the run before is still under way"}
    client.worker.wait_for_log("the cron job 'alone' is skipped", since=begin)
    assert [outcome for outcome, _ in outcomes(client, "alone")] == ["skipped", "skipped", "running"]
    # longer than its lease would be without being renewed would take too long here: the unit tests do that
    assert first.result(timeout=60) == OK
    assert not started(client, AT + 60_000)
    assert [outcome for outcome, _ in outcomes(client, "alone")] == ["skipped", "skipped", "succeeded"]
    assert fire(client, 3, AT + 120_000) == OK, "its turn is over at once"
    assert started(client, AT + 120_000)


def leases(state: Path) -> set[str]:
    """The names of the cron jobs whose lease is on disk."""
    (folder,) = state.rglob("*-ShardDO")
    copy = shutil.copytree(folder, state.parent / "copy")
    (path,) = (path for path in copy.glob("*.sqlite") if path.name != "metadata.sqlite")
    with closing(sqlite3.connect(path)) as database:
        return {name for (name,) in database.execute("SELECT name FROM _lunora_cron_leases")}


def test_a_run_that_was_killed_leaves_its_turn_within_half_a_minute(
    launch: Launch, tmp_path: Path, beside: ThreadPoolExecutor
) -> None:
    client = launch(name="killed crons", persist_to=tmp_path / "state")
    killed = beside.submit(fire, client, 3)
    wait_for(lambda: started(client, AT), "the first run to begin", 10)
    wait_for(lambda: runs(client, "alone"), "the run to be on record", 10)
    client.worker.kill()
    assert killed.exception(timeout=60), "nobody has heard of it again"
    assert leases(tmp_path / "state") == {"alone"}, "nor has it given its lease back"
    client.worker.restart()

    ticks = count(1)

    def has_its_turn() -> bool:
        time.sleep(1)  # each that is skipped is put on record, where there is room for a hundred
        assert fire(client, 3, AT + 60_000 * next(ticks)) == OK
        return outcomes(client, "alone")[0] == ("succeeded", None)

    wait_for(has_its_turn, "another run to have its turn", 60, lambda: runs(client, "alone"))
    found = runs(client, "alone")
    assert (found[-1]["outcome"], found[-1]["ended"]) == ("running", None), "its end never came, and it shows"
    client.worker.stop()
