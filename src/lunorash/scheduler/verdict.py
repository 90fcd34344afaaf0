"""What becomes of a running job: pure, one function for every event that can end an attempt.

The chart is in ARCHITECTURE.md; tests/unit/test_states.py walks every state and event.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from lunorash.scheduler.job import State
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
    """The function returned."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised, or ran out of time.

    ``shared``: it was one of several that failed together, and perhaps because of one of them.
    """

    code: str
    message: str
    retryable: bool = True
    shared: bool = False


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

    @property
    def ended(self) -> bool:
        """Whether the job has come to rest."""
        return self.state not in ("pending", "running")


def judge(job: Row, event: Event, *, now: int, random: Callable[[], float]) -> Verdict:
    """Decide what becomes of a running job.

    Args:
        job: its row: ``due``, ``charged``, ``retry``, ``cancel_requested``, ``alone``, ``cut_offs``, ``refunded_at``,
            ``unavailable_since``.
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
        )
    return verdict


def _verdict(job: Row, event: Event, now: int, random: Callable[[], float]) -> Verdict:
    due, charged = job["due"], job["charged"]
    match event:
        case Succeeded():
            return Verdict(state="succeeded", due=due, charged=charged)
        case Failed(code, message, retryable, shared):
            verdict = _charge(job, now, random, code, message, retryable=retryable)
            return replace(verdict, alone=shared and verdict.state == "pending")
        case Unknown(message):
            return _charge(job, now, random, "OUTCOME_UNKNOWN", message, unknown=True)
        case Refused(message):
            return _charge(job, now, random, "NEVER_BEGAN", message, unknown=True, refunded_at=now)
        case NeverBegan(message, blamed=False) if job["cut_offs"] >= MAX_CUT_OFFS:
            charged_for_it = _charge(job, now, random, "NEVER_BEGAN", message, unknown=True)
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
                return Verdict(state="dead", due=due, charged=charged, code=code, message=message, recorded=True)
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
    retryable: bool = True,
    unknown: bool = False,
    refunded_at: int | None = None,
) -> Verdict:
    """The attempt counts: back to pending after the backoff, or dead if none is left."""
    policy = RetryPolicy(**json.loads(job["retry"]))
    charged = job["charged"]
    again = retryable and charged <= policy.max_attempts
    return Verdict(
        state="pending" if again else "dead",
        due=now + policy.delay_ms(charged, random=random) if again else job["due"],
        charged=charged,
        alone=again and unknown,
        late_success_counts=unknown,
        refunded_at=refunded_at if again else None,
        code=code,
        message=message,
        recorded=True,
    )
