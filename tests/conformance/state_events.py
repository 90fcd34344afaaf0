"""The events that can befall a job, each with what it does in every state: a specification to be read.

A cell gives only what changes. ``due=75_000`` under an event at 40 s means 35 s later, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lunorash.scheduler.job import Attempt, Dispatch, Outcome
from lunorash.scheduler.store import Row

from .rig import DAY, ORIGIN, Rig, relative_dispatch
from .state_table import GONE, Cell, Event
from .states import NO_WORD, NOT_FOUND, PATIENT, TOO_LATE, State, attempt_row, dispatch_row, job_row

__all__ = ["EVENTS"]


def _schedule(incarnation: str) -> Callable[[Rig, State], list[str]]:
    return lambda rig, _state: rig.schedule(due=50_000, incarnation=incarnation, retry=PATIENT)


def _claim(rig: Rig, _state: State) -> list[Dispatch]:
    return [relative_dispatch(dispatch) for dispatch in rig.claim()]


def _result(
    outcome: Outcome, *, code: str | None = None, message: str | None = None, retryable: bool = True, off_by: int = 0
) -> Callable[[Rig, State], None]:
    return lambda rig, state: rig.settle(
        state.dispatch, outcome, attempt=state.attempt + off_by, retryable=retryable, code=code, message=message
    )


def _claimed(dispatch: str, number: int, charged: int, scheduled_for: int = 0) -> list[Dispatch]:
    return [
        Dispatch(
            id=dispatch,
            attempts=(
                Attempt(
                    job="j",
                    incarnation="j-call",
                    number=number,
                    charged=charged,
                    max_attempts=2,
                    redrives=0,
                    target="billing:end_trial",
                    args="{}",
                    scheduled_for=scheduled_for,
                    timeout_ms=600_000,
                    shard_key=None,
                ),
            ),
        )
    ]


def _error(code: str | None, message: str | None) -> Row:
    return {"error_code": code, "error_message": message}


_NEW: Final = job_row(due=50_000, scheduled_for=50_000, created=40_000)
_AT_REST: Final = {"dispatch": None, "unavailable_since": None}
_OK: Final = {**_AT_REST, **_error(None, None), "state": "succeeded", "alone": 0, "ended": 40_000}
_BOOM: Final = _error("BOOM", "it broke")
_UNHEARD: Final = "the receiver was not heard of again"
_UNBEGUN: Final = "its lease ended and it had not begun"
_NOT_ASKED: Final = "the answer came from somebody who had not asked whether to begin"
_RESTARTED: Final = "the scheduler restarted before the dispatch began"


def _retry(at: int, code: str, message: str, **more: Any) -> Row:
    """Back to pending, the first backoff of 35 s after ``at``."""
    return {**_AT_REST, **_error(code, message), "state": "pending", "due": at + 35_000, **more}


def _dead(at: int, code: str, message: str, **more: Any) -> Row:
    return {**_AT_REST, **_error(code, message), "state": "dead", "ended": at, **more}


def _canceled(at: int, code: str | None = None, message: str | None = None, **more: Any) -> Row:
    return {**_AT_REST, **_error(code, message), "state": "canceled", "ended": at, **more}


def _refund(at: int, message: str) -> Row:
    """Back to pending as if it had not been sent; only the attempt's number is used up."""
    return {
        **_error("NEVER_BEGAN", message),
        "state": "pending",
        "charged": 0,
        "dispatch": None,
        "refunded_at": at,
    }


def _breaker(at: int, reason: str) -> Row:
    """Open since ``at``, with its first probe due at once."""
    return {
        "origin": ORIGIN,
        "since": at,
        "probe_at": at,
        "failures": 0,
        "reason": reason,
        "proved_at": None,
        "failed_at": None,
    }


def _never_began(at: int, message: str) -> dict[str, Cell]:
    """An end of a dispatch that did not begin: refunded, and the breaker opens."""
    tripped = _breaker(at, message)
    canceled = _canceled(at, "NEVER_BEGAN", message, charged=0)
    return {
        "sent": Cell(job=_refund(at, message), closed=True, breaker=tripped),
        "canceling (sent)": Cell(job=canceled, closed=True, breaker=tripped),
    }


def _cut_off(at: int, message: str) -> dict[str, Cell]:
    """The scheduler's own end failed before the dispatch began: refunded too, nobody is blamed, and it pauses."""
    canceled = _canceled(at, "NEVER_BEGAN", message, charged=0)
    return {
        "sent": Cell(job={**_refund(at, message), "refunded_at": None, "due": at + 1_000, "cut_offs": 1}, closed=True),
        "canceling (sent)": Cell(job=canceled, closed=True),
    }


