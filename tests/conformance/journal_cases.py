"""What the journal tells of jobs: every transition once, after it was committed, with ids and durations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from lunorash.scheduler.job import OutboxRow
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import MINUTE, SECOND, START, Rig, new_job, refused

TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT: Final = f"00-{TRACE}-b7ad6b7169203331-01"

_JOB: Final = {"job": "j", "incarnation": "j-call", "target": "billing:end_trial"}


def _line(event: str, at: int, **fields: Any) -> dict[str, Any]:
    return {"event": f"job.{event}", "at": START + at, **_JOB, **fields}


def _events(rig: Rig) -> list[str]:
    return [line["event"].removeprefix("job.") for line in rig.told]


def case_the_lines_of_a_life_that_ends_well(store: Store) -> None:
    rig = Rig(store)
    rig.engine.schedule([replace(new_job("j", 2 * SECOND), traceparent=TRACEPARENT)], START)
    dispatch = rig.at(2 * SECOND + 40).claim_one()
    assert rig.begin(dispatch.id)
    rig.at(5 * SECOND).fail(dispatch.id)
    rig.at(15 * SECOND)
    second = rig.claim_and_begin()
    rig.at(15 * SECOND + 700).settle(second, attempt=2)
    rig.complete(second)
    assert rig.told == [
        _line("scheduled", 0, wait_ms=2 * SECOND, trace_id=TRACE),
        _line("started", 2 * SECOND + 40, attempt=1, dispatch="d1", late_ms=40, trace_id=TRACE),
        _line(
            "retrying",
            5 * SECOND,
            attempt=1,
            dispatch="d1",
            ran_ms=2_960,
            wait_ms=10 * SECOND,
            code="BOOM",
            trace_id=TRACE,
        ),
        _line("started", 15 * SECOND, attempt=2, dispatch="d2", late_ms=0, trace_id=TRACE),
        _line("succeeded", 15 * SECOND + 700, attempt=2, dispatch="d2", ran_ms=700, trace_id=TRACE),
    ]


def case_an_attempt_is_a_span_of_its_own_in_the_trace_of_its_job(store: Store) -> None:
    rig = Rig(store)
    rig.engine.schedule([replace(new_job("j", 0), traceparent=TRACEPARENT), new_job("k", 0)], START)
    (traced, other) = (attempt for dispatch in rig.claim() for attempt in dispatch.attempts)
    assert traced.traceparent == f"00-{TRACE}-00f067aa0ba902b7-01"
    assert other.traceparent is None


def case_a_dead_letter_its_second_chance_and_its_end_are_told(store: Store) -> None:
    rig = Rig(store)
    rig.bury()
    assert rig.redrive()
    rig.fail(rig.claim_and_begin(), attempt=2, retryable=False)
    assert rig.drop_dead()
    assert _events(rig) == ["scheduled", "started", "dead", "redriven", "started", "dead", "dropped"]
    assert [line["incarnation"] for line in rig.told] == ["j-call"] * 3 + ["d2"] * 4
    assert "ran_ms" in rig.told[2]
    assert "it broke" not in str(rig.told), "the text of an error is not for the log"


def case_a_dispatch_that_never_began_is_told_as_refunded(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.sever(rig.claim_one().id)
    assert rig.told[2:] == [_line("refunded", 0, attempt=1, dispatch="d1", wait_ms=0, code="NEVER_BEGAN")]


def case_an_attempt_of_which_nothing_was_heard_is_retried(store: Store) -> None:
    rig = Rig(store)
    rig.start()
    rig.at(10 * MINUTE).rescue()
    (line,) = rig.told[2:]
    assert (line["event"], line["code"]) == ("job.retrying", "OUTCOME_UNKNOWN")
    assert "ran_ms" not in line, "nobody knows how long it ran"


def case_cancels_are_told_when_the_job_has_come_to_rest(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("waits", due=MINUTE)
    assert rig.cancel("waits")
    assert _events(rig) == ["scheduled", "canceled"]
    dispatch = rig.start("runs")
    assert rig.cancel("runs")
    assert _events(rig)[2:] == ["scheduled", "started"]
    rig.fail(dispatch, job="runs")
    assert _events(rig)[4:] == ["canceled"]
    assert not rig.cancel("runs")
    assert len(rig.told) == 5


def case_a_job_whose_cancel_came_before_it_is_told_as_cancelled(store: Store) -> None:
    rig = Rig(store)
    rig.at(SECOND).cancel()
    row = OutboxRow(number=1, id="j", called=START, job=new_job("j", 0))
    rig.engine.accept("shard", [row], START + rig.now)
    assert _events(rig) == ["scheduled", "canceled"]


def case_a_job_that_cannot_be_taken_is_told_as_dead(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    row = OutboxRow(number=1, id="j", called=START, job=new_job("j", 0, incarnation="another"))
    rig.engine.accept("shard", [row], START)
    assert _events(rig) == ["scheduled", "scheduled", "dead"]
    assert rig.told[2]["code"] == "DUPLICATE_SCHEDULE_ID"
    assert rig.told[2]["job"] == rig.told[1]["job"] != "j"


def case_what_is_done_to_many_is_told_of_each(store: Store) -> None:
    rig = Rig(store)
    rig.engine.schedule_many([new_job(name, MINUTE) for name in "abc"], START)
    rig.engine.change_many("cancel", JobFilter(), START, limit=2)
    rig.engine.change_many("cancel", JobFilter(), START, dry_run=True)
    assert _events(rig) == ["scheduled"] * 3 + ["canceled"] * 2
    rig.told.clear()
    for name in "de":
        rig.bury(name)
    rig.told.clear()
    rig.engine.change_many("redrive", JobFilter(id_prefix="d"), START)
    rig.engine.change_many("drop", JobFilter(), START)
    assert [(line["event"], line["job"]) for line in rig.told] == [("job.redriven", "d"), ("job.dropped", "e")]
    assert rig.told[0]["incarnation"] == rig.job("d")["incarnation"]


def case_a_call_that_is_repeated_is_told_once(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.schedule()
    assert _events(rig) == ["scheduled"]


def case_nothing_is_told_of_what_was_undone(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.told.clear()
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule([new_job("k", 0), new_job("j", 0, incarnation="another")], START)
    assert rig.told == []
    assert rig.state("k") is None
    rig.schedule("l")
    assert [line["job"] for line in rig.told] == ["l"]


def case_a_job_that_expires_is_told_with_its_code(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(expires_at=SECOND)
    assert rig.at(2 * SECOND).claim() == []
    assert rig.told[1:] == [_line("expired", 2 * SECOND, code="JOB_EXPIRED")]


def case_who_is_told_of_an_ending_is_told_in_the_same_trace(store: Store) -> None:
    rig = Rig(store)
    told = '{"target": "m:told", "kind": null}'
    rig.engine.schedule([replace(new_job("j", 0), traceparent=TRACEPARENT, on_complete=told)], START)
    rig.settle(rig.claim_and_begin())
    scheduled, attempt = rig.told[-1], rig.claim_one().attempts[0]
    assert (scheduled["event"], scheduled["target"], scheduled["trace_id"]) == ("job.scheduled", "m:told", TRACE)
    assert attempt.traceparent == f"00-{TRACE}-00f067aa0ba902b7-01"


def case_a_late_success_is_told_with_the_attempt_that_had_it(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start(retry=RetryPolicy(max_attempts=2, base_ms=MINUTE))
    rig.at(10 * MINUTE).rescue()
    rig.settle(dispatch)
    assert _events(rig) == ["scheduled", "started", "retrying", "succeeded"]
    assert (rig.told[3]["attempt"], rig.told[3]["dispatch"]) == (1, dispatch)
