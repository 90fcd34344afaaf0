"""What is left of a job that has succeeded, with history and without, and what it costs in rows written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lunorash.scheduler.history import Retention
from lunorash.scheduler.job import OutboxRow, Result
from lunorash.scheduler.store import Ran, Row, Store, Value

from .rig import DAY, MINUTE, NO_HISTORY, SECOND, START, Rig, new_job, new_mutation, refused

T = TypeVar("T")


# -- history -------------------------------------------------------------------------------------------------


def _accept(rig: Rig, *jobs: str) -> int:
    rows = [
        OutboxRow(number=number, id=job_id, called=START + rig.now, job=new_job(job_id, rig.now))
        for number, job_id in enumerate(jobs, 1)
    ]
    return rig.engine.accept("shard", rows, START + rig.now)


def case_without_history_a_job_of_a_shard_is_gone_when_it_has_succeeded(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    rig.room = 1
    assert _accept(rig, "a", "b") == 2
    assert rig.claimed() == ["a", "b"]
    rig.settle("d1", job="a")
    rig.fail("d1", job="b")
    assert (rig.state("a"), rig.state("b")) == (None, "pending")
    rig.at(10 * SECOND)
    assert rig.claimed() == ["b"]
    rig.settle("d2", job="b", attempt=2)
    assert rig.state("b") is None
    assert rig.attempts("b") == [], "its failed attempts go with it"
    assert _accept(rig, "a", "b") == 2, "sent again, it is known by its number"
    assert (rig.state("a"), rig.state("b")) == (None, None)


def case_without_history_a_direct_call_is_known_for_ten_minutes(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    rig.finish()
    assert rig.state() == "succeeded"
    rig.at(9 * MINUTE).schedule(incarnation="j-call")
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.schedule(incarnation="another")
    assert rig.state() == "succeeded", "it is not run again"
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) == 10 * MINUTE
    rig.at(10 * MINUTE - 1).prune()
    assert rig.state() == "succeeded"
    rig.at(10 * MINUTE).prune()
    assert rig.state() is None
    assert rig.rows("SELECT * FROM remembered") == []
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) is None


def case_without_history_what_is_remembered_is_forgotten_a_few_at_a_time(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    for number in range(12):
        rig.at(number).finish(f"j{number:02}")
    rig.at(10 * MINUTE + 20)
    rig.prune()
    assert len(rig.rows("SELECT id FROM jobs")) == 2
    rig.prune()
    assert rig.rows("SELECT id FROM jobs") == rig.rows("SELECT * FROM remembered") == []


def case_history_that_was_kept_goes_when_none_is_kept_any_more(store: Store) -> None:
    Rig(store).finish()
    rig = Rig(store, retention=NO_HISTORY)
    rig.at(10 * MINUTE).prune()
    assert rig.state() is None


def case_without_history_a_call_of_long_ago_is_gone_when_it_has_succeeded(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    rig.schedule(due=10 * MINUTE)
    rig.at(10 * MINUTE)
    rig.settle(rig.claim_and_begin())
    assert rig.state() is None


def case_without_history_what_did_not_succeed_is_kept_as_ever(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    rig.bury("dead")
    rig.schedule("canceled", due=DAY)
    assert rig.cancel("canceled")
    rig.at(7 * DAY - 1).prune()
    assert (rig.state("dead"), rig.state("canceled")) == ("dead", "canceled")


# -- what it costs -------------------------------------------------------------------------------------------


class _Counting:
    """A store that adds up the rows that are written. On sqlite3 those of indexes are not counted; here they are."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.written = 0

    def run(self, sql: str, /, *params: Value) -> Ran:
        ran = self._store.run(sql, *params)
        self.written += ran.rows_written
        return ran

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        return self.run(sql, *params).rows

    def transaction(self, work: Callable[[], T], /) -> T:
        return self._store.transaction(work)


def _drain(store: Store, *, history: bool, numbered: bool) -> float:
    """The rows written for each of fifty mutations that go through in one dispatch, from insert to done."""
    counting = _Counting(store)
    rig = Rig(counting, retention=Retention() if history else NO_HISTORY)
    counting.written = 0
    jobs = [new_mutation(f"j{number:02}") for number in range(50)]
    if numbered:
        rows = [OutboxRow(number=number, id=job.id, called=START, job=job) for number, job in enumerate(jobs, 1)]
        rig.engine.accept("shard", rows, START)
    else:
        rig.engine.schedule(jobs, START)
    rig.room = 1
    dispatch = rig.claim_one()
    assert len(dispatch.attempts) == 50
    assert rig.begin(dispatch.id)
    rig.renew(dispatch.id)
    rig.engine.settle(dispatch.id, [Result(job=job.id, attempt=1, outcome="ok") for job in jobs], START)
    rig.complete(dispatch.id)
    kept = rig.rows("SELECT id FROM jobs WHERE state = 'succeeded'")
    assert len(kept) == (0 if numbered and not history else 50)
    assert rig.rows("SELECT id FROM jobs WHERE state <> 'succeeded'") == []
    return counting.written / 50


def case_a_job_of_a_full_batch_costs_six_rows_with_history(store: Store) -> None:
    """At most eight were asked for. Insert and success are in an index each; the dispatch and the count are shared."""
    cost = _drain(store, history=True, numbered=False)
    assert cost <= 6.14, cost


def case_a_job_of_a_full_batch_costs_four_rows_without_history(store: Store) -> None:
    """At most five were asked for."""
    cost = _drain(store, history=False, numbered=True)
    assert cost <= 4.12, cost


def case_a_direct_call_in_a_full_batch_costs_no_more_without_history(store: Store) -> None:
    cost = _drain(store, history=False, numbered=False)
    assert cost <= 4.12, cost