def _unknown(at: int, message: str) -> dict[str, Cell]:
    """An end without a word of a dispatch that began: charged, alone from now on, a late success counts."""

    def recorded(dispatch: str, number: int, started: int) -> tuple[Row, ...]:
        return (attempt_row(number, dispatch, started, at, code="OUTCOME_UNKNOWN", message=message),)

    unknown = _retry(at, "OUTCOME_UNKNOWN", message, alone=1)
    return {
        "running": Cell(job={**unknown, "dispatch": "d1"}, recorded=recorded("d1", 1, 0), closed=True),
        "missing": Cell(job={**unknown, "dispatch": "d2"}, recorded=recorded("d2", 2, 32_000), closed=True),
        "last": Cell(
            job=_dead(at, "OUTCOME_UNKNOWN", message, dispatch="d2"),
            recorded=recorded("d2", 2, 3_000),
            closed=True,
        ),
        "canceling": Cell(job=_canceled(at, "OUTCOME_UNKNOWN", message), recorded=recorded("d1", 1, 0), closed=True),
    }


def _unavailable(at: int, missing: Row) -> dict[str, Cell]:
    """The receiver does not know the function: refunded, tried every 30 s, for 15 minutes."""
    since = {
        **_error("FUNCTION_NOT_FOUND", NOT_FOUND),
        "state": "pending",
        "due": at + 30_000,
        "dispatch": None,
        "unavailable_since": at,
    }
    dead = missing["state"] == "dead"
    return {
        "running": Cell(job={**since, "charged": 0}),
        "last": Cell(job={**since, "charged": 1}),
        "missing": Cell(
            job=missing,
            recorded=(attempt_row(2, "d2", 32_000, at, code="FUNCTION_NOT_FOUND", message=NOT_FOUND),) if dead else (),
        ),
        "canceling": Cell(job=_canceled(at, "FUNCTION_NOT_FOUND", NOT_FOUND, charged=0)),
    }


def _failed(code: str, message: str, *, retryable: bool) -> dict[str, Cell]:
    def recorded(dispatch: str, number: int, started: int) -> tuple[Row, ...]:
        return (attempt_row(number, dispatch, started, 40_000, code=code, message=message),)

    next_row = _retry(40_000, code, message) if retryable else _dead(40_000, code, message)
    return {
        "running": Cell(job=next_row, recorded=recorded("d1", 1, 0)),
        "missing": Cell(job=next_row, recorded=recorded("d2", 2, 32_000)),
        "last": Cell(job=_dead(40_000, code, message), recorded=recorded("d2", 2, 3_000)),
        "canceling": Cell(job=_canceled(40_000, code, message), recorded=recorded("d1", 1, 0)),
    }


def _same_unavailable(at: int) -> Row:
    """Still not known: what it was, 30 s later, refunded once more; the first time stays on record."""
    return {
        **_error("FUNCTION_NOT_FOUND", NOT_FOUND),
        "state": "pending",
        "due": at + 30_000,
        "charged": 0,
        "dispatch": None,
    }


_unknown_function = _result("unavailable", code="FUNCTION_NOT_FOUND", message=NOT_FOUND)


def _claims(at: int) -> dict[str, Cell]:
    """What waits is claimed, and counted, unless it is too late for it."""
    sent = {"state": "running", "started": at}
    opened = dispatch_row("", opened=at, lease=at + 60_000, began=None)
    first = Cell(
        job={**sent, "dispatch": "d1", "attempt": 1, "charged": 1},
        dispatch={**opened, "id": "d1"},
        returns=_claimed("d1", 1, 1, scheduled_for=37_000),
    )
    again = Cell(
        job={**sent, "dispatch": "d2", "attempt": 2, "charged": 2},
        dispatch={**opened, "id": "d2"},
        returns=_claimed("d2", 2, 2),
    )
    return {
        "pending": first,
        "taken over": Cell(
            job={**sent, "dispatch": "d1", "attempt": 2, "charged": 2},
            dispatch={**opened, "id": "d1"},
            returns=_claimed("d1", 2, 2, scheduled_for=37_000),
        ),
        "retrying": again,
        "alone": again,
        "perishable": first,
    }


_redriven: Final = {
    "state": "pending",
    "due": 40_000,
    "charged": 0,
    "redrives": 1,
    "dispatch": None,
    "ended": None,
}
_renewed: Final = Cell(dispatch={"lease": 100_000})
_began: Final = Cell(dispatch={"began": 40_000, "lease": 100_000}, returns=True)
_pruned: Final = Cell(job=GONE, returns=1)

