"""How jobs end, and who is told: expiry, what a failure asks for, and the calls that tell of endings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from lunorash.scheduler.completion import MAX_RESULT_BYTES, Completion, completion_id
from lunorash.scheduler.history import Retention
from lunorash.scheduler.job import Ending, OutboxRow, Result
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Row, Store

from .rig import DAY, MINUTE, NO_HISTORY, SECOND, START, Rig, new_job, pooled, refused

TELL: Final = json.dumps({"target": "billing:told", "kind": "mutation"})
ONCE: Final = RetryPolicy(max_attempts=1, base_ms=SECOND)


def _told(rig: Rig, job_id: str, outcome: Ending, incarnation: str | None = None) -> Completion:
    """What the call says that tells of an ending; it must be there."""
    row = rig.job(completion_id(job_id, incarnation or f"{job_id}-call", outcome))
    assert (row["target"], row["kind"], row["state"]) == ("billing:told", "mutation", "pending"), row
    assert (row["on_complete"], row["numbered"]) == (None, 1), "nobody is told how the telling ends"
    told = Completion.model_validate_json(row["args"], strict=True)
    assert (told.id, told.outcome, told.target) == (job_id, outcome, "billing:end_trial")
    assert (row["due"], told.ended - START) == (rig.now, rig.now), "it is told at once"
    return told


def _calls(rig: Rig) -> list[Row]:
    return rig.rows("SELECT * FROM jobs WHERE target = 'billing:told' ORDER BY id")


def _end(rig: Rig, dispatch: str, result: Result) -> None:
    rig.engine.settle(dispatch, [result], START + rig.now)
    rig.complete(dispatch)


# -- whoever wants to know is told ---------------------------------------------------------------------------


def case_of_a_success_its_result_is_told(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(on_complete=TELL, tags='["nightly", "team-a"]', shard_key="s")
    store.execute("UPDATE jobs SET traceparent = '00-trace'")
    (attempt,) = rig.claim_one().attempts
    assert attempt.wants_result
    assert rig.begin("d1")
    result = '{"receipt": 12345678901234567890, "x": 1.0}'
    _end(rig.at(SECOND), "d1", Result(job="j", attempt=1, outcome="ok", result=result))
    told = _told(rig, "j", "succeeded")
    assert told.result == {"receipt": 12345678901234567890, "x": 1.0}
    assert (told.result_omitted, told.error, told.tags, told.attempts) == (False, None, ("nightly", "team-a"), 1)
    assert rig.rows("SELECT shard_key, traceparent FROM jobs WHERE target = 'billing:told'") == [
        {"shard_key": "s", "traceparent": "00-trace"}
    ]


def case_without_on_complete_nobody_is_told_and_no_result_is_asked_for(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    assert not rig.claim_one().attempts[0].wants_result
    assert rig.begin("d1")
    _end(rig, "d1", Result(job="j", attempt=1, outcome="ok", result="1"))
    assert rig.rows("SELECT id FROM jobs") == [{"id": "j"}]


def case_of_a_dead_letter_its_error_is_told_and_each_of_its_lives_ends(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(on_complete=TELL)
    rig.fail(rig.claim_and_begin(), retryable=False)
    error = _told(rig, "j", "dead").error
    assert error is not None
    assert (error.code, error.message) == ("BOOM", "it broke")
    assert rig.redrive()
    incarnation = rig.job()["incarnation"]
    rig.engine.cancel(completion_id("j", "j-call", "dead"), START)
    rig.fail(rig.claim_and_begin(), attempt=2, retryable=False)
    assert _told(rig, "j", "dead", incarnation).incarnation == incarnation
    assert len(_calls(rig)) == 2


def case_of_a_job_that_was_given_up_and_succeeded_both_are_told(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(on_complete=TELL, retry=ONCE)
    rig.fail(rig.claim_and_begin())
    rig.at(2 * SECOND)
    dispatch = rig.claim_and_begin()
    rig.complete(dispatch)
    assert _told(rig, "j", "dead").error is not None
    rig.engine.settle(dispatch, [Result(job="j", attempt=2, outcome="ok", result='"late"')], START + rig.now)
    assert rig.state() == "succeeded"
    assert _told(rig, "j", "succeeded").result == "late"


def case_of_a_cancel_it_is_told_whether_it_waits_or_runs(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("waits", due=DAY, on_complete=TELL)
    rig.schedule("runs", on_complete=TELL)
    dispatch = rig.claim_and_begin()
    assert rig.cancel("waits")
    assert _told(rig, "waits", "canceled").error is None, "nothing had gone wrong"
    assert rig.cancel("runs")
    assert len(_calls(rig)) == 1, "it has not ended yet"
    rig.at(SECOND).fail(dispatch, job="runs")
    error = _told(rig, "runs", "canceled").error
    assert error is not None
    assert error.code == "BOOM"
    assert not rig.cancel("waits")
    assert len(_calls(rig)) == 2


def case_of_many_cancels_each_is_told(store: Store) -> None:
    rig = Rig(store)
    jobs = [replace(new_job(f"j{number}", DAY), on_complete=TELL if number % 2 else None) for number in range(30)]
    rig.engine.schedule(jobs, START)
    assert len(rig.engine.change_many("cancel", JobFilter(), START, dry_run=True).ids) == 30
    assert _calls(rig) == []
    assert len(rig.engine.change_many("cancel", JobFilter(target="billing:end_trial"), START).ids) == 30
    assert len(_calls(rig)) == 15
    assert _told(rig, "j7", "canceled").error is None


def case_of_a_cancel_that_overtook_its_job_it_is_told(store: Store) -> None:
    rig = Rig(store)
    assert not rig.at(SECOND).cancel()
    job = replace(new_job("j", DAY), on_complete=TELL)
    rig.engine.accept("shard", [OutboxRow(number=1, id="j", called=START, job=job)], START + rig.now)
    assert rig.state() == "canceled"
    _told(rig, "j", "canceled")


def case_of_a_job_that_could_not_be_taken_it_is_told(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=DAY)
    job = replace(new_job("j", 0, incarnation="another"), on_complete=TELL)
    rig.engine.accept("shard", [OutboxRow(number=1, id="j", called=START, job=job)], START)
    (dead,) = rig.rows("SELECT id, incarnation FROM jobs WHERE state = 'dead'")
    error = _told(rig, dead["id"], "dead", dead["incarnation"]).error
    assert error is not None
    assert error.code == "DUPLICATE_SCHEDULE_ID"


def case_what_is_rolled_back_is_not_told(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("held", due=DAY)
    rig.schedule("j", due=DAY, on_complete=TELL)
    assert rig.cancel("j")
    told = _calls(rig)
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule([new_job("another", 0), new_job("held", 0, incarnation="x")], START)
    assert _calls(rig) == told
    assert rig.rows("SELECT kept FROM history") == [{"kept": 1}]


def case_many_successes_of_one_line_are_told_together(store: Store) -> None:
    rig = Rig(store)
    rig.room = 1
    jobs = [replace(new_job(f"j{number}", 0), kind="mutation", on_complete=TELL) for number in range(50)]
    rig.engine.schedule(jobs, START)
    dispatch = rig.claim_one()
    assert rig.begin(dispatch.id)
    results = [Result(job=job.id, attempt=1, outcome="ok", result=f'"{job.id}"') for job in jobs]
    rig.engine.settle(dispatch.id, results, START)
    assert len(_calls(rig)) == 50
    assert [_told(rig, job.id, "succeeded").result for job in jobs] == [job.id for job in jobs]
    rig.engine.settle(dispatch.id, results, START)
    assert len(_calls(rig)) == 50, "the same line once more tells nothing new"


def case_without_history_the_ending_is_told_all_the_same(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    job = replace(new_job("j", 0), on_complete=TELL)
    rig.engine.accept("shard", [OutboxRow(number=1, id="j", called=START, job=job)], START)
    _end(rig, rig.claim_and_begin(), Result(job="j", attempt=1, outcome="ok", result="[1]"))
    assert rig.state() is None
    assert _told(rig, "j", "succeeded").result == [1]
    rig.settle(rig.claim_and_begin(), job=completion_id("j", "j-call", "succeeded"))
    assert rig.rows("SELECT id FROM jobs") == [], "what has told is not kept either"


def case_what_a_receiver_sends_as_a_result_is_not_trusted(store: Store) -> None:
    deep = "[" * 64 + "]" * 64
    long = json.dumps("x" * (MAX_RESULT_BYTES - 1))
    for number, result in enumerate(("{", '{"a": 1} and more', "NaN", "1e999", deep, long, "", "\ud800", "[" * 9_000)):
        rig = Rig(store)
        rig.schedule(f"j{number}", on_complete=TELL)
        _end(rig, rig.claim_and_begin(), Result(job=f"j{number}", attempt=1, outcome="ok", result=result))
        told = _told(rig, f"j{number}", "succeeded")
        assert (told.result, told.result_omitted) == (None, True), result[:20]
        store.execute("DELETE FROM jobs")


def case_the_largest_and_the_deepest_result_is_passed_on(store: Store) -> None:
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    for number, result in enumerate(("x" * (MAX_RESULT_BYTES - 2), deep, "\x00", None, 10**300)):
        rig = Rig(store)
        rig.schedule(f"j{number}", on_complete=TELL)
        _end(rig, rig.claim_and_begin(), Result(job=f"j{number}", attempt=1, outcome="ok", result=json.dumps(result)))
        row = rig.job(completion_id(f"j{number}", f"j{number}-call", "succeeded"))
        assert json.loads(row["args"])["result"] == result
        assert json.loads(row["args"])["result_omitted"] is False
        store.execute("DELETE FROM jobs")


# -- too late ------------------------------------------------------------------------------------------------


def case_a_job_that_comes_too_late_expires_and_whoever_wants_to_know_is_told(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("late", expires_at=5 * SECOND, on_complete=TELL)
    rig.schedule("in-time", due=SECOND, expires_at=20 * SECOND)
    rig.at(10 * SECOND)
    assert rig.claimed() == ["in-time"]
    assert rig.state("late") == "expired"
    error = _told(rig, "late", "expired").error
    assert error is not None
    assert error.code == "JOB_EXPIRED"
    assert not rig.cancel("late")
    assert not rig.redrive("late")


def case_what_runs_when_it_expires_runs_to_its_end(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(expires_at=5 * SECOND)
    dispatch = rig.claim_and_begin()
    rig.at(10 * SECOND).settle(dispatch)
    assert rig.state() == "succeeded"


def case_a_retry_that_would_come_too_late_expires_as_soon_as_it_is_too_late(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(expires_at=5 * SECOND)  # its policy waits for 10 s
    dispatch = rig.claim_and_begin()
    rig.at(SECOND).fail(dispatch)
    rig.complete(dispatch)
    assert (rig.state(), rig.job()["due"]) == ("pending", 5 * SECOND)
    assert rig.at(5 * SECOND).run_pass() == []
    assert rig.state() == "expired"
    assert [attempt["code"] for attempt in rig.attempts()] == ["BOOM"], "what went wrong before is on record"


def case_a_job_that_expires_and_had_succeeded_has_succeeded_and_both_are_told(store: Store) -> None:
    """It had its effect: whoever looks must not think that it never will. Found by the simulation, seed 632."""
    rig = Rig(store)
    rig.schedule(expires_at=5 * SECOND, on_complete=TELL)
    dispatch = rig.claim_and_begin()
    rig.at(SECOND).complete(dispatch)  # nobody knows how it ended
    rig.at(20 * SECOND).claim()
    assert _told(rig, "j", "expired").error is not None
    rig.engine.settle(dispatch, [Result(job="j", attempt=1, outcome="ok", result='"late"')], START + rig.now)
    assert (rig.state(), rig.job()["ended"], rig.job()["error_code"]) == ("succeeded", rig.now, None)
    assert _told(rig, "j", "succeeded").result == "late"


def case_without_history_what_expired_is_counted_no_more_when_it_had_succeeded(store: Store) -> None:
    rig = Rig(store, retention=NO_HISTORY)
    rig.schedule(expires_at=5 * SECOND)
    dispatch = rig.claim_and_begin()
    rig.at(SECOND).complete(dispatch)
    rig.at(20 * SECOND).claim()
    assert rig.rows("SELECT kept FROM history") == [{"kept": 1}]
    rig.settle(dispatch)
    assert rig.rows("SELECT kept FROM history") == [{"kept": 0}]


def case_jobs_that_expire_in_a_pool_leave_the_line_to_others(store: Store) -> None:
    rig = pooled(store, 1)
    rig.schedule("runs")
    assert rig.claimed() == ["runs"]
    rig.schedule("late", expires_at=5 * SECOND)
    rig.schedule("next", due=SECOND)
    rig.at(10 * SECOND)
    assert rig.claimed() == []
    assert rig.state("late") == "pending", "there was no room for it to be looked at"
    rig.settle("d1", job="runs")
    rig.complete("d1")
    started = [*rig.claimed(), *rig.claimed()]
    assert (started, rig.state("late")) == (["next"], "expired")


def case_jobs_expire_while_their_origin_does_not_answer(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("first")
    rig.sever(rig.claim_one().id)
    rig.schedule("late", expires_at=5 * SECOND)
    rig.at(6 * SECOND).claim()
    assert rig.state("late") == "expired"


# -- how long they are kept ----------------------------------------------------------------------------------


def case_history_is_bounded_and_its_oldest_go_first_a_hundred_at_a_time(store: Store) -> None:
    rig = Rig(store, retention=Retention(history_limit=10))
    rig.bury("dead")
    for number in range(5):
        rig.at(number + 1).finish(f"done-{number}")
    rig.engine.schedule([new_job(f"j{number:03}", DAY) for number in range(120)], START)
    for number in range(120):
        assert rig.at(SECOND + number).cancel(f"j{number:03}")
    assert rig.rows("SELECT kept FROM history") == [{"kept": 125}]
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) == 10 * MINUTE + 1
    assert rig.at(10 * MINUTE).prune() == 0, "the calls that scheduled them may still be repeated"
    assert rig.at(10 * MINUTE + 3).prune() == 3
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) == 10 * MINUTE + 4
    rig.at(20 * MINUTE)
    assert (rig.prune(), rig.prune(), rig.prune()) == (100, 12, 0)
    assert [row["id"] for row in rig.rows("SELECT id FROM jobs ORDER BY id")] == [
        "dead",
        *(f"j{number}" for number in range(110, 120)),
    ]
    assert rig.rows("SELECT kept FROM history") == [{"kept": 10}]
    assert len(rig.rows("SELECT job FROM attempts")) == 1
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) == 7 * DAY + SECOND + 110


def case_history_and_dead_letters_are_kept_for_as_long_as_is_said(store: Store) -> None:
    rig = Rig(store, retention=Retention(history_ms=20 * MINUTE, dead_ms=DAY))
    rig.finish("done")
    rig.bury("dead")
    rig.schedule("canceled", due=DAY)
    rig.cancel("canceled")
    rig.schedule("late", expires_at=1)
    rig.at(MINUTE).claim()
    assert rig.at(20 * MINUTE - 1).prune() == 0
    assert rig.at(20 * MINUTE).prune() == 2
    assert (rig.state("late"), rig.state("dead")) == ("expired", "dead")
    assert rig.at(21 * MINUTE).prune() == 1
    assert rig.at(DAY - 1).prune() == 0
    assert rig.at(DAY).prune() == 1
    assert rig.rows("SELECT kept FROM history") == [{"kept": 0}]


def case_a_success_that_comes_after_the_end_is_counted_once(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(retry=ONCE)
    rig.fail(rig.claim_and_begin())
    rig.at(2 * SECOND)
    dispatch = rig.claim_and_begin()
    rig.complete(dispatch)
    assert rig.rows("SELECT kept FROM history") == [{"kept": 0}], "a dead letter is no history"
    rig.settle(dispatch, attempt=2)
    assert rig.rows("SELECT kept FROM history") == [{"kept": 1}]


# -- what is on record of an attempt -------------------------------------------------------------------------


def case_an_attempt_that_failed_is_on_record_with_where_it_failed(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start()
    failed = Result(job="j", attempt=1, outcome="failed", code="BOOM", message="no", traceback="app.py:3 in f")
    _end(rig.at(SECOND), dispatch, failed)
    (recorded,) = rig.attempts()
    assert (recorded["outcome"], recorded["traceback"], recorded["dispatch"]) == ("failed", "app.py:3 in f", "d1")
    assert (recorded["started"], recorded["ended"]) == (0, SECOND)


def case_an_attempt_that_asks_for_time_is_given_it_and_counts(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start(retry=RetryPolicy(max_attempts=3, base_ms=SECOND, jitter=0.5))
    rig.random = 0.5
    busy = Result(job="j", attempt=1, outcome="failed", code="BUSY", message="later", retry_after_ms=8 * SECOND)
    _end(rig, dispatch, busy)
    assert (rig.job()["due"], rig.job()["charged"]) == (10 * SECOND, 1), "jitter only adds to what was asked for"
