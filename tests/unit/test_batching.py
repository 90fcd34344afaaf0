from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.codec import MAX_ARGS_BYTES, MAX_BODY_BYTES
from lunorash.scheduler.batching import MAX_ACTIONS, MAX_MUTATIONS, BatchSizes, batches
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job import Attempt, Dispatch
from lunorash.scheduler.protocol import encode_dispatch
from lunorash.scheduler.store import Row

_DEFAULT = BatchSizes()


def _job(
    name: str,
    kind: str | None = "action",
    shard_key: str | None = None,
    size: int = 2,
    *,
    lone: bool = False,
    pool: str | None = None,
) -> Row:
    return {"id": name, "kind": kind, "shard_key": shard_key, "size": size, "lone": int(lone), "pool": pool}


def _names(jobs: list[Row], room: int, sizes: BatchSizes = _DEFAULT) -> list[list[str]]:
    return [[job["id"] for job in batch] for batch in batches(jobs, room, sizes)]


_JOBS = st.lists(
    st.builds(
        _job,
        st.just(""),
        st.sampled_from(["action", "mutation", "query", None]),
        st.sampled_from([None, "s", "t"]),
        st.sampled_from([2, 2, 2, 50_000, 400_000, MAX_ARGS_BYTES]),
        lone=st.sampled_from([False, False, False, True]),
        pool=st.sampled_from([None, "p", "q"]),
    ),
    max_size=120,
).map(lambda jobs: [{**job, "id": f"j{number}"} for number, job in enumerate(jobs)])
_SIZES = st.builds(BatchSizes, mutations=st.integers(1, MAX_MUTATIONS), actions=st.integers(1, MAX_ACTIONS))


@given(_JOBS, st.integers(0, 8), _SIZES)
def test_no_dispatch_carries_more_than_it_may_nor_what_does_not_go_together(
    jobs: list[Row], room: int, sizes: BatchSizes
) -> None:
    made = batches(jobs, room, sizes)
    assert len(made) <= room
    for batch in made:
        kinds = {job["kind"] == "mutation" for job in batch}
        assert len(kinds) == 1
        assert len(batch) <= (sizes.mutations if True in kinds else sizes.actions)
        assert False in kinds or len({job["shard_key"] for job in batch}) == 1
        assert len(batch) == 1 or not any(job["lone"] for job in batch)
        assert len(batch) == 1 or sum(job["size"] for job in batch) < MAX_BODY_BYTES
    carried = Counter(job["id"] for batch in made for job in batch)
    assert set(carried.values()) <= {1}
    assert carried.keys() <= {job["id"] for job in jobs}


@given(_JOBS, st.integers(1, 8), _SIZES)
def test_whatever_has_waited_longest_goes_and_those_of_a_kind_keep_their_order(
    jobs: list[Row], room: int, sizes: BatchSizes
) -> None:
    made = _names(jobs, room, sizes)
    places = {job["id"]: place for place, job in enumerate(jobs)}
    if jobs:
        assert made[0][0] == jobs[0]["id"]
    assert [batch[0] for batch in made] == sorted((batch[0] for batch in made), key=places.__getitem__)
    for batch in made:
        assert batch == sorted(batch, key=places.__getitem__)
    carried = {name for batch in made for name in batch}
    for pool in "pq":
        turns = [job["id"] in carried for job in jobs if job["pool"] == pool]
        assert turns == sorted(turns, reverse=True), "somebody of the pool was overtaken"
    if len(made) < room:
        assert sum(map(len, made)) == len(jobs), "there is room, and something was left behind"


def test_who_could_travel_along_does_not_overtake_others_of_its_pool() -> None:
    jobs = [
        _job("a", "mutation", pool="p"),
        _job("b", pool="p"),
        _job("c", "mutation", pool="p"),
        _job("d", "mutation", pool="q"),
        _job("e", "mutation"),
    ]
    assert _names(jobs, 1) == [["a", "d", "e"]]
    assert _names(jobs, 2) == [["a", "c", "d", "e"], ["b"]]


@pytest.mark.parametrize("due", [1, 5, 6, 7, 12, 35, 36, 37, 300])
def test_the_dispatches_are_as_small_as_the_room_allows(due: int) -> None:
    actions = [_job(f"j{number}") for number in range(due)]
    assert max(map(len, _names(actions, 6))) == min(MAX_ACTIONS, math.ceil(due / 6))
    mutations = [_job(f"j{number}", "mutation") for number in range(due)]
    assert max(map(len, _names(mutations, 6))) == min(MAX_MUTATIONS, math.ceil(due / 6))


def test_many_shards_share_the_room_and_the_first_come_go_first() -> None:
    jobs = [_job(f"j{number}", "mutation", f"s{number % 10}") for number in range(40)]
    assert _names(jobs, 6) == [[f"j{shard + 10 * turn}" for turn in range(4)] for shard in range(6)]


def test_the_largest_jobs_there_may_be_fit_their_dispatch() -> None:
    """What is left for the envelope is enough for the longest id, target and shard key."""
    name = check_id("x" * 64)
    attempt = Attempt(
        job=name,
        incarnation=name,
        number=2**53,
        charged=1_001,
        max_attempts=1_000,
        redrives=2**53,
        target="m:" + "f" * 198,
        args='{"a":"' + "x" * (MAX_ARGS_BYTES - 8) + '"}',
        scheduled_for=8_640_000_000_000_000,
        timeout_ms=86_400_000,
        shard_key="\U0001f600" * 256,
    )
    (batch,) = batches([_job(name, "mutation", attempt.shard_key, MAX_ARGS_BYTES)], 1, _DEFAULT)
    body = encode_dispatch(
        Dispatch(id=name, attempts=(attempt,) * len(batch)), audience="https://" + "a" * 253, instance="f" * 64
    )
    assert len(body) <= MAX_BODY_BYTES
    small = Attempt(**{**{field: getattr(attempt, field) for field in attempt.__slots__}, "args": "{}"})
    body = encode_dispatch(Dispatch(id=name, attempts=(small,) * 50), audience="https://" + "a" * 253, instance="f")
    assert len(body) <= 50 * 4_000
