"""Many jobs that are changed in one call: each as the operation on one would change it, as many as a call may."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from lunorash.scheduler.bulk import MAX_SCANNED
from lunorash.scheduler.job import OutboxRow
from lunorash.scheduler.job_filter import Change, Changed, JobFilter
from lunorash.scheduler.store import Row, Store

from .rig import MINUTE, START, Rig, new_job, pooled, refused

ALL: Final = JobFilter()


def _change(rig: Rig, change: Change, wanted: JobFilter = ALL, **more: Any) -> Changed:
    return rig.engine.change_many(change, wanted, START + rig.now, **more)


def _ids(rig: Rig, change: Change, wanted: JobFilter = ALL, **more: Any) -> list[str]:
    """What is changed until all has been looked at."""
    ids: list[str] = []
    cursor = None
    for _ in range(100):
        changed = _change(rig, change, wanted, cursor=cursor, **more)
        ids += changed.ids
        cursor = changed.cursor
        if cursor is None:
            return ids
    raise AssertionError("it goes on without end")


def _fill(rig: Rig, jobs: int, **fields: Any) -> None:
    """Jobs that wait, named by their number and due by it."""
    batches = [range(first, min(first + 1_000, jobs)) for first in range(0, jobs, 1_000)]
    for numbers in batches:
        made = [replace(new_job(f"j{number:05}", number), **fields) for number in numbers]
        assert rig.engine.schedule_many(made, START + rig.now) == [None] * len(made)


def _kill(rig: Rig, *letters: tuple[str, dict[str, Any]]) -> None:
    """Make dead letters, a second apart: their ids and what else they differ in."""
    for number, (job_id, fields) in enumerate(letters, start=1):
        rig.now = number * 1_000
        rig.bury(job_id)
        columns = ", ".join(f"{name} = ?" for name in fields)
        if fields:
            rig.store.execute(f"UPDATE jobs SET {columns} WHERE id = ?", *fields.values(), job_id)


def _rows(rig: Rig) -> list[Row]:
    return rig.rows("SELECT * FROM jobs ORDER BY id")


# -- each as one is ------------------------------------------------------------------------------------------


def _as_one(store: Store, prepare: Callable[[Rig], object], change: Change, one: Callable[[Rig], object]) -> None:
    """What ``change`` makes of the only job is what the operation on one makes of it."""
    left: list[list[Row]] = []
    for work in (one, lambda rig: _ids(rig, change)):
        for table in ("jobs", "attempts", "dispatches", "pools", "tombstones", "origins"):
            if store.execute("SELECT 1 FROM sqlite_master WHERE name = ?", table):
                store.execute(f"DELETE FROM {table}")
        rig = Rig(store)
        prepare(rig)
        rig.now += 5
        assert work(rig)
        left.append(_rows(rig) + rig.attempts() + rig.pools())
        left.append([{"alarm": call.at} for call in rig.alarm_calls[-1:]])
    assert left[:2] == left[2:]


def case_a_job_that_waits_is_canceled_as_one_is(store: Store) -> None:
    _as_one(store, lambda rig: rig.schedule(due=9, pool="imports"), "cancel", Rig.cancel)


def case_a_job_that_runs_is_canceled_as_one_is(store: Store) -> None:
    _as_one(store, Rig.start, "cancel", Rig.cancel)


def case_a_dead_letter_is_redriven_as_one_is(store: Store) -> None:
    def prepare(rig: Rig) -> None:
        rig.pool = "imports"
        rig.bury()

    _as_one(store, prepare, "redrive", Rig.redrive)


def case_a_dead_letter_is_dropped_as_one_is(store: Store) -> None:
    _as_one(store, Rig.bury, "drop", Rig.drop_dead)


def case_each_redriven_job_has_an_incarnation_of_its_own(store: Store) -> None:
    rig = Rig(store)
    _kill(rig, *((name, {}) for name in "abc"))
    assert _ids(rig, "redrive") == ["c", "b", "a"]
    incarnations = {row["incarnation"] for row in _rows(rig)}
    assert len(incarnations) == 3
    assert not incarnations & {"a-call", "b-call", "c-call"}


def case_a_cancel_of_what_runs_is_requested_once(store: Store) -> None:
    rig = Rig(store)
    rig.start("runs")
    rig.schedule("waits", due=9)
    assert _ids(rig, "cancel") == ["waits", "runs"]
    assert _ids(rig, "cancel") == []
    rig.fail("d1", job="runs")
    assert rig.state("runs") == "canceled"


def case_nothing_that_has_ended_is_canceled_and_nothing_that_has_not_is_redriven_or_dropped(store: Store) -> None:
    rig = Rig(store)
    rig.finish("ok")
    rig.bury("dead")
    rig.start("runs")
    rig.schedule("waits", due=9)
    rig.schedule("gone", due=9)
    assert rig.cancel("gone")
    before = _rows(rig)
    assert _change(rig, "redrive", dry_run=True).ids == ("dead",)
    assert _change(rig, "drop", dry_run=True).ids == ("dead",)
    assert _change(rig, "cancel", dry_run=True).ids == ("waits", "runs")
    assert _rows(rig) == before


def case_a_dropped_letter_leaves_no_attempts(store: Store) -> None:
    rig = Rig(store)
    _kill(rig, ("a", {}), ("b", {}))
    assert _ids(rig, "drop", JobFilter(id_prefix="a")) == ["a"]
    assert (rig.state("a"), rig.attempts("a")) == (None, [])
    assert len(rig.attempts("b")) == 1


# -- pools and the alarm -------------------------------------------------------------------------------------


def case_pools_hear_of_it(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    rig.pool = None
    rig.schedule("c", due=7_000)
    assert rig.alarm_set_by(lambda: _ids(rig, "cancel", JobFilter(pool="imports"))) == 7_000
    assert rig.pools()[0]["ready_at"] is None
    assert _ids(rig, "cancel") == ["c"]


def case_what_is_redriven_starts_at_once_within_the_cap_of_its_pool(store: Store) -> None:
    rig = pooled(store, 2)
    for job_id in "abc":
        rig.bury(job_id)
    assert rig.pools()[0]["ready_at"] is None
    assert rig.alarm_set_by(lambda: _ids(rig.at(9_000), "redrive")) == 9_001
    assert rig.claimed() == ["a", "b"]


def case_what_was_undone_is_not_half_done(store: Store) -> None:
    rig = Rig(store)
    _kill(rig, ("a", {}), ("b", {}))
    before = _rows(rig)
    with refused(code="INVALID_INPUT"):
        _change(rig, "redrive", JobFilter(state="pending"))
    with refused(code="INVALID_INPUT"):
        _change(rig, "redrive", limit=1_001)
    assert _rows(rig) == before


# -- what a filter chooses -----------------------------------------------------------------------------------


def case_letters_are_chosen_by_what_they_are(store: Store) -> None:
    rig = Rig(store)
    _kill(
        rig,
        ("a-1", {"target": "billing:charge", "error_code": "DOWN"}),
        ("a-2", {"target": "billing.eu:charge", "pool": "imports"}),
        ("b-1", {"target": "billing2:charge", "error_code": "DOWN", "pool": "imports"}),
        ("b-2", {"target": "workflows.onboarding", "created": START + 50_000}),
    )

    def chosen(**conditions: Any) -> str:
        found = _change(rig, "drop", JobFilter(**conditions), dry_run=True)
        assert (found.scanned, found.cursor) == (4, None) or any("ended" in name for name in conditions)
        return " ".join(found.ids)

    assert chosen() == "b-2 b-1 a-2 a-1"
    assert chosen(state="dead") == "b-2 b-1 a-2 a-1"
    assert chosen(target="billing") == "a-2 a-1"
    assert chosen(target="billing:charge") == "a-1"
    assert chosen(target="*:charge") == "b-1 a-2 a-1"
    assert chosen(target="workflows") == "b-2"
    assert chosen(pool="imports") == "b-1 a-2"
    assert chosen(pool="imports", error="DOWN") == "b-1"
    assert chosen(id_prefix="b-") == "b-2 b-1"
    assert chosen(created_from=START + 50_000) == "b-2"
    assert chosen(created_before=START + 50_000) == "b-1 a-2 a-1"
    assert chosen(ended_before=START + 3_000) == "a-2 a-1"
    assert chosen(ended_from=START + 3_000) == "b-2 b-1"
    assert chosen(ended_from=START + 2_000, ended_before=START + 3_000) == "a-2"
    assert chosen(ended_from=START + 3_000, ended_before=START + 3_000) == ""
    assert chosen(ended_before=0) == ""
    assert chosen(due_from=START + 4_000) == "b-2"


def case_jobs_that_wait_are_chosen_by_their_time_in_and_out_of_pools(store: Store) -> None:
    rig = Rig(store)
    for number, pool in enumerate((None, "x", None, "y", None)):
        rig.schedule(f"j{number}", due=number * 10, pool=pool)

    def chosen(**conditions: Any) -> str:
        return " ".join(_change(rig, "cancel", JobFilter(**conditions), dry_run=True).ids)

    assert chosen() == "j0 j1 j2 j3 j4"
    assert chosen(due_from=START + 10) == "j1 j2 j3 j4"
    assert chosen(due_from=START + 11, due_before=START + 30) == "j2"
    assert chosen(due_before=START + 30) == "j0 j1 j2"
    assert chosen(due_before=0) == ""
    assert chosen(state="running") == ""


def case_times_bound_what_is_looked_at(store: Store) -> None:
    rig = Rig(store)
    _fill(rig, 3_000)
    found = _change(rig, "cancel", JobFilter(due_from=START + 2_500, due_before=START + 2_503), dry_run=True)
    assert (found.ids, found.scanned, found.cursor) == (("j02500", "j02501", "j02502"), 3, None)
    store.execute("UPDATE jobs SET state = 'dead', ended = due")
    found = _change(rig, "drop", JobFilter(ended_from=START + 2_500, ended_before=START + 2_503), dry_run=True)
    assert (found.ids, found.scanned, found.cursor) == (("j02502", "j02501", "j02500"), 3, None)


def case_what_is_told_of_the_chosen(store: Store) -> None:
    rig = Rig(store)
    _kill(rig, ("a", {"target": "m:x"}), ("b", {"target": "m:y"}), ("c", {"target": "m:x"}))
    told = _change(rig.at(MINUTE), "redrive")
    assert told == Changed(
        ids=("c", "b", "a"), targets={"m:x": 2, "m:y": 1}, scanned=3, cursor=None, now=START + MINUTE
    )
    assert Changed.from_dict(json.loads(json.dumps(told.to_dict()))) == told


# -- bounded work --------------------------------------------------------------------------------------------


def case_a_call_changes_as_many_as_it_may_and_the_next_goes_on(store: Store) -> None:
    rig = Rig(store)
    _fill(rig, 25)
    first = _change(rig, "cancel", limit=10)
    assert (len(first.ids), first.scanned) == (10, 10)
    second = _change(rig, "cancel", limit=10, cursor=first.cursor)
    third = _change(rig, "cancel", limit=10, cursor=second.cursor)
    assert [*first.ids, *second.ids, *third.ids] == [f"j{number:05}" for number in range(25)]
    assert (third.scanned, third.cursor) == (5, None)
    assert rig.alarm_calls[-1].at is not None


def case_a_call_looks_at_so_many_and_the_next_goes_on(store: Store) -> None:
    rig = Rig(store)
    _fill(rig, 2 * MAX_SCANNED + 1, pool="imports")
    rig.schedule("last", due=10**6)
    wanted = JobFilter(id_prefix="last")
    first = _change(rig, "cancel", wanted)
    assert (first.ids, first.scanned) == ((), MAX_SCANNED)
    second = _change(rig, "cancel", wanted, cursor=first.cursor)
    assert (second.ids, second.scanned) == ((), MAX_SCANNED)
    assert _change(rig, "cancel", wanted, cursor=second.cursor).ids == ("last",)


def case_jobs_of_one_instant_are_each_met_once(store: Store) -> None:
    rig = Rig(store)
    _fill(rig, 1_200, due=START)
    assert _ids(rig, "cancel", limit=17, dry_run=True) == [f"j{number:05}" for number in range(1_200)]
    store.execute("UPDATE jobs SET state = 'dead', ended = ?", START)
    assert _ids(rig, "drop", limit=700) == [f"j{number:05}" for number in reversed(range(1_200))]
    assert _rows(rig) == []


def case_a_letter_that_dies_again_meanwhile_is_not_met_again(store: Store) -> None:
    rig = Rig(store)
    _kill(rig, ("a", {}), ("b", {}), ("c", {}))
    first = _change(rig, "redrive", limit=1)
    assert first.ids == ("c",)
    dispatch = rig.at(MINUTE).claim_and_begin()
    rig.fail(dispatch, job="c", attempt=2, retryable=False)
    assert _change(rig, "redrive", cursor=first.cursor).ids == ("b", "a")
    assert rig.state("c") == "dead"


def case_a_job_that_is_claimed_between_two_calls_is_met_among_those_that_run(store: Store) -> None:
    rig = Rig(store)
    for number in range(3):
        rig.schedule(f"j{number}", due=number)
    first = _change(rig, "cancel", limit=1)
    rig.at(2).claim()
    assert _change(rig, "cancel", cursor=first.cursor).ids == ("j1", "j2")
    assert [row["cancel_requested"] for row in _rows(rig)] == [0, 1, 1]


def case_cursors_of_others_are_refused(store: Store) -> None:
    rig = Rig(store)
    for change, cursor in (
        ("cancel", "dead.0.a"),
        ("drop", "pending.0.a"),
        ("redrive", "dead.9999999999999999.a"),
        ("redrive", "dead.1.a'"),
        ("redrive", 5),
    ):
        with refused(code="INVALID_INPUT"):
            _change(rig, change, cursor=cursor)  # type: ignore[arg-type]
    with refused(code="INVALID_INPUT"):
        _change(rig, "delete")  # type: ignore[arg-type]


def case_a_shard_and_a_bulk_cancel_agree(store: Store) -> None:
    """A job that is canceled with others is so for its shard, too: its row is not accepted anew."""
    rig = Rig(store)
    rows = [OutboxRow(number=1, id="a", called=START, job=new_job("a", 0))]
    assert rig.engine.accept("shard", rows, START) == 1
    assert _ids(rig, "cancel") == ["a"]
    assert rig.engine.accept("shard", rows, START) == 1
    assert rig.state("a") == "canceled"


def case_a_thousand_changes_are_few_statements(store: Store) -> None:
    statements: list[str] = []

    class Counting:
        transaction = staticmethod(store.transaction)
        run = staticmethod(store.run)

        def execute(self, sql: str, /, *params: Any) -> list[Row]:
            statements.append(sql)
            return store.execute(sql, *params)

    rig = Rig(Counting())
    _fill(rig, 1_000)
    store.execute("UPDATE jobs SET state = 'dead', ended = due")
    for change in ("redrive", "cancel"):
        statements.clear()
        assert len(_change(rig, change).ids) == 1_000
        assert len(statements) < 30, change
    store.execute("UPDATE jobs SET state = 'dead'")
    statements.clear()
    assert len(_change(rig, "drop").ids) == 1_000
    assert len(statements) < 30
