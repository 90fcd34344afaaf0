"""Every state a job can be in: how it gets there, and the rows it is then made of.

Times are milliseconds after the job was scheduled. All states are reached by 33 s; events come later.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Row

from .rig import ORIGIN, Rig

__all__ = ["PATIENT", "STATES", "TOO_LATE", "State", "attempt_row", "dispatch_row", "job_row"]

PATIENT: Final = RetryPolicy(max_attempts=2, base_ms=35_000)
"""Two retries: 35 s and 70 s after the failure before each."""

ONE_RETRY: Final = RetryPolicy(max_attempts=1, base_ms=1_000)
"""One retry, one second after the failure."""

NO_WORD: Final = "the receiver ended without a word about this attempt"
NOT_FOUND: Final = "there is no function billing:end_trial"


@dataclass(frozen=True, kw_only=True)
class State:
    """One state.

    Args:
        reach: brings the job there.
        job: its row then; None when it does not exist.
        attempts: the attempts on record.
        dispatches: the open dispatches.
        dispatch: the last dispatch that carried the job, closed or not; events of the receiver name it.
        attempt: the number of its last attempt; likewise.
    """

    reach: Callable[[Rig], None]
    job: Row | None
    attempts: tuple[Row, ...] = ()
    dispatches: tuple[Row, ...] = ()
    dispatch: str = "d1"
    attempt: int = 1


def job_row(**columns: Any) -> Row:
    """A job's row: as it was scheduled at 0, due at 0, but for ``columns``."""
    row = {
        "id": "j",
        "incarnation": "j-call",
        "scheduled_as": "j-call",
        "target": "billing:end_trial",
        "args": "{}",
        "state": "pending",
        "due": 0,
        "scheduled_for": 0,
        "created": 0,
        "retry": json.dumps(PATIENT.to_dict()),
        "timeout_ms": 600_000,
        "shard_key": None,
        "attempt": 0,
        "charged": 0,
        "redrives": 0,
        "dispatch": None,
        "cancel_requested": 0,
        "alone": 0,
        "cut_offs": 0,
        "refunded_at": None,
        "suspected": 0,
        "unavailable_since": None,
        "started": None,
        "ended": None,
        "error_code": None,
        "error_message": None,
        "pool": None,
        "priority": 0,
        "kind": None,
        "size": 2,
        "numbered": 0,
        "expires_at": None,
        "tags": None,
        "on_complete": None,
        "traceparent": None,
    }
    assert set(columns) <= set(row), f"no such columns: {set(columns) - set(row)}"
    return {**row, **columns}


def attempt_row(
    number: int, dispatch: str, started: int, ended: int, *, code: str, message: str, traceback: str | None = None
) -> Row:
    """A recorded attempt."""
    outcomes = {"OUTCOME_UNKNOWN": "unknown", "FUNCTION_NOT_FOUND": "unavailable"}
    return {
        "job": "j",
        "number": number,
        "incarnation": "j-call",
        "dispatch": dispatch,
        "started": started,
        "ended": ended,
        "outcome": outcomes.get(code, "failed"),
        "code": code,
        "message": message,
        "traceback": traceback,
    }


def dispatch_row(dispatch: str, *, opened: int, lease: int, began: int | None, jobs: str = '["j"]') -> Row:
    """An open dispatch."""
    return {
        "id": dispatch,
        "origin": ORIGIN,
        "opened": opened,
        "lease": lease,
        "began": began,
        "jobs": jobs,
    }


def _absent(_rig: Rig) -> None:
    pass


def _pending(rig: Rig) -> None:
    rig.at(0).schedule(due=37_000, retry=PATIENT)


def _taken_over(rig: Rig) -> None:
    rig.at(0).schedule(due=37_000, retry=PATIENT, charged=1)


def _sent(rig: Rig) -> None:
    rig.at(0).schedule(retry=PATIENT)
    rig.claim_one()


def _began(rig: Rig) -> None:
    _sent(rig)
    assert rig.at(1_000).begin("d1")


