"""Many jobs in one dispatch: one call to their shard, one slot, one lease, and each with an outcome of its own."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch
from tests.integration.origin import Origin


@pytest.fixture(scope="module")
def batching(launch: Launch, origin: Origin) -> Client:
    """A Worker whose dispatches are seen on their way."""
    client = launch(vars={"LUNORA_ORIGIN_URL": origin.url}, name="batching")
    origin.worker_url = client.worker.url
    return client


def _fill(client: Client, kind: str, count: int, *, lead: float, **more: Any) -> list[str]:
    """Book jobs that fall due together, some seconds from now; returns when they do."""
    due = time.time() + lead
    ids: list[str] = client.mutate("batches:fill", {"kind": kind, "count": count, "at_ms": int(due * 1000), **more})
    assert time.time() < due, "booked too late to fall due together"
    return ids


def _carried(origin: Origin, ids: list[str]) -> list[list[str]]:
    """The jobs of each dispatch that carried some of these."""
    bodies = [json.loads(dispatch.body) for dispatch in origin.dispatches]
    batches = [[attempt["job"] for attempt in body["attempts"]] for body in bodies]
    return [batch for batch in batches if not set(ids).isdisjoint(batch)]


def _done(client: Client, ids: list[str]) -> list[dict[str, Any]]:
    return [client.get(job_id) for job_id in ids]


def _settled(client: Client) -> bool:
    status = client.status()
    return bool(status["backlog"] == status["in_flight"] == 0)


def test_fifty_mutations_travel_together_and_one_that_fails_disturbs_no_other(batching: Client, origin: Origin) -> None:
    origin.dispatches.clear()
    ids = _fill(batching, "touch", 300, lead=25, shard="crowded", failing=[7, 120], asking=[3, 8])
    wait_for(lambda: _settled(batching), "all of them to end", 90, batching.status)
    batches = _carried(origin, ids)
    assert [len(batch) for batch in batches[:6]] == [50] * 6
    effects = batching.effects("touch%", "crowded")
    assert Counter(effect["job"] for effect in effects) == Counter(ids), "each has had its effect once"
    second = {ids[7], ids[120]}
    assert {effect["job"] for effect in effects if effect["attempt"] == 2} == second
    for job_id in second:
        record = batching.get(job_id)
        assert (record["state"], record["charged"]) == ("succeeded", 2)
        assert [failure["code"] for failure in record["failures"]] == ["NOT_YET"]
    for job_id in (ids[3], ids[8], ids[9]):  # the first two of them ask the SchedulerDO something
        assert batching.get(job_id)["charged"] == 1


def test_actions_travel_six_at_a_time_and_a_long_one_holds_up_nobody(batching: Client, origin: Origin) -> None:
    origin.dispatches.clear()
    seconds = [20.0 if number == 15 else 0.2 for number in range(36)]
    ids = _fill(batching, "rest", 36, lead=6, seconds=seconds)
    long = ids[15]
    others = [job_id for job_id in ids if job_id != long]
    wait_for(lambda: set(others) <= batching.ids("succeeded"), "the others to succeed", 18, batching.status)
    assert batching.get(long)["state"] == "running"
    (batch,) = [batch for batch in _carried(origin, ids) if long in batch]
    assert len(batch) == 6, "five others came with it, and have succeeded"
    assert [len(batch) for batch in _carried(origin, ids)] == [6] * 6
    beside = batching.schedule("probes:note")
    batching.wait(beside, "succeeded", within=10)
    assert batching.get(long)["state"] == "running"
    assert batching.wait(long, "succeeded", within=40)["charged"] == 1


def test_few_that_are_due_get_a_dispatch_each(batching: Client, origin: Origin) -> None:
    origin.dispatches.clear()
    ids = _fill(batching, "rest", 4, lead=4)
    wait_for(lambda: _settled(batching), "all of them to end", 20, batching.status)
    assert [len(batch) for batch in _carried(origin, ids)] == [1] * 4


def test_a_kill_in_the_middle_of_batches_loses_nothing_and_repeats_no_effect(batching: Client, origin: Origin) -> None:
    touching = _fill(batching, "touch", 200, lead=10, shard="killed")
    resting = _fill(batching, "rest", 18, lead=3, seconds=[30.0] * 18)
    wait_for(lambda: len(batching.effects("touch%", "killed")) >= 20, "some of the effects", 40, batching.status)
    batching.worker.kill()
    origin.dispatches.clear()
    batching.worker.restart()
    wait_for(lambda: _settled(batching), "everything to end", 150, batching.status)
    effects = batching.effects("touch%", "killed")
    assert Counter(effect["job"] for effect in effects) == Counter(touching), "each has had its effect once"
    rested = _done(batching, resting)
    assert {record["state"] for record in rested} == {"succeeded"}
    assert {record["charged"] for record in rested} == {2}
    assert all(len(batch) == 1 for batch in _carried(origin, resting)), "what was cut off travels alone"


def test_without_history_what_has_succeeded_is_gone_and_a_direct_call_is_known_again(launch: Launch) -> None:
    client = launch(vars={"LUNORA_HISTORY": "none", "LUNORA_BATCH_MUTATIONS": "10"}, name="without history")
    ids = client.mutate("batches:fill", {"kind": "touch", "count": 30, "shard": "brief"})
    wait_for(lambda: len(client.effects("touch%", "brief")) == 30, "all effects", 40, client.status)
    wait_for(lambda: _settled(client), "all of them to be settled", 20, client.status)
    assert [client.get(job_id) for job_id in ids] == [None] * 30
    direct = client.schedule("probes:note")
    assert client.wait(direct, "succeeded")["charged"] == 1
    client.worker.stop()
