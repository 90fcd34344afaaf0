"""A job that is a mutation has its effect once, however often it is delivered; a redriven one has it again."""

from __future__ import annotations

from tests.integration.client import ADMIN, Client, wait_for
from tests.integration.origin import Origin, forward, forward_twice


def test_a_mutation_that_is_delivered_twice_at_once_has_its_effect_once(
    relayed: Client, relay: Origin, cut_off: dict[str, str]
) -> None:
    relay.behaviour, relay.statuses = forward_twice, []
    (job_id,) = relayed.mutate("ledger:book", {"tags": ["twice"], "then": ["after"]})
    assert relayed.wait(job_id, "succeeded")["charged"] == 1
    wait_for(lambda: relayed.effects("twice after"), "the job that it has booked", 10, relayed.status)
    relayed.wait(relayed.booked("twice after")["twice after"], "succeeded")
    relay.behaviour = forward
    # the second of each pair is refused by begin: it does not even reach the shard
    assert sorted(relay.statuses) == [200, 200, 403, 403]
    assert len(relayed.effects("twice")) == len(relayed.effects("twice after")) == 1


def test_an_attempt_that_fails_after_it_committed_is_replayed_by_the_next_one(relayed: Client) -> None:
    relayed.arm({"shard": "replays", "point": "answering", "after": 1, "times": 2})
    (job_id,) = relayed.mutate(
        "ledger:book", {"tags": ["replayed"], "shard": "replays", "then": ["then"]}, shard="replays"
    )
    record = relayed.wait(job_id, "succeeded")
    ((booked, _),) = relayed.value("action", "ledger:states", {"shards": ["replays"]})
    follower = booked[-1]["job"]
    followed = relayed.wait(follower, "succeeded")
    # whichever of the two came second, two attempts were not heard of
    assert record["charged"] + followed["charged"] == 4
    failures = [*record["failures"], *followed["failures"]]
    assert [failure["code"] for failure in failures] == ["SHARD_UNAVAILABLE"] * 2
    # it was the first attempt that had the effect
    for tag, job in (("replayed", job_id), ("replayed then", follower)):
        assert [(effect["job"], effect["attempt"]) for effect in relayed.effects(tag, "replays")] == [(job, 1)]


def test_a_dead_letter_that_is_redriven_has_its_effect_again(relayed: Client) -> None:
    # both attempts commit, and the scheduler hears of neither
    relayed.arm({"shard": "redriven", "point": "answering", "times": 2})
    job_id = relayed.schedule(
        "ledger:effect", {"tag": "redriven"}, shard_key="redriven", retry={"max_attempts": 1, "base_ms": 10}
    )
    dead = relayed.wait(job_id, "dead")
    assert dead["charged"] == 2
    assert [effect["incarnation"] for effect in relayed.effects("redriven", "redriven")] == [dead["incarnation"]]

    assert relayed.call("POST", f"{ADMIN}/dead/retry", {"id": job_id}).json()["retried"] is True
    again = relayed.wait(job_id, "succeeded")
    assert again["incarnation"] != dead["incarnation"]
    effects = relayed.effects("redriven", "redriven")
    assert [effect["incarnation"] for effect in effects] == [dead["incarnation"], again["incarnation"]]
    assert {effect["job"] for effect in effects} == {job_id}


def test_an_attempt_that_fails_without_a_commit_leaves_nothing_and_is_run_again(relayed: Client) -> None:
    relayed.mutate("ledger:close")
    job_id = relayed.schedule(
        "ledger:effect_unless_closed", {"tag": "refused"}, retry={"max_attempts": 1, "base_ms": 10}
    )
    assert relayed.wait(job_id, "dead")["error_code"] == "LEDGER_CLOSED"
    assert relayed.effects("refused") == []
    relayed.mutate("ledger:close", {"closed": False})
    assert relayed.call("POST", f"{ADMIN}/dead/retry", {"id": job_id}).json()["retried"] is True
    relayed.wait(job_id, "succeeded")
    assert [effect["job"] for effect in relayed.effects("refused")] == [job_id]
