"""What becomes of a running job: pure, one function for every event that can end an attempt.

The chart is in ARCHITECTURE.md; tests/unit/test_states.py walks every state and event.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lunorash.scheduler.job import AttemptOutcome, State
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Row

__all__ = [
    "UNAVAILABLE_PATIENCE_MS",
    "UNAVAILABLE_RETRY_MS",
    "Event",
    "Failed",
    "NeverBegan",
    "Refused",
    "Succeeded",
    "Unavailable",
    "Unknown",
    "Verdict",
    "judge",
]

CUT_OFF_PAUSE_MS: Final = 1_000
MAX_CUT_OFFS: Final = 5
"""A job that brings the scheduler itself down before it is sent, so often in a row, begins to be charged for it."""

UNAVAILABLE_RETRY_MS: Final = 30_000
UNAVAILABLE_PATIENCE_MS: Final = 15 * 60 * 1000
"""How long a function may be missing from the deployment before its jobs are dead: a deploy in progress passes."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The function returned.

    ``result``: what, as JSON text, if somebody wants to know. ``result_omitted``: it was too large to travel.
    """

    result: str | None = None
    result_omitted: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised, or ran out of time.

    ``shared``: it was one of several that failed together, and perhaps because of one of them. ``retry_after_ms``: how
    long it asks to wait at least. ``traceback``: where in the app's code.
    """

    code: str
    message: str
    retryable: bool = True
    shared: bool = False
    retry_after_ms: int | None = None
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The receiver does not know the function, or refuses its arguments."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The attempt began and nobody will say how it ended."""

    message: str


@dataclass(frozen=True, slots=True)
class NeverBegan:
    """The dispatch provably never began.

    ``blamed``: its origin had the chance to take it, and did not; otherwise we failed to send it. ``proved``: that
    origin has answered a probe since it last refused this job.
    """

    message: str
    blamed: bool = True
    proved: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Its dispatch did not begin although a probe had come back before, and so did the next one after: it is the job.

    Only the first probe after the refusal tells that from an outage that began just then.
    """

    message: str


Event = Succeeded | Failed | Unavailable | Unknown | NeverBegan | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The row's next values. Those left out stay as they are."""

    state: State
    due: int
    charged: int
    alone: bool = False
    late_success_counts: bool = False
    cut_offs: int = 0
    refunded_at: int | None = None
    suspected: bool = False
    unavailable_since: int | None = None
    code: str | None = None
    message: str | None = None
    recorded: bool = False
    outcome: AttemptOutcome = "failed"
    traceback: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the job has come to rest."""
        return self.state not in ("pending", "running")


def judge(job: Row, event: Event, *, now: int, random: Callable[[], float]) -> Verdict:
    """Decide what becomes of a running job.

    Args:
        job: its row: ``due``, ``charged``, ``retry``, ``cancel_requested``, ``alone``, ``cut_offs``, ``refunded_at``,
            ``unavailable_since``, ``expires_at``.
        event: how its attempt ended.
        now: epoch milliseconds.
        random: numbers in [0, 1), for jitter.

    Returns:
        the row's next values.
    """
    verdict = _verdict(job, event, now, random)
    if job["cancel_requested"]:
        return Verdict(
            state="canceled",
            due=job["due"],
            charged=verdict.charged,
            code=verdict.code,
            message=verdict.message,
            recorded=verdict.recorded,
            outcome=verdict.outcome,
            traceback=verdict.traceback,
        )
    if verdict.state == "pending" and job["expires_at"] is not None:
        # if it is too late then, it expires at once, and is not waited for
        return replace(verdict, due=min(verdict.due, job["expires_at"]))
    return verdict


def _verdict(job: Row, event: Event, now: int, random: Callable[[], float]) -> Verdict:
    due, charged = job["due"], job["charged"]
    match event:
        case Succeeded():
            return Verdict(state="succeeded", due=due, charged=charged)
        case Failed(code, message):
            verdict = _charge(
                job, now, random, code, message, retryable=event.retryable, retry_after_ms=event.retry_after_ms
            )
            alone = event.shared and verdict.state == "pending"
            return replace(verdict, alone=alone, traceback=event.traceback)
        case Unknown(message):
            return _charge(job, now, random, "OUTCOME_UNKNOWN", message, outcome="unknown", unknown=True)
        case Refused(message):
            return _charge(
                job, now, random, "NEVER_BEGAN", message, outcome="never_began", unknown=True, refunded_at=now
            )
        case NeverBegan(message, blamed=False) if job["cut_offs"] >= MAX_CUT_OFFS:
            charged_for_it = _charge(job, now, random, "NEVER_BEGAN", message, outcome="never_began", unknown=True)
            return replace(charged_for_it, cut_offs=job["cut_offs"])
        case NeverBegan(message, blamed, proved):
            return Verdict(
                state="pending",
                due=due if blamed else max(due, now + CUT_OFF_PAUSE_MS),
                charged=charged - 1,
                alone=bool(job["alone"]),
                cut_offs=job["cut_offs"] if blamed else job["cut_offs"] + 1,
                refunded_at=now if blamed else job["refunded_at"],
                suspected=blamed and proved and job["refunded_at"] is not None,
                unavailable_since=job["unavailable_since"],
                code="NEVER_BEGAN",
                message=message,
            )
        case Unavailable(code, message):
            since: int = now if job["unavailable_since"] is None else job["unavailable_since"]
            if now - since >= UNAVAILABLE_PATIENCE_MS:
                return Verdict(
                    state="dead",
                    due=due,
                    charged=charged,
                    code=code,
                    message=message,
                    recorded=True,
                    outcome="unavailable",
                )
            return Verdict(
                state="pending",
                due=now + UNAVAILABLE_RETRY_MS,
                charged=charged - 1,
                unavailable_since=since,
                code=code,
                message=message,
            )


def _charge(
    job: Row,
    now: int,
    random: Callable[[], float],
    code: str,
    message: str,
    *,
    outcome: AttemptOutcome = "failed",
    retryable: bool = True,
    retry_after_ms: int | None = None,
    unknown: bool = False,
    refunded_at: int | None = None,
) -> Verdict:
    """The attempt counts: back to pending after the backoff, or dead if none is left."""
    policy = RetryPolicy(**json.loads(job["retry"]))
    charged = job["charged"]
    again = retryable and charged <= policy.max_attempts
    return Verdict(
        state="pending" if again else "dead",
        due=now + policy.delay_after_ms(charged, retry_after_ms, random=random) if again else job["due"],
        charged=charged,
        alone=again and unknown,
        late_success_counts=unknown,
        refunded_at=refunded_at if again else None,
        code=code,
        message=message,
        recorded=True,
        outcome=outcome,
    )
