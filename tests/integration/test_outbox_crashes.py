"""Shards that crash around a commit: what was committed runs once in effect, what was not never does."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch

ROUNDS = 100
State = list[list[dict[str, Any]]]
"""What was booked on a shard, and the effects of it."""
POINTS = BEFORE, COMMITTED, ACCEPTED = "before commit", "committed", "accepted"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def crashing(launch: Launch, state: Path) -> Iterator[Client]:
    # a dispatch within the Worker is the cheaper one, and there are many
    client = launch(name="crashing", persist_to=state, vars={"LUNORA_DISPATCH": "loopback"})
    yield client
    client.worker.stop()


class Round:
    """Mutations on a shard of their own, some of which crash as a seed says."""

    def __init__(self, client: Client, point: str, seed: int) -> None:
        self.shard = f"{point} {seed}"
        self.point = point
        self._client = client
        self._random = Random(self.shard)  # noqa: S311 - so that a seed can be run again
        self._point = self._random.choice([BEFORE, "as it commits"]) if point == BEFORE else point
        self._kept: set[str] = set()
        self._lost: set[str] = set()
        self._unknown: list[set[str]] = []

        # which of the calls crash: this mutation, that of a job, the repairing alarm, or several of them
        self._after = self._random.choice([0, 0, 1, 2])

    @property
    def failpoint(self) -> dict[str, Any]:
        times = self._random.choice([1, 1, 2])
        return {"shard": self.shard, "point": self._point, "after": self._after, "times": times}

    def run(self) -> None:
        """Once its failpoint is armed."""
        random = self._random
        if random.random() < 0.2:
            self._book("rolled back", fail=True)
        self._book("crashing", certain=self._after == 0 and not self._lost)
        if random.random() < 0.2:
            self._book("after")

    def _book(self, name: str, *, fail: bool = False, certain: bool = False) -> None:
        random = self._random
        tags = [f"{name} {number}" for number in range(random.choice([1, 1, 1, 2]))]
        args: dict[str, Any] = {
            "tags": tags,
            "shard": self.shard,
            "delay_ms": random.choice([0, 0, 50, 2_500]),
            "then": ["then"] * random.choice([0, 0, 1]),
            "fail": fail,
        }
        answer = self._client.post("mutation", "ledger:book", args, shard=self.shard)
        if fail:
            assert answer.status_code in (418, 503), answer.text
            self._lost |= {*tags}
        elif answer.status_code == 200:
            assert not certain, "it should have crashed"
            self._kept |= {*tags}
        else:
            assert answer.status_code == 503, (answer.status_code, answer.text)
            assert answer.json()["error"]["code"] == "SHARD_UNAVAILABLE", answer.text
            if not certain:
                self._unknown.append({*tags})
            elif self._point in (COMMITTED, ACCEPTED):
                self._kept |= {*tags}
            else:
                self._lost |= {*tags}

    def over(self, state: State) -> bool:
        """Whether all that was booked has happened."""
        booked, ran = ({row["tag"] for row in rows} for rows in state)
        return self._kept | booked <= ran

    def check(self, state: State) -> set[str]:
        """Everything happened once, or not at all; returns the ids of the jobs."""
        booked, effects = ([(row["tag"], row["job"]) for row in rows] for rows in state)
        assert sorted(effects) == sorted(booked), f"{self.shard!r}: not once each"
        tags = {tag for tag, _ in booked}
        assert self._kept <= tags, f"{self.shard!r}: committed, and gone"
        assert not self._lost & tags, f"{self.shard!r}: rolled back, and yet there"
        for some in self._unknown:
            assert some <= tags or not some & tags, f"{self.shard!r}: half of a mutation"
        return {job for _, job in booked}


@pytest.fixture(scope="module")
def rounds(crashing: Client) -> list[Round]:
    """Rounds for each point, all of them done; what they have scheduled goes on."""
    rounds = [Round(crashing, point, seed) for seed in range(ROUNDS) for point in POINTS]
    for first in range(0, len(rounds), 50):
        crashing.arm(*(crashed.failpoint for crashed in rounds[first : first + 50]))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(Round.run, rounds))
    return rounds


@pytest.fixture(scope="module")
def states(crashing: Client, rounds: list[Round]) -> dict[str, State]:
    """What the shards have in the end, by their keys."""
    waiting = rounds

    def all_over() -> bool:
        nonlocal waiting
        states = _read(crashing, waiting)
        waiting = [crashed for crashed in waiting if not crashed.over(states[crashed.shard])]
        return not waiting

    wait_for(all_over, "all that was booked to happen", 60, lambda: _read(crashing, waiting))
    wait_for(lambda: not crashing.ids("pending") | crashing.ids("running"), "all jobs to be settled", 20)
    return _read(crashing, rounds)


@pytest.mark.parametrize("point", POINTS)
def test_100_seeded_crashes_lose_nothing_and_double_nothing(
    rounds: list[Round], states: dict[str, State], point: str
) -> None:
    crashed = [round_ for round_ in rounds if round_.point == point]
    assert len(crashed) == ROUNDS
    for round_ in crashed:
        round_.check(states[round_.shard])


def test_no_job_was_ever_scheduled_that_nobody_has_booked(
    crashing: Client, rounds: list[Round], states: dict[str, State]
) -> None:
    booked = {job_id for round_ in rounds for job_id in round_.check(states[round_.shard])}
    assert crashing.ids("succeeded") == booked
    assert crashing.ids("dead") | crashing.ids("canceled") == set()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_kill_at_each_of_the_points_loses_nothing_and_doubles_nothing(
    crashing: Client, state: Path, tmp_path: Path, number: int
) -> None:
    tags = {point: f"kill {number} {point}" for point in (COMMITTED, ACCEPTED, BEFORE)}
    crashing.arm(*({"shard": shard, "point": point, "hang": True} for point, shard in tags.items()))
    begin = crashing.worker.log_position()

    def book(point: str) -> None:
        with suppress(httpx.HTTPError):
            args = {"tags": [tags[point]], "shard": tags[point], "delay_ms": 4_000, "then": ["then"]}
            crashing.post("mutation", "ledger:book", args, shard=tags[point])

    with ThreadPoolExecutor(3) as pool:
        for point in (COMMITTED, ACCEPTED):
            pool.submit(book, point)
        for point in (COMMITTED, ACCEPTED):
            crashing.worker.wait_for_log(f"hanging: {point}", since=begin)
        # this one holds up the whole Worker, so that nothing is repaired meanwhile
        pool.submit(book, BEFORE)
        wait_for(lambda: _is_stuck(crashing), "the Worker to be stuck", 10)
        crashing.worker.kill()
    assert _stored(state, tmp_path, "ShardDO", "SELECT tag FROM booked") >= {tags[COMMITTED], tags[ACCEPTED]}
    unsent = _stored(state, tmp_path, "ShardDO", "SELECT body ->> '$.job.shard_key' FROM _lunora_outbox")
    assert unsent == {tags[COMMITTED], tags[ACCEPTED]}
    sent = _stored(state, tmp_path, "SchedulerDO", "SELECT shard_key FROM jobs WHERE state = 'pending'")
    assert sent == {tags[ACCEPTED]}

    crashing.worker.restart()
    for point in (COMMITTED, ACCEPTED):
        expected = [tags[point], f"{tags[point]} then"]
        wait_for(
            lambda shard=tags[point]: len(crashing.effects(shard=shard)) >= 2,  # type: ignore[misc]
            f"the jobs of {tags[point]}",
            20,
            crashing.status,
        )
        effects = crashing.effects(shard=tags[point])
        assert [effect["tag"] for effect in effects] == expected
        assert {effect["tag"]: effect["job"] for effect in effects} == crashing.booked(shard=tags[point])
    assert crashing.effects(shard=tags[BEFORE]) == []
    assert crashing.booked(shard=tags[BEFORE]) == {}
    jobs = _stored(state, tmp_path, "SchedulerDO", "SELECT shard_key FROM jobs")
    assert tags[BEFORE] not in jobs


def _read(client: Client, rounds: list[Round]) -> dict[str, State]:
    """What shards have, by their keys."""
    states: dict[str, State] = {}
    for first in range(0, len(rounds), 50):
        shards = [crashed.shard for crashed in rounds[first : first + 50]]
        states |= zip(shards, client.value("action", "ledger:states", {"shards": shards}), strict=True)
    return states


def _is_stuck(client: Client) -> bool:
    try:
        httpx.get(f"{client.worker.url}/_lunora/health", timeout=0.5)
    except httpx.TimeoutException:
        return True
    return False


def _stored(state: Path, scratch: Path, class_name: str, sql: str) -> set[str]:
    """What the objects of a class have on disk: the first column of a query, over all of them."""
    (folder,) = state.rglob(f"*-{class_name}")
    copy = scratch / class_name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    found: set[str] = set()
    for path in copy.glob("*.sqlite"):
        if path.name == "metadata.sqlite":
            continue
        with closing(sqlite3.connect(path)) as database, suppress(sqlite3.OperationalError):
            found |= {str(value) for (value,) in database.execute(sql)}
    return found
