"""Workpools on real workerd: caps hold, what waits starts as soon as there is room, and that survives `kill -9`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.client import ADMIN, Client, wait_for
from tests.integration.conftest import Launch

AT_ONCE_MS = 5_000
"""On a busy machine. Whatever polled would take the 30 s after which an object that runs something wakes anyway."""
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def pooled(launch: Launch) -> Client:
    return launch(name="pooled")


def _enqueue(client: Client, name: str, cap: int, seconds: list[float], **more: Any) -> list[str]:
    ids: list[str] = client.value("action", "pools:enqueue", {"name": name, "cap": cap, "seconds": seconds, **more})
    return ids


def _pool(client: Client, name: str) -> dict[str, Any]:
    pools = client.call("GET", f"{ADMIN}/pools").json()["pools"]
    (pool,) = [pool for pool in pools if pool["name"] == name]
    return dict(pool)


def _steer(client: Client, name: str, how: str, **more: Any) -> dict[str, Any]:
    answer = client.call("POST", f"{ADMIN}/pools/{how}", {"name": name, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["pool"])


def _at_a_time(entries: list[dict[str, Any]]) -> int:
    """How many attempts ran at a time, at most."""
    running: set[tuple[str, int]] = set()
    most = 0
    for entry in entries:
        attempt = entry["job"], entry["attempt"]
        if entry["event"] == "start":
            running.add(attempt)
            most = max(most, len(running))
        else:
            running.discard(attempt)
    return most


def _journal(client: Client, ids: list[str]) -> list[dict[str, Any]]:
    return [entry for entry in client.journal() if entry["job"] in ids]


def _starts(client: Client, ids: list[str]) -> list[str]:
    return [entry["job"] for entry in _journal(client, ids) if entry["event"] == "start"]


def test_a_cap_holds_and_the_next_job_starts_as_soon_as_one_has_ended(pooled: Client) -> None:
    ids = _enqueue(pooled, "capped", 3, [1.0] * 9)
    beside = pooled.schedule("probes:note")
    pooled.wait(beside, "succeeded", within=10)
    pooled.wait_all(set(ids), within=60)
    entries = _journal(pooled, ids)
    assert _at_a_time(entries) == 3
    assert {entry["job"] for entry in entries} == set(ids)
    assert len(entries) == 18
    starts = [entry["at"] for entry in entries if entry["event"] == "start"]
    ends = [entry["at"] for entry in entries if entry["event"] == "end"]
    gaps = [start - end for end, start in zip(ends, starts[3:], strict=False)]
    assert len(gaps) == 6
    assert max(gaps) < AT_ONCE_MS, gaps
    assert _pool(pooled, "capped") == {
        "name": "capped",
        "max_concurrency": 3,
        "paused": False,
        "in_flight": 0,
        "queued": 0,
    }
    assert pooled.get(ids[0])["pool"] == "capped"


def test_jobs_of_a_mutation_run_in_their_pool_if_it_commits(pooled: Client) -> None:
    assert pooled.error("mutation", "pools:book", {"name": "booked", "seconds": [0.1], "fail": True})[1] == (
        "BOOKED_IN_VAIN"
    )
    pooled.value("action", "pools:steer", {"name": "booked", "cap": 2, "do": "status"})
    ids = pooled.mutate("pools:book", {"name": "booked", "seconds": [0.7] * 5})
    pooled.wait_all(set(ids), within=40)
    assert _at_a_time(_journal(pooled, ids)) == 2
    assert _pool(pooled, "booked")["max_concurrency"] == 2


def test_a_pool_that_nobody_gave_a_cap_runs_one_job_at_a_time(pooled: Client) -> None:
    ids = pooled.mutate("pools:book", {"name": "nameless", "seconds": [0.4] * 3})
    pooled.wait_all(set(ids), within=40)
    assert _at_a_time(_journal(pooled, ids)) == 1


def test_a_paused_pool_finishes_what_runs_starts_nothing_and_wakes_nobody(pooled: Client) -> None:
    ids = _enqueue(pooled, "paused", 2, [1.5] * 4)
    wait_for(lambda: len(_starts(pooled, ids)) == 2, "two jobs to start", 20, pooled.status)
    assert _steer(pooled, "paused", "pause")["paused"] is True
    wait_for(lambda: _pool(pooled, "paused")["in_flight"] == 0, "those that run to end", 20, pooled.status)
    # others go on, so passes have been made since, and nothing but history is waited for
    pooled.wait(pooled.schedule("probes:note"), "succeeded")
    wait_for(
        lambda: (status := pooled.status())["alarm"] > status["now"] + DAY_MS, "the alarm to rest", 20, pooled.status
    )
    status = pooled.status()
    assert (status["due"], status["in_flight"]) == (2, 0)
    assert len(_starts(pooled, ids)) == 2
    _enqueue(pooled, "paused", 2, [0.1])
    assert _pool(pooled, "paused") == {
        "name": "paused",
        "max_concurrency": 2,
        "paused": True,
        "in_flight": 0,
        "queued": 3,
    }
    assert _steer(pooled, "paused", "resume")["paused"] is False
    pooled.wait_all(set(ids), within=40)


def test_a_cap_that_is_raised_starts_more_at_once_and_a_lowered_one_lets_them_end(pooled: Client) -> None:
    ids = _enqueue(pooled, "moved", 1, [8.0, 8.0, 8.0, 0.2, 0.2])
    wait_for(lambda: len(_starts(pooled, ids)) == 1, "one job to start", 20, pooled.status)
    assert _steer(pooled, "moved", "cap", max_concurrency=3)["max_concurrency"] == 3
    wait_for(lambda: len(_starts(pooled, ids)) == 3, "three jobs to run", AT_ONCE_MS / 1000, pooled.status)
    assert _pool(pooled, "moved")["in_flight"] == 3
    lowered = pooled.value("action", "pools:steer", {"name": "moved", "cap": 1, "do": "set", "to": 1})
    assert (lowered["max_concurrency"], lowered["in_flight"]) == (1, 3)
    pooled.wait_all(set(ids), within=60)
    entries = _journal(pooled, ids)
    ended = 0
    for entry in entries:
        if entry["event"] == "end":
            ended += 1
        elif entry["job"] not in _starts(pooled, ids)[:3]:
            assert ended >= 3, "one started while more ran than the lowered cap allows"
    assert _at_a_time(entries) == 3


def test_high_priorities_go_first_and_low_ones_last(pooled: Client) -> None:
    _enqueue(pooled, "ranked", 1, [0.01])
    _steer(pooled, "ranked", "pause")
    low, normal, high = (_enqueue(pooled, "ranked", 1, [0.01], priority=priority)[0] for priority in (-1, 0, 1))
    _steer(pooled, "ranked", "resume")
    pooled.wait_all({low, normal, high}, within=40)
    assert _starts(pooled, [low, normal, high]) == [high, normal, low]


def test_a_waiting_job_is_canceled_and_a_running_one_keeps_its_slot(pooled: Client) -> None:
    runs, waits, last = _enqueue(pooled, "canceled", 1, [3.0, 0.1, 0.1])
    wait_for(lambda: _starts(pooled, [runs]), "the first one to start", 20, pooled.status)
    for job_id in (waits, runs):
        assert pooled.value("action", "pools:cancel", {"name": "canceled", "cap": 1, "job_id": job_id}) is True
    assert _pool(pooled, "canceled") == {
        "name": "canceled",
        "max_concurrency": 1,
        "paused": False,
        "in_flight": 1,
        "queued": 1,
    }
    pooled.wait(last, "succeeded", within=40)
    assert pooled.get(runs)["state"] == "canceled"
    assert [(entry["job"], entry["event"]) for entry in _journal(pooled, [runs, waits, last])] == [
        (runs, "start"),
        (runs, "end"),
        (last, "start"),
        (last, "end"),
    ]


def test_a_cap_holds_across_a_kill_and_a_pause_outlasts_it(pooled: Client) -> None:
    held = _enqueue(pooled, "held", 1, [0.1])
    pooled.wait_all(set(held), within=20)
    _steer(pooled, "held", "pause")
    held += [pooled.value("action", "pools:enqueue_one", {"name": "held", "cap": 1, "seconds": 0.1})]
    ids = _enqueue(pooled, "killed", 2, [2.5] * 6)
    wait_for(lambda: len(_starts(pooled, ids)) == 2, "two jobs to start", 20, pooled.status)
    pooled.worker.kill()
    pooled.worker.restart()
    before = _journal(pooled, ids)
    # what was cut off keeps its slots until its lease ends, 35 s after the restart
    assert _pool(pooled, "killed") == {
        "name": "killed",
        "max_concurrency": 2,
        "paused": False,
        "in_flight": 2,
        "queued": 4,
    }
    pooled.wait_all(set(ids), within=90)
    assert _at_a_time(before) == 2
    assert _at_a_time(_journal(pooled, ids)[len(before) :]) == 2
    assert [pooled.get(job_id)["charged"] for job_id in ids] == [2, 2, 1, 1, 1, 1]
    assert pooled.get(held[1])["state"] == "pending"
    _steer(pooled, "held", "resume")
    pooled.wait(held[1], "succeeded")
