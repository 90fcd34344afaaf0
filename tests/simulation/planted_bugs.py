"""Bugs to plant into the engine, to prove that the simulation finds such bugs."""

# A bug passes over what it is told.
# ruff: noqa: ARG005

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import pytest

from lunorash.errors import LunoraError
from lunorash.scheduler import batching, dispatching, engine, pooling, protocol, queries, settling, verdict
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.dispatching import Dispatcher
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.job import NewJob, Result
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.settling import Settling
from lunorash.scheduler.store import Row
from lunorash.scheduler.verdict import Event, NeverBegan, Unavailable, Unknown, Verdict
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards
from lunorash.shard.outbox import Outbox
from lunorash.shard.shard import Shard

__all__ = ["BUGS", "Bug"]

Bug = Callable[[pytest.MonkeyPatch], None]


def _judging(change: Callable[[Row, Event, Verdict, int], Verdict]) -> Bug:
    """A bug in what becomes of an attempt."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        def judge(job: Row, event: Event, *, now: int, random: Callable[[], float]) -> Verdict:
            return change(job, event, verdict.judge(job, event, now=now, random=random), now)

        patch.setattr(settling, "judge", judge)

    return plant


def _query(name: str, old: str, new: str) -> Bug:
    """A bug in a statement."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        statement: str = getattr(queries, name)
        assert old in statement
        patch.setattr(queries, name, statement.replace(old, new))

    return plant