EVENTS: Final[dict[str, Event]] = {
    # -- callers -----------------------------------------------------------------------------------------
    # the same call once more, as a client does whose first call broke: recognised, whatever became of the job
    "scheduled by the same call": Event(
        at=40_000,
        happen=_schedule("j-call"),
        cells={"absent": Cell(job=_NEW, returns=["j"])},
        otherwise=["j"],
    ),
    # another call: an id belongs to one job, for as long as anything is known of it
    "scheduled by another call": Event(
        at=40_000,
        happen=_schedule("another-call"),
        cells={
            "absent": Cell(job={**_NEW, "incarnation": "another-call", "scheduled_as": "another-call"}, returns=["j"])
        },
        otherwise_refused="DUPLICATE_SCHEDULE_ID",
    ),
    "canceled": Event(
        at=40_000,
        happen=lambda rig, _state: rig.cancel(),
        cells={
            # it may be on its way from a shard
            "absent": Cell(buried=40_000, returns=False),
            "pending": Cell(job={"state": "canceled", "ended": 40_000}, returns=True),
            "taken over": Cell(job={"state": "canceled", "ended": 40_000}, returns=True),
            "retrying": Cell(job={"state": "canceled", "ended": 40_000}, returns=True),
            "perishable": Cell(job={"state": "canceled", "ended": 40_000}, returns=True),
            # canceled before it could be claimed again: not even a late success changes that
            "alone": Cell(job={"state": "canceled", "ended": 40_000, "dispatch": None}, returns=True),
            "sent": Cell(job={"cancel_requested": 1}, returns=True),
            "running": Cell(job={"cancel_requested": 1}, returns=True),
            "last": Cell(job={"cancel_requested": 1}, returns=True),
            "missing": Cell(job={"cancel_requested": 1}, returns=True),
            "canceling (sent)": Cell(returns=True),
            "canceling": Cell(returns=True),
        },
        otherwise=False,
    ),
    # a moment before it is due by itself; what is due already, or not waiting, stays as it is
    "run now": Event(
        at=36_999,
        happen=lambda rig, _state: rig.run_now(),
        cells={
            name: Cell(job={"due": 36_999}, returns=True)
            for name in ("pending", "taken over", "retrying", "alone", "perishable")
        },
        otherwise=False,
    ),
    "retried by hand": Event(
        at=40_000,
        happen=lambda rig, _state: rig.redrive(),
        cells={
            "dead": Cell(job={**_redriven, "incarnation": "d2"}, returns=True),
            "lost": Cell(job={**_redriven, "incarnation": "d3"}, returns=True),
        },
        otherwise=False,
    ),
    "dropped": Event(
        at=40_000,
        happen=lambda rig, _state: rig.drop_dead(),
        cells={"dead": Cell(job=GONE, returns=True), "lost": Cell(job=GONE, returns=True)},
        otherwise=False,
    ),
    # -- time --------------------------------------------------------------------------------------------
    "claim before it is due": Event(at=36_999, happen=_claim, cells={}, otherwise=[]),
    "claim when it is due": Event(at=37_000, happen=_claim, cells=_claims(37_000), otherwise=[]),
    "claim a moment before it is too late": Event(at=39_999, happen=_claim, cells=_claims(39_999), otherwise=[]),
    "claim when it is too late": Event(
        at=40_000,
        happen=_claim,
        cells={
            **_claims(40_000),
            "perishable": Cell(job={"state": "expired", "ended": 40_000, **TOO_LATE}, returns=[]),
        },
        otherwise=[],
    ),
    "rescue before any lease has ended": Event(at=59_999, happen=lambda rig, _: rig.rescue(), cells={}, otherwise=0),
    "rescue after every lease has ended": Event(
        at=93_000,
        happen=lambda rig, _state: rig.rescue(),
        cells={
            name: Cell(job=cell.job, recorded=cell.recorded, closed=True, returns=1)
            for name, cell in {**_cut_off(93_000, _UNBEGUN), **_unknown(93_000, _UNHEARD)}.items()
        },
        otherwise=0,
    ),
    "prune a moment before a week has passed": Event(
        at=7 * DAY + 1_999, happen=lambda rig, _state: rig.prune(), cells={}, otherwise=0
    ),
    "prune after a week": Event(
        at=7 * DAY + 2_000,
        happen=lambda rig, _state: rig.prune(),
        cells={"succeeded": _pruned, "canceled": _pruned, "expired": _pruned, "lapsed": _pruned},
        otherwise=0,
    ),
    "prune a moment before ninety days have passed": Event(
        at=90 * DAY + 1_999,
        happen=lambda rig, _state: rig.prune(),
        cells={"succeeded": _pruned, "canceled": _pruned, "expired": _pruned, "lapsed": _pruned},
        otherwise=0,
    ),
    "prune after ninety days": Event(
        at=90 * DAY + 5_000,
        happen=lambda rig, _state: rig.prune(),
        cells={
            "succeeded": _pruned,
            "canceled": _pruned,
            "expired": _pruned,
            "lapsed": _pruned,
            "dead": _pruned,
            "lost": _pruned,
        },
        otherwise=0,
    ),
    # -- the receiver ------------------------------------------------------------------------------------
    # yes once, for a dispatch that is open and waits
    "begin": Event(
        at=40_000,
        happen=lambda rig, state: rig.begin(state.dispatch),
        cells={"sent": _began, "canceling (sent)": _began},
        otherwise=False,
    ),
    "begin when the lease has ended": Event(
        at=60_000, happen=lambda rig, state: rig.begin(state.dispatch), cells={}, otherwise=False
    ),
    "heartbeat": Event(
        at=40_000,
        happen=lambda rig, state: rig.renew(state.dispatch),
        cells={
            "sent": _renewed,
            "running": _renewed,
            "last": _renewed,
            "missing": _renewed,
            "canceling (sent)": _renewed,
            "canceling": _renewed,
        },
    ),
    # in "alone", "lost" and "lapsed" it comes late, and still counts; in "sent" nobody has begun who could say so
    "ok": Event(
        at=40_000,
        happen=_result("ok"),
        cells={
            "alone": Cell(job=_OK),
            "running": Cell(job=_OK),
            "last": Cell(job=_OK),
            "missing": Cell(job=_OK),
            "lost": Cell(job=_OK),
            "lapsed": Cell(job=_OK),
            "canceling": Cell(job=_canceled(40_000)),
        },
    ),
    # a failure that comes late says nothing new: "alone" has its retry, "lost" is dead, "lapsed" has expired
    "failed": Event(
        at=40_000,
        happen=_result("failed", code="BOOM", message="it broke"),
        cells=_failed("BOOM", "it broke", retryable=True),
    ),
    # R2: the type decides, not the text, which may be empty
    "failed for good without a text": Event(
        at=40_000,
        happen=_result("failed", code="BOOM", message="", retryable=False),
        cells=_failed("BOOM", "", retryable=False),
    ),
    "failed without code and text": Event(
        at=40_000, happen=_result("failed"), cells=_failed("ATTEMPT_FAILED", "", retryable=True)
    ),
    "unavailable": Event(at=40_000, happen=_unknown_function, cells=_unavailable(40_000, _same_unavailable(40_000))),
    "unavailable a moment before 15 minutes have passed": Event(
        at=901_999, happen=_unknown_function, cells=_unavailable(901_999, _same_unavailable(901_999))
    ),
    "unavailable for 15 minutes": Event(
        at=902_000,
        happen=_unknown_function,
        cells=_unavailable(902_000, _dead(902_000, "FUNCTION_NOT_FOUND", NOT_FOUND)),
    ),
    "ok of an older attempt": Event(at=40_000, happen=_result("ok", off_by=-1), cells={}),
    "ok of an attempt yet to come": Event(at=40_000, happen=_result("ok", off_by=1), cells={}),
    "ok by another dispatch": Event(
        at=40_000, happen=lambda rig, state: rig.settle("d9", attempt=state.attempt), cells={}
    ),
    "failed by another dispatch": Event(
        at=40_000, happen=lambda rig, state: rig.fail("d9", attempt=state.attempt), cells={}
    ),
    "complete without a result": Event(
        at=40_000,
        happen=lambda rig, state: rig.complete(state.dispatch),
        cells={**_never_began(40_000, _NOT_ASKED), **_unknown(40_000, NO_WORD)},
    ),
    # what never began is refunded at once; what began has 35 s to notice and to stop
    "sever": Event(
        at=40_000,
        happen=lambda rig, state: rig.sever(state.dispatch),
        cells={
            **_never_began(40_000, "connection refused"),
            "running": Cell(dispatch={"lease": 75_000}),
            "last": Cell(dispatch={"lease": 75_000}),
            "missing": Cell(dispatch={"lease": 75_000}),
            "canceling": Cell(dispatch={"lease": 75_000}),
        },
    ),
    # -- the object --------------------------------------------------------------------------------------
    "the object restarts": Event(
        at=40_000,
        happen=lambda rig, _state: rig.resume(),
        cells={
            **_cut_off(40_000, _RESTARTED),
            "running": Cell(dispatch={"lease": 75_000}),
            "last": Cell(dispatch={"lease": 75_000}),
            "missing": Cell(dispatch={"lease": 75_000}),
            "canceling": Cell(dispatch={"lease": 75_000}),
        },
    ),
}