def _running(rig: Rig) -> None:
    _began(rig)
    rig.at(30_000).renew("d1")


def _retrying(rig: Rig) -> None:
    _began(rig)
    rig.at(2_000).fail("d1")
    rig.complete("d1")


def _alone(rig: Rig) -> None:
    _began(rig)
    rig.at(2_000).complete("d1")


def _second_and_last_attempt_began(rig: Rig) -> None:
    rig.at(0).schedule(retry=ONE_RETRY)
    rig.claim_one()
    assert rig.at(1_000).begin("d1")
    rig.at(2_000).fail("d1")
    rig.complete("d1")
    rig.at(3_000).claim_one()
    assert rig.at(4_000).begin("d2")


def _last(rig: Rig) -> None:
    _second_and_last_attempt_began(rig)
    rig.at(30_000).renew("d2")


def _lost(rig: Rig) -> None:
    _second_and_last_attempt_began(rig)
    rig.at(5_000).complete("d2")


def _missing(rig: Rig) -> None:
    _began(rig)
    rig.at(2_000).settle("d1", "unavailable", code="FUNCTION_NOT_FOUND", message=NOT_FOUND)
    rig.complete("d1")
    rig.at(32_000).claim_one()
    assert rig.at(33_000).begin("d2")


def _canceling_sent(rig: Rig) -> None:
    _sent(rig)
    assert rig.at(1_500).cancel()


def _canceling(rig: Rig) -> None:
    _running(rig)
    assert rig.at(31_000).cancel()


def _succeeded(rig: Rig) -> None:
    _began(rig)
    rig.at(2_000).settle("d1")
    rig.complete("d1")


def _dead(rig: Rig) -> None:
    _began(rig)
    rig.at(2_000).fail("d1", retryable=False)
    rig.complete("d1")


def _canceled(rig: Rig) -> None:
    _pending(rig)
    assert rig.at(2_000).cancel()


def _perishable(rig: Rig) -> None:
    rig.at(0).schedule(due=37_000, expires_at=40_000, retry=PATIENT)


def _expired(rig: Rig) -> None:
    rig.at(0).schedule(due=1_000, expires_at=2_000, retry=PATIENT)
    assert rig.at(2_000).claim() == []


def _lapsed(rig: Rig) -> None:
    rig.at(0).schedule(expires_at=2_000, retry=PATIENT)
    rig.at(1_000).claim_and_begin()
    rig.at(1_500).complete("d1")
    assert rig.at(2_000).claim() == []


TOO_LATE: Final = {
    "error_code": "JOB_EXPIRED",
    "error_message": "its expires_at passed before it could be started",
}
_BROKE: Final = {"error_code": "BOOM", "error_message": "it broke"}
_FIRST_BROKE: Final = attempt_row(1, "d1", 0, 2_000, code="BOOM", message="it broke")
_TRIED_ONCE: Final = {"attempt": 1, "charged": 1, "started": 0}
_RUNNING: Final = {**_TRIED_ONCE, "state": "running", "dispatch": "d1"}
_SECOND: Final = {
    "retry": json.dumps(ONE_RETRY.to_dict()),
    "due": 3_000,
    "attempt": 2,
    "charged": 2,
    "started": 3_000,
    "dispatch": "d2",
}