def _both(*bugs: Bug) -> Bug:
    """A bug that is in more than one place."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for bug in bugs:
            bug(patch)

    return plant


def _constant(module: Any, name: str, value: int) -> Bug:
    return lambda patch: patch.setattr(module, name, value)


def _settles_without_arming(patch: pytest.MonkeyPatch) -> None:
    settle = Engine.settle

    def unarmed(self: Engine, dispatch_id: str, results: Iterable[Result], now: int) -> None:
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(Alarm, "arm", lambda self, wanted, now: None)
            settle(self, dispatch_id, results, now)

    patch.setattr(Engine, "settle", unarmed)


def _schedules_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queries, "HOLDER_OF_ID", queries.HOLDER_OF_ID + " AND 0")
    patch.setattr(queries, "INSERT", queries.INSERT.replace("INSERT", "INSERT OR REPLACE", 1))


def _never_rescues(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Engine, "rescue", lambda self, now: 0)


def _never_renews(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Engine, "renew", lambda self, dispatch_id, now: None)


def _never_rearms(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Engine, "rearm", lambda self, now: None)


def _never_probes(patch: pytest.MonkeyPatch) -> None:
    trip = Breaker.trip
    patch.setattr(Breaker, "trip", lambda self, origin, reason, now: trip(self, origin, reason, now + 10**12))


def _does_not_wait_between_probes(patch: pytest.MonkeyPatch) -> None:
    failed = Breaker.failed
    patch.setattr(Breaker, "failed", lambda self, origin, reason, now: failed(self, origin, reason, now - 60_000))


def _forgets_probe_on_its_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Breaker, "probing", lambda self, origin, until: None)


def _trusts_a_stale_alarm(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Alarm, "lost", lambda self, now: False)


def _arms_for_the_present(patch: pytest.MonkeyPatch) -> None:
    arm = Alarm.arm
    patch.setattr(Alarm, "arm", lambda self, wanted, now: arm(self, wanted, now - 1))


def _does_not_know_it_has_fired(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Alarm, "fired", lambda self: None)


def _waits_for_headers_forever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dispatching, "HEADERS_TIMEOUT_S", 10**9)


def _swallows_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Engine, "complete", lambda self, dispatch_id, now: self.rearm(now))


def _has_always_room(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Dispatcher, "room", lambda self: 6)


def _does_not_tell_that_a_slot_is_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pooling, "changed", lambda self, name: None)


def _takes_what_room_a_pool_has_many_times(patch: pytest.MonkeyPatch) -> None:
    next_of = Pooling._next_of
    patch.setattr(Pooling, "_next_of", lambda self, pool, room, now: next_of(self, pool, max(room, 2), now))


def _forgets_that_a_mutation_had_its_effect(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shard, "_record", lambda self, call, result, now: None)


def _does_not_wake_for_an_outbox(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Outbox, "is_empty", lambda self: True)


def _passes_over_the_cancels_of_shards(patch: pytest.MonkeyPatch) -> None:
    cancel = Engine._cancel

    def passed_over(self: Engine, job_id: str, now: int, called: int) -> bool:
        return called == now and cancel(self, job_id, now, called)

    patch.setattr(Engine, "_cancel", passed_over)


def _settles_only_the_first_result(patch: pytest.MonkeyPatch) -> None:
    record = Settling.record
    patch.setattr(Settling, "record", lambda self, dispatch, results, now: record(self, dispatch, results[:1], now))


def _takes_one_success_for_all(patch: pytest.MonkeyPatch) -> None:
    carried = "dispatch IN (SELECT dispatch FROM jobs WHERE id IN (SELECT value FROM json_each(?)))"
    _query("SUCCEED", "id IN (SELECT value FROM json_each(?))", carried)(patch)


def _writes_only_the_first_of_what_is_ready(patch: pytest.MonkeyPatch) -> None:
    encode = protocol.encode_results
    patch.setattr("lunorash.scheduler.receiver.encode_results", lambda results: encode([*results][:1]))


def _lets_anything_travel_together(patch: pytest.MonkeyPatch) -> None:
    lane = batching._lane
    patch.setattr(batching, "_lane", lambda job: lane(job) if job["lone"] else job["kind"] == "mutation")


def _sends_one_too_many(patch: pytest.MonkeyPatch) -> None:
    most = batching._most
    patch.setattr(batching, "_most", lambda job, sizes: most(job, sizes) + (job["kind"] != "mutation"))


def _takes_one_answer_of_a_shard_for_all(patch: pytest.MonkeyPatch) -> None:
    mutate_many = Shards.mutate_many

    async def first(
        self: Shards, calls: Sequence[ShardCall], shard_key: str | None = None
    ) -> list[LunoraError | str | None]:
        return (await mutate_many(self, calls, shard_key))[:1] * len(calls)

    patch.setattr(Shards, "mutate_many", first)


def _forgets_caps_when_it_restarts(patch: pytest.MonkeyPatch) -> None:
    resume = Engine.resume

    def resume_without(self: Engine, now: int) -> None:
        self._store.execute("UPDATE pools SET max_concurrency = 1000")
        resume(self, now)

    patch.setattr(Engine, "resume", resume_without)


def _does_not_count_what_an_earlier_life_started(patch: pytest.MonkeyPatch) -> None:
    resume = Engine.resume

    def resume_and_forget(self: Engine, now: int) -> None:
        with pytest.MonkeyPatch.context() as meanwhile:
            _miscounts_slots("0")(meanwhile)
            self._pooling._changed |= {row["name"] for row in self._store.execute("SELECT name FROM pools")}
            resume(self, now)

    patch.setattr(Engine, "resume", resume_and_forget)


def _arms_only_for_what_is_new(patch: pytest.MonkeyPatch) -> None:
    """The transaction stores, another one arms; a call that is made again finds the job there, and arms nothing."""
    schedule = Engine.schedule

    def unarmed(self: Engine, jobs: Sequence[NewJob], now: int) -> list[str]:
        known = all(self._store.execute(queries.HOLDER_OF_ID, job.id) for job in jobs)
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(Alarm, "arm", lambda self, wanted, now: None)
            ids = schedule(self, jobs, now)
        if not known:
            self.rearm(now)
        return ids

    patch.setattr(Engine, "schedule", unarmed)


def _redrives_what_it_does_not_mean(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(JobFilter, "passes", lambda self, job: True)


def _miscounts_slots(counted: str) -> Bug:
    """Only some of the running rows are slots."""
    return _both(
        *(
            _query(name, "state = 'running'", f"state = 'running' AND {counted}")
            for name in ("READY_POOLS", "REFRESH_POOL")
        )
    )


BUGS: Final[dict[str, Bug]] = {
    "an unknown outcome is refunded": _judging(
        lambda job, event, kept, now: dataclasses.replace(kept, charged=job["charged"] - isinstance(event, Unknown))
    ),
    "a refund does not refund": _judging(
        lambda job, event, kept, now: (
            dataclasses.replace(kept, charged=job["charged"]) if isinstance(event, NeverBegan) else kept
        )
    ),
    "a dead origin is blamed on the job": _judging(
        lambda job, event, kept, now: (
            verdict.judge(
                {**job, "refunded_at": now}, NeverBegan(event.message, proved=True), now=now, random=lambda: 0.0
            )
            if isinstance(event, NeverBegan) and event.blamed
            else kept
        )
    ),
    "a cancel is ignored when its attempt is settled": _judging(
        lambda job, event, kept, now: verdict.judge({**job, "cancel_requested": 0}, event, now=now, random=lambda: 0.0)
    ),
    "the last retry is left out": _judging(
        lambda job, event, kept, now: (
            dataclasses.replace(kept, state="dead")
            if kept.state == "pending" and kept.recorded and kept.charged == json.loads(job["retry"])["max_attempts"]
            else kept
        )
    ),
    "a function that is missing kills its job at once": _judging(
        lambda job, event, kept, now: (
            dataclasses.replace(kept, state="dead", recorded=True) if isinstance(event, Unavailable) else kept
        )
    ),
    "a function that is missing costs an attempt": _judging(
        lambda job, event, kept, now: (
            dataclasses.replace(kept, charged=job["charged"]) if isinstance(event, Unavailable) else kept
        )
    ),
    "an attempt is counted when it ends": _query("CLAIM", "charged = charged + 1", "charged = charged"),
    "attempt numbers are used again": _query("CLAIM", "attempt = attempt + 1", "attempt = max(attempt, 1)"),
    "jobs are claimed early": _query("DUE", "due <= ?", "due <= ? + 500"),
    "a late result of an old attempt counts": _query("AWAITING", "dispatch = ?2 AND attempt = told.value ->> 1", "1"),
    "a result counts for whichever job it names": _query("AWAITING", "dispatch = ?2", "?2 <> ''"),
    "begin says yes twice": _query("BEGIN", "began IS NULL AND", ""),
    "the cancel of a running job is forgotten": _query("REQUEST_CANCEL", "cancel_requested = 1", "due = due"),
    "a redrive keeps its incarnation": _query("REDRIVE", "incarnation = ?1", "incarnation = coalesce(incarnation, ?1)"),
    "a redrive keeps what was charged": _query("REDRIVE", "charged = 0", "charged = charged"),
    "dead letters are pruned like the others": _query("PRUNE", "ended <= ?3", "ended <= max(?1, ?3)"),
    "cancels of jobs that are not there are kept": _query("PRUNE_TOMBSTONES", "called <= ?", "called <= ? - 1e15"),
    "pruning forgets the attempts": _query("DELETE_ATTEMPTS", "WHERE", "WHERE 0 AND"),
    "pruning is too early": _query("PRUNE", "ended <= ?1", "ended <= ?1 + 604000000"),
    "a closed dispatch stays": _query(
        "CLOSE_DISPATCH", "DELETE FROM dispatches", "UPDATE dispatches SET lease = lease"
    ),
    "a broken stream is unknown at once": _constant(engine, "SEVERED_LEASE_MS", 0),
    "seven dispatches await headers": _constant(dispatching, "MAX_AWAITING", 7),
    "any number of dispatches is open": _constant(engine, "MAX_OPEN_DISPATCHES", 1_000_000),
    "settling does not arm": _settles_without_arming,
    "a second job takes the id": _schedules_over,
    "expired leases are not rescued": _never_rescues,
    "leases are not renewed": _never_renews,
    "nothing is armed when there is room again": _never_rearms,
    "the breaker never probes": _never_probes,
    "the breaker does not back off": _does_not_wait_between_probes,
    "many probes at a time": _forgets_probe_on_its_way,
    "a stale alarm is trusted": _trusts_a_stale_alarm,
    "the alarm is set to the present": _arms_for_the_present,
    "an alarm that has gone off is taken for armed": _does_not_know_it_has_fired,
    "withheld headers are waited for": _waits_for_headers_forever,
    "the end line is not heard": _swallows_the_end,
    "the dispatch loop has always room": _has_always_room,
    "a job that is being canceled leaves its slot": _miscounts_slots("cancel_requested = 0"),
    "a retry takes no slot": _miscounts_slots("charged = 1"),
    "a pool has one slot too many": _both(
        _query("READY_POOLS", "max_concurrency -", "max_concurrency + 1 -"),
        _query("REFRESH_POOL", "max_concurrency >", "max_concurrency + 1 >"),
    ),
    "the room of a pool is given away twice": _takes_what_room_a_pool_has_many_times,
    "a full pool is ready": _query("REFRESH_POOL", "max_concurrency >", "1000000 >"),
    "a paused pool is ready": _query("REFRESH_POOL", "paused = 0", "1"),
    "nobody learns that a slot is free": _does_not_tell_that_a_slot_is_free,
    "only the first result of a line is settled": _settles_only_the_first_result,
    "the receiver tells only one of those that are ready": _writes_only_the_first_of_what_is_ready,
    "one success is taken for all of its dispatch": _takes_one_success_for_all,
    "only one of a dispatch is refunded or charged": _query(
        "RUNNING_IN", "json_each(?) AS carried", "(SELECT value FROM json_each(?) LIMIT 1) AS carried"
    ),
    "what has settled is ended once more with its dispatch": _query(
        "RUNNING_IN", "jobs.state = 'running' AND jobs.dispatch = ?", "jobs.dispatch <> ?"
    ),
    "who may harm others travels with them": _both(
        *(_query(name, "alone OR refunded_at IS NOT NULL OR", "0 OR") for name in ("DUE", "DUE_IN_POOL"))
    ),
    "mutations of several shards travel together": _lets_anything_travel_together,
    "seven actions travel together": _sends_one_too_many,
    "what became of one mutation is taken for all of its call": _takes_one_answer_of_a_shard_for_all,
    "the oldest of a pool is passed over": _query("DUE_IN_POOL", "ORDER BY due, id", "ORDER BY due DESC, id"),
    "it is forgotten that a mutation had its effect": _forgets_that_a_mutation_had_its_effect,
    "nothing is armed for an outbox": _does_not_wake_for_an_outbox,
    "the cancels of shards are passed over": _passes_over_the_cancels_of_shards,
    "a restart forgets the caps": _forgets_caps_when_it_restarts,
    "what an earlier life started takes no slot": _does_not_count_what_an_earlier_life_started,
    "a repeated call arms nothing": _arms_only_for_what_is_new,
    "more is changed than what is meant": _redrives_what_it_does_not_mean,
    "pruning takes what still waits": _query(
        "PRUNE", "state = 'canceled' AND ended IS NOT NULL AND ended <= ?2", "state <> 'dead' AND created <= ?2"
    ),
    "a success that is remembered is kept for ever": _query("PRUNE_REMEMBERED", "until <= ?", "until <= ? - 1e15"),
    "without history a success is forgotten at once": _constant(settling, "KNOWN_MS", 0),
    "the object is kept awake every second": _constant(engine, "KEEP_AWAKE_MS", 1_000),
    "cancelling many passes over what runs": _query("REQUEST_ALL_CANCELS", "cancel_requested = 1", "due = due"),
    "redriving many keeps what was charged": _query("REDRIVE_ALL", "charged = 0", "charged = charged"),
    "one of many calls is stored twice": _query("HOLDERS_OF_IDS", "WHERE id IN", "WHERE 0 AND id IN"),
    "priorities do not age": _constant(pooling, "AGEING_MS", 10**9),
}
"""What each bug does, and how to plant it."""
