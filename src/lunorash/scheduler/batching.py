"""Which jobs travel together in one dispatch: pure.

Mutations of one shard do, since they cost it one call; so do actions, as many as one invocation of a Worker can serve.
The kind of a job is what its function was when it was scheduled. A deploy may have changed that, and then it is only in
the wrong company: what it is run as the receiver decides, by what it finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lunorash.codec import MAX_BODY_BYTES
from lunorash.scheduler.store import Row

__all__ = ["MAX_ACTIONS", "MAX_MUTATIONS", "BatchSizes", "batches"]

MAX_MUTATIONS: Final = 50
MAX_ACTIONS: Final = 6
"""One invocation has six connections, 128 MB, and the limits of its CPU, and shares them among its actions."""

_ENVELOPE_BYTES: Final = 4_000
"""What of a dispatch is not arguments, at most: its head, and for each attempt an id, a target, a shard key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSizes:
    """The most that one dispatch carries.

    Args:
        mutations: of one shard, from 1 to `MAX_MUTATIONS`.
        actions: and whatever else is no mutation, from 1 to `MAX_ACTIONS`.
    """

    mutations: int = MAX_MUTATIONS
    actions: int = MAX_ACTIONS


def batches(jobs: Sequence[Row], room: int, sizes: BatchSizes) -> list[list[Row]]:
    """Put jobs into dispatches.

    While there is room for all that is due, the dispatches are kept small, so that each job starts as soon as it can.
    The more there is, the more of them travel together.

    Args:
        jobs: ``id, kind, shard_key, size, lone, pool`` of each, what has waited longest first.
        room: how many dispatches there may be.
        sizes: the most that one of them carries.

    Returns:
        the jobs of each dispatch. Those for which there is no room are left out, the last ones.
    """
    lanes: dict[Hashable, list[Row]] = {}
    places: dict[str, int] = {}
    for place, job in enumerate(jobs):
        lanes.setdefault(_lane(job), []).append(job)
        places[job["id"]] = place
    size = _least_size([(len(lane), _most(lane[0], sizes)) for lane in lanes.values()], room)
    cut = [batch for lane in lanes.values() for batch in _cut(lane, min(size, _most(lane[0], sizes)))]
    cut.sort(key=lambda batch: places[batch[0]["id"]])
    # In a pool nobody is overtaken, not even by one that could travel with somebody: it would take a slot.
    left = sorted((job for batch in cut[room:] for job in batch), key=lambda job: places[job["id"]], reverse=True)
    first_left = {job["pool"]: places[job["id"]] for job in left}
    return [[job for job in batch if _in_turn(job, places, first_left)] for batch in cut[:room]]


def _in_turn(job: Row, places: Mapping[str, int], first_left: Mapping[str, int]) -> bool:
    return job["pool"] not in first_left or job["pool"] is None or places[job["id"]] < first_left[job["pool"]]


def _lane(job: Row) -> Hashable:
    """What a job has in common with those that it may travel with."""
    if job["lone"]:
        return "alone", job["id"]
    return ("mutations", job["shard_key"]) if job["kind"] == "mutation" else "actions"


def _most(job: Row, sizes: BatchSizes) -> int:
    return sizes.mutations if job["kind"] == "mutation" else sizes.actions


def _least_size(lanes: Sequence[tuple[int, int]], room: int) -> int:
    """The smallest size of dispatches for which there is room for all; the largest there is if there is none."""
    for size in range(1, MAX_MUTATIONS):
        if sum(-(-jobs // min(size, most)) for jobs, most in lanes) <= room:
            return size
    return MAX_MUTATIONS


def _cut(lane: Sequence[Row], size: int) -> Iterator[list[Row]]:
    """Cut a lane into dispatches of a size, and of fewer jobs where these are large."""
    batch: list[Row] = []
    filled = _ENVELOPE_BYTES
    for job in lane:
        needed = job["size"] + _ENVELOPE_BYTES
        if batch and (len(batch) == size or filled + needed > MAX_BODY_BYTES):
            yield batch
            batch, filled = [], _ENVELOPE_BYTES
        batch.append(job)
        filled += needed
    if batch:
        yield batch
