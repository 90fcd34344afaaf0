"""Mutations are transactions: what they write and what they schedule happens together, or not at all."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import APP

UNRULY = Path(APP, "lunora", "unruly.py").read_text(encoding="utf-8").splitlines()


def line_of(marker: str) -> str:
    """Where in unruly.py a comment stands."""
    (number,) = [number for number, line in enumerate(UNRULY, 1) if line.endswith(f"# {marker}")]
    return f"unruly.py:{number}"


def follow(client: Client, tag: str) -> None:
    """Wait until a job that was scheduled now has had its effect: whatever was due before it has run."""
    client.mutate("ledger:book", {"tags": [f"after {tag}"]})
    wait_for(lambda: client.effects(f"after {tag}"), "a later job", 20, client.status)


def tags(client: Client, prefix: str) -> list[str]:
    return [effect["tag"] for effect in client.effects(f"{prefix}%")]


def test_what_is_written_and_scheduled_happens_and_the_ids_are_those_that_run(shared: Client) -> None:
    names = [f"kept {number}" for number in range(5)]
    ids = shared.mutate("ledger:book", {"tags": names})
    assert shared.booked("kept%") == dict(zip(names, ids, strict=True))
    for job_id in ids:
        assert shared.wait(job_id, "succeeded")["charged"] == 1
    assert {effect["tag"]: effect["job"] for effect in shared.effects("kept%")} == dict(zip(names, ids, strict=True))


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("raises", "UNRULY", "it always is"),
        ("bad_delay", "INVALID_INPUT", "delay is -5"),
        ("bad_arguments", "INVALID_INPUT", "tug: Extra inputs"),
        ("unknown_function", "FUNCTION_NOT_FOUND", "ledger:affect"),
        ("unencodable", "RESULT_INVALID", "the result.deep[0] is of type object"),
        ("bad_sql", "SQL_FAILED", "incident"),
        ("sleeps", "MUTATION_YIELDED", line_of("sleeps here")),
        ("gathers", "MUTATION_YIELDED", line_of("gathers here")),
        ("starts_a_task", "MUTATION_YIELDED", "unruly.py:"),
        ("fetches", "MUTATION_YIELDED", line_of("fetches here")),
        ("swallows", "MUTATION_YIELDED", line_of("swallows here")),
        ("insists", "MUTATION_YIELDED", line_of("insists here")),
        ("nests_a_sleeper", "MUTATION_YIELDED", line_of("sleeps inside here")),
    ],
)
def test_a_mutation_that_fails_writes_nothing_and_schedules_nothing(
    shared: Client, name: str, code: str, says: str
) -> None:
    _, given, message = shared.error("mutation", f"unruly:{name}", {"tag": f"unruly-{name}"})
    assert given == code
    assert says in message
    follow(shared, name)
    assert tags(shared, f"unruly-{name}") == []
    assert tags(shared, "late") == tags(shared, "swallowed") == []
    assert shared.get(f"unruly-{name}") is None


def test_what_sqlite_says_is_for_the_log_and_not_for_the_caller(shared: Client) -> None:
    begin = shared.worker.log_position()
    _, _, message = shared.error("mutation", "unruly:bad_sql", {"tag": "unruly-sql"})
    incident = message.rpartition(" ")[2]
    assert "nowhere" not in message
    assert "no such table: nowhere" in shared.worker.wait_for_log(incident, since=begin).string


def test_a_mutation_that_fails_can_be_called_again_under_the_same_ids(shared: Client) -> None:
    args = {"tags": ["in vain"], "fail": True}
    answer = shared.post("mutation", "ledger:book", args)
    assert answer.status_code == 418
    assert answer.json()["error"]["data"] == {"tags": ["in vain"]}
    assert shared.booked("in vain") == {}
    shared.mutate("ledger:book", {**args, "fail": False})
    wait_for(lambda: shared.effects("in vain"), "the job", 10)


def test_a_job_that_was_scheduled_and_cancelled_in_one_mutation_never_existed(shared: Client) -> None:
    assert shared.mutate("asking:schedule_and_cancel", {"tag": "taken-back"}) is True
    follow(shared, "taken back")
    assert shared.get("taken-back") is None
    assert tags(shared, "taken-back") == []


def test_an_id_that_was_taken_back_can_be_used_in_the_same_mutation(shared: Client) -> None:
    assert shared.mutate("asking:schedule_and_cancel", {"tag": "once-more", "again": True}) is True
    shared.wait("once-more", "succeeded")
    assert tags(shared, "once-more") == ["once-more again"]


def test_a_mutation_cancels_a_job_of_before_and_says_that_it_is_requested(shared: Client) -> None:
    (job_id,) = shared.mutate("ledger:book", {"tags": ["cancelled"], "delay_ms": 1_000})
    assert shared.mutate("asking:cancel", {"job_id": job_id}) is None
    shared.wait(job_id, "canceled")
    shared.mutate("ledger:book", {"tags": ["after its time"], "delay_ms": 1_000})
    wait_for(lambda: shared.effects("after its time"), "a later job", 10)
    assert tags(shared, "cancelled") == []


def test_calls_reach_the_scheduler_in_the_order_in_which_they_were_made(shared: Client) -> None:
    # a cancel of what is not there yet does not reach the job that is scheduled after it
    assert shared.mutate("asking:cancel", {"job_id": "in-order", "then": "in order"}) is None
    assert shared.wait("in-order", "succeeded")["charged"] == 1
    # and one that comes after does, whether or not both were sent together
    for number in range(5):
        shared.mutate("asking:schedule", {"job_id": f"ordered-{number}", "tag": "ordered", "delay_ms": 500})
        shared.mutate("asking:cancel", {"job_id": f"ordered-{number}"})
    shared.mutate("asking:schedule", {"job_id": "ordered-last", "tag": "ordered last", "delay_ms": 500})
    shared.wait("ordered-last", "succeeded")
    assert tags(shared, "ordered") == ["ordered last"]


def test_a_job_whose_id_is_taken_becomes_a_dead_letter_and_those_behind_it_run(shared: Client) -> None:
    shared.mutate("asking:schedule", {"job_id": "taken-by-one", "tag": "first"})
    shared.wait("taken-by-one", "succeeded")
    before = shared.ids("dead")
    shared.mutate("asking:schedule", {"job_id": "taken-by-one", "tag": "second"})
    (buried,) = wait_for(lambda: shared.ids("dead") - before, "the dead letter", 10)
    record = shared.get(buried)
    assert (record["error_code"], record["args"]) == ("DUPLICATE_SCHEDULE_ID", {"tag": "second"})
    follow(shared, "one that was refused")
    assert tags(shared, "second") == []


def test_get_and_list_are_answered_by_running_the_body_again_with_what_it_has_learned(shared: Client) -> None:
    (job_id,) = shared.mutate("ledger:book", {"tags": ["looked at"], "delay_ms": 600_000})
    args: dict[str, Any] = {"tag": "asked", "ids": [job_id, "nobody", job_id]}
    asked = shared.mutate("asking:get", args)
    # two different questions: two rounds that were rolled back, and a third that knew both answers
    assert (asked["states"], asked["runs"]) == (["pending", None, "pending"], 3)
    assert tags(shared, "asked") == ["asked"]

    for number in range(5):
        shared.mutate("asking:schedule", {"job_id": f"listed-{number}", "tag": "x", "delay_ms": 590_000 + number})
    assert shared.mutate("asking:listed", {"tag": "listed-"}) == [f"listed-{number}" for number in range(5)]


def test_a_question_that_the_body_swallows_is_answered_all_the_same(shared: Client) -> None:
    asked = shared.mutate("asking:get", {"tag": "swallowing", "ids": ["nobody"], "swallow": True})
    assert (asked["states"], asked["runs"]) == ([None], 2)


def test_a_mutation_that_asks_without_end_is_refused_and_writes_nothing(shared: Client) -> None:
    args: dict[str, Any] = {"tag": "curious", "ids": [f"nobody-{number}" for number in range(9)]}
    _, code, message = shared.error("mutation", "asking:get", args)
    assert code == "TOO_MANY_QUESTIONS"
    assert "more than 8" in message
    assert tags(shared, "curious") == []
    assert shared.mutate("asking:get", {**args, "tag": "less curious", "ids": args["ids"][:8]})["runs"] == 9


def test_get_finds_a_job_that_the_same_mutation_has_scheduled(shared: Client) -> None:
    runs, record = shared.mutate("asking:schedule_and_get", {"tag": "just-scheduled"})
    assert runs == 1
    assert record == ["just-scheduled", "pending", "ledger:effect", {"tag": "just-scheduled"}]
    assert shared.get("just-scheduled")["state"] == "pending"


def test_a_nested_mutation_that_commits_hands_its_calls_to_the_outer_one(shared: Client) -> None:
    assert shared.mutate("asking:outer", {"tag": "nest"}) == "nest done"
    shared.wait("nest-inner", "succeeded")
    assert shared.get("nest-outer") is None
    assert sorted(tags(shared, "nest ")) == ["nest inner", "nest row"]


def test_a_nested_mutation_that_fails_drops_only_what_it_did_itself(shared: Client) -> None:
    assert shared.mutate("asking:outer", {"tag": "half", "inner_fails": True}) == "INNER"
    shared.wait("half-outer", "succeeded")
    assert shared.get("half-inner") is None
    assert tags(shared, "half ") == ["half outer"]


def test_what_a_nested_mutation_did_is_undone_with_the_outer_one(shared: Client) -> None:
    _, code, _ = shared.error("mutation", "asking:outer", {"tag": "gone", "fail": True})
    assert code == "OUTER"
    follow(shared, "gone")
    assert tags(shared, "gone ") == []
    assert shared.get("gone-inner") is shared.get("gone-outer") is None


def test_a_nested_mutation_on_another_shard_is_refused_and_says_so(shared: Client) -> None:
    _, code, message = shared.error("mutation", "asking:on_another_shard", {"tag": "elsewhere"})
    assert code != "INTERNAL"
    assert "shard" in message
    assert tags(shared, "elsewhere") == []
    assert shared.effects("elsewhere", shard="another") == []


def test_150_jobs_of_one_mutation_all_run_once(shared: Client) -> None:
    names = [f"many {number:03}" for number in range(150)]
    ids = shared.mutate("ledger:book", {"tags": names})
    assert len(set(ids)) == 150
    wait_for(lambda: len(shared.effects("many%")) >= 150, "150 effects", 40, shared.status)
    assert {effect["job"]: effect["tag"] for effect in shared.effects("many%")} == dict(zip(ids, names, strict=True))
    assert len(shared.effects("many%")) == 150


def test_50_mutations_at_once_on_one_shard_come_one_after_the_other(shared: Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        counts = list(pool.map(lambda _: shared.mutate("asking:count_up_and_book", {"name": "tally"}), range(50)))
    assert sorted(counts) == list(range(1, 51))
    assert shared.query("kinds:kept", {"name": "tally"}) == 50
    wait_for(lambda: len(shared.effects("tally %")) >= 50, "50 effects", 30, shared.status)
    assert sorted(tags(shared, "tally "), key=lambda tag: int(re.sub(r"\D", "", tag))) == [
        f"tally {number}" for number in range(1, 51)
    ]