STATES: Final[dict[str, State]] = {
    # never scheduled, or gone
    "absent": State(reach=_absent, job=None),
    # waits, due at 37 s
    "pending": State(reach=_pending, job=job_row(due=37_000, scheduled_for=37_000)),
    # its first attempt was made elsewhere and failed; due at 37 s
    "taken over": State(reach=_taken_over, job=job_row(due=37_000, scheduled_for=37_000, attempt=1, charged=1)),
    # failed once, due again at 37 s
    "retrying": State(reach=_retrying, job=job_row(**_TRIED_ONCE, **_BROKE, due=37_000), attempts=(_FIRST_BROKE,)),
    # nobody knows how its first attempt ended; due again at 37 s, and a late success would still count
    "alone": State(
        reach=_alone,
        job=job_row(
            **_TRIED_ONCE, due=37_000, dispatch="d1", alone=1, error_code="OUTCOME_UNKNOWN", error_message=NO_WORD
        ),
        attempts=(attempt_row(1, "d1", 0, 2_000, code="OUTCOME_UNKNOWN", message=NO_WORD),),
    ),
    # claimed; the receiver has not asked yet
    "sent": State(
        reach=_sent, job=job_row(**_RUNNING), dispatches=(dispatch_row("d1", opened=0, lease=60_000, began=None),)
    ),
    # the receiver runs it
    "running": State(
        reach=_running,
        job=job_row(**_RUNNING),
        dispatches=(dispatch_row("d1", opened=0, lease=90_000, began=1_000),),
    ),
    # its last attempt runs
    "last": State(
        reach=_last,
        job=job_row(**_SECOND, **_BROKE, state="running"),
        attempts=(_FIRST_BROKE,),
        dispatches=(dispatch_row("d2", opened=3_000, lease=90_000, began=4_000),),
        dispatch="d2",
        attempt=2,
    ),
    # the receiver did not know the function at 2 s, which was refunded; now it is asked again
    "missing": State(
        reach=_missing,
        job=job_row(
            state="running",
            due=32_000,
            attempt=2,
            charged=1,
            started=32_000,
            dispatch="d2",
            unavailable_since=2_000,
            error_code="FUNCTION_NOT_FOUND",
            error_message=NOT_FOUND,
        ),
        dispatches=(dispatch_row("d2", opened=32_000, lease=93_000, began=33_000),),
        dispatch="d2",
        attempt=2,
    ),
    # claimed, then canceled
    "canceling (sent)": State(
        reach=_canceling_sent,
        job=job_row(**_RUNNING, cancel_requested=1),
        dispatches=(dispatch_row("d1", opened=0, lease=60_000, began=None),),
    ),
    # the receiver runs it, and it was canceled
    "canceling": State(
        reach=_canceling,
        job=job_row(**_RUNNING, cancel_requested=1),
        dispatches=(dispatch_row("d1", opened=0, lease=90_000, began=1_000),),
    ),
    "succeeded": State(reach=_succeeded, job=job_row(**_TRIED_ONCE, state="succeeded", ended=2_000)),
    # failed for good
    "dead": State(
        reach=_dead, job=job_row(**_TRIED_ONCE, **_BROKE, state="dead", ended=2_000), attempts=(_FIRST_BROKE,)
    ),
    # nobody knows how its last attempt ended: dead, and a late success would still count
    "lost": State(
        reach=_lost,
        job=job_row(**_SECOND, state="dead", ended=5_000, error_code="OUTCOME_UNKNOWN", error_message=NO_WORD),
        attempts=(_FIRST_BROKE, attempt_row(2, "d2", 3_000, 5_000, code="OUTCOME_UNKNOWN", message=NO_WORD)),
        dispatch="d2",
        attempt=2,
    ),
    "canceled": State(reach=_canceled, job=job_row(state="canceled", due=37_000, scheduled_for=37_000, ended=2_000)),
    # waits, due at 37 s, and is not to be started any more from 40 s on
    "perishable": State(reach=_perishable, job=job_row(due=37_000, scheduled_for=37_000, expires_at=40_000)),
    # it was too late when it was to be claimed
    "expired": State(
        reach=_expired,
        job=job_row(state="expired", due=1_000, scheduled_for=1_000, expires_at=2_000, ended=2_000, **TOO_LATE),
    ),
    # nobody knows how its attempt ended, and it was too late for another: a late success would still count
    "lapsed": State(
        reach=_lapsed,
        job=job_row(
            state="expired",
            due=2_000,
            expires_at=2_000,
            ended=2_000,
            attempt=1,
            charged=1,
            started=1_000,
            dispatch="d1",
            alone=1,
            **TOO_LATE,
        ),
        attempts=(attempt_row(1, "d1", 1_000, 1_500, code="OUTCOME_UNKNOWN", message=NO_WORD),),
    ),
}
