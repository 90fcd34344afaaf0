from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Row
from lunorash.scheduler.verdict import (
    UNAVAILABLE_PATIENCE_MS,
    Event,
    Failed,
    NeverBegan,
    Refused,
    Succeeded,
    Unavailable,
    Unknown,
    Verdict,
    judge,
)

_NOW = 1_000_000
_MINUTE = 60_000
_POLICY = RetryPolicy(max_attempts=2, base_ms=10_000)


def _job(**columns: Any) -> Row:
    return {
        "due": 900_000,
        "charged": 1,
        "retry": json.dumps(_POLICY.to_dict()),
        "cancel_requested": 0,
        "alone": 0,
        "cut_offs": 0,
        "refunded_at": None,
        "suspected": 0,
        "unavailable_since": None,
        "expires_at": None,
        **columns,
    }


def _judge(job: Row, event: Event, *, luck: float = 0.0) -> Verdict:
    return judge(job, event, now=_NOW, random=lambda: luck)


_FAILED = Failed("BOOM", "it broke")
_UNKNOWN = Unknown("silence")
_MISSING = Unavailable("FUNCTION_NOT_FOUND", "not here")


def _pending(**fields: Any) -> Verdict:
    return Verdict(**{"state": "pending", "due": 900_000, "charged": 1, **fields})


@pytest.mark.parametrize(
    ("job", "event", "verdict"),
    [
        # it succeeded: at rest, whatever came before
        (_job(), Succeeded(), Verdict(state="succeeded", due=900_000, charged=1)),
        (
            _job(charged=3, unavailable_since=5, refunded_at=5, alone=1),
            Succeeded(),
            Verdict(state="succeeded", due=900_000, charged=3),
        ),
        # it failed: again after the backoff, until none is left
        (_job(), _FAILED, _pending(due=_NOW + 10_000, code="BOOM", message="it broke", recorded=True)),
        (
            _job(charged=2),
            _FAILED,
            _pending(due=_NOW + 20_000, charged=2, code="BOOM", message="it broke", recorded=True),
        ),
        (
            _job(charged=3),
            _FAILED,
            Verdict(state="dead", due=900_000, charged=3, code="BOOM", message="it broke", recorded=True),
        ),
        # R2: it failed for good, and its text is empty
        (
            _job(),
            Failed("BOOM", "", retryable=False),
            Verdict(state="dead", due=900_000, charged=1, code="BOOM", message="", recorded=True),
        ),
        # nobody knows: charged, alone next time, and a late success counts
        (
            _job(),
            _UNKNOWN,
            _pending(
                due=_NOW + 10_000,
                alone=True,
                late_success_counts=True,
                code="OUTCOME_UNKNOWN",
                message="silence",
                recorded=True,
                outcome="unknown",
            ),
        ),
        (
            _job(charged=3),
            _UNKNOWN,
            Verdict(
                state="dead",
                due=900_000,
                charged=3,
                late_success_counts=True,
                code="OUTCOME_UNKNOWN",
                message="silence",
                recorded=True,
                outcome="unknown",
            ),
        ),
        # it never began: as if it had not been sent, however often, as long as nobody else gets through
        (_job(), NeverBegan("down"), _pending(charged=0, refunded_at=_NOW, code="NEVER_BEGAN", message="down")),
        (
            _job(charged=3, alone=1, refunded_at=5, unavailable_since=7),
            NeverBegan("down"),
            _pending(charged=2, alone=True, refunded_at=_NOW, unavailable_since=7, code="NEVER_BEGAN", message="down"),
        ),
        # the first time is refunded even if others get through
        (
            _job(),
            NeverBegan("down", proved=True),
            _pending(charged=0, refunded_at=_NOW, code="NEVER_BEGAN", message="down"),
        ),
        # the second time in a row it may be the job; the next probe will tell
        (
            _job(refunded_at=5),
            NeverBegan("down", proved=True),
            _pending(charged=0, refunded_at=_NOW, suspected=True, code="NEVER_BEGAN", message="down"),
        ),
        # it is: charged after all
        (
            _job(refunded_at=5, suspected=1),
            Refused("down"),
            _pending(
                due=_NOW + 10_000,
                alone=True,
                late_success_counts=True,
                refunded_at=_NOW,
                code="NEVER_BEGAN",
                message="down",
                recorded=True,
                outcome="never_began",
            ),
        ),
        (
            _job(refunded_at=5, charged=3, suspected=1),
            Refused("down"),
            Verdict(
                state="dead",
                due=900_000,
                charged=3,
                late_success_counts=True,
                code="NEVER_BEGAN",
                message="down",
                recorded=True,
                outcome="never_began",
            ),
        ),
        # it was the scheduler's own end that failed: nobody is blamed, then or later
        (
            _job(),
            NeverBegan("restart", blamed=False),
            _pending(due=_NOW + 1_000, charged=0, cut_offs=1, code="NEVER_BEGAN", message="restart"),
        ),
        (
            _job(due=_NOW + 9_000, refunded_at=5, cut_offs=4),
            NeverBegan("restart", blamed=False, proved=True),
            _pending(due=_NOW + 9_000, charged=0, cut_offs=5, refunded_at=5, code="NEVER_BEGAN", message="restart"),
        ),
        # ... but not for ever: after five times in a row it is the job that brings the scheduler down
        (
            _job(cut_offs=5),
            NeverBegan("restart", blamed=False),
            _pending(
                due=_NOW + 10_000,
                alone=True,
                late_success_counts=True,
                cut_offs=5,
                code="NEVER_BEGAN",
                message="restart",
                recorded=True,
                outcome="never_began",
            ),
        ),
        # what the origin refuses in between does not begin that count anew
        (
            _job(cut_offs=3),
            NeverBegan("down"),
            _pending(charged=0, cut_offs=3, refunded_at=_NOW, code="NEVER_BEGAN", message="down"),
        ),
        # the receiver does not know the function: refunded, in 30 s, for 15 minutes since the first time
        (
            _job(),
            _MISSING,
            _pending(
                due=_NOW + 30_000, charged=0, unavailable_since=_NOW, code="FUNCTION_NOT_FOUND", message="not here"
            ),
        ),
        (
            _job(unavailable_since=_NOW - 15 * _MINUTE + 1),
            _MISSING,
            _pending(
                due=_NOW + 30_000,
                charged=0,
                unavailable_since=_NOW - 15 * _MINUTE + 1,
                code="FUNCTION_NOT_FOUND",
                message="not here",
            ),
        ),
        (
            _job(unavailable_since=_NOW - 15 * _MINUTE),
            _MISSING,
            Verdict(
                state="dead",
                due=900_000,
                charged=1,
                code="FUNCTION_NOT_FOUND",
                message="not here",
                recorded=True,
                outcome="unavailable",
            ),
        ),
        # it says when to come back: no sooner, and where it broke
        (
            _job(),
            Failed("BUSY", "later", retry_after_ms=60_000, traceback="app.py:1 in f"),
            _pending(due=_NOW + 60_000, code="BUSY", message="later", recorded=True, traceback="app.py:1 in f"),
        ),
        # it asks for less than its policy waits
        (
            _job(charged=2),
            Failed("BUSY", "later", retry_after_ms=5_000),
            _pending(due=_NOW + 20_000, charged=2, code="BUSY", message="later", recorded=True),
        ),
        # it asks for more than a day, which is the longest, or for what cannot be
        (
            _job(),
            Failed("BUSY", "later", retry_after_ms=10**15),
            _pending(due=_NOW + 86_400_000, code="BUSY", message="later", recorded=True),
        ),
        (
            _job(),
            Failed("BUSY", "later", retry_after_ms=-1),
            _pending(due=_NOW + 10_000, code="BUSY", message="later", recorded=True),
        ),
        # asking does not make it immortal
        (
            _job(charged=3),
            Failed("BUSY", "later", retry_after_ms=60_000),
            Verdict(state="dead", due=900_000, charged=3, code="BUSY", message="later", recorded=True),
        ),
        # a retry that would come too late is not waited for: it expires as soon as it is too late
        (
            _job(expires_at=_NOW + 9_999),
            _FAILED,
            _pending(due=_NOW + 9_999, code="BOOM", message="it broke", recorded=True),
        ),
        (
            _job(expires_at=_NOW + 10_001),
            _FAILED,
            _pending(due=_NOW + 10_000, code="BOOM", message="it broke", recorded=True),
        ),
    ],
)
def test_what_becomes_of_a_running_job(job: Row, event: Event, verdict: Verdict) -> None:
    assert asdict(_judge(job, event)) == asdict(verdict)


@pytest.mark.parametrize(
    ("event", "charged", "code", "recorded"),
    [
        (Succeeded(), 1, None, False),
        (_FAILED, 1, "BOOM", True),
        (Failed("BOOM", "", retryable=False), 1, "BOOM", True),
        (_UNKNOWN, 1, "OUTCOME_UNKNOWN", True),
        (NeverBegan("down"), 0, "NEVER_BEGAN", False),
        (_MISSING, 0, "FUNCTION_NOT_FOUND", False),
    ],
)
def test_a_job_whose_cancel_was_requested_is_canceled_whatever_its_attempt_came_to(
    event: Event, charged: int, code: str | None, recorded: bool
) -> None:
    verdict = _judge(_job(cancel_requested=1), event)
    assert (verdict.state, verdict.ended, verdict.due) == ("canceled", True, 900_000)
    assert (verdict.charged, verdict.code, verdict.recorded) == (charged, code, recorded)
    assert not verdict.late_success_counts
    assert not verdict.alone


def test_every_kind_of_event_is_in_these_tables() -> None:
    assert set(get_args(Event)) == {Succeeded, Failed, Unknown, NeverBegan, Refused, Unavailable}
    assert UNAVAILABLE_PATIENCE_MS == 15 * _MINUTE


def test_the_jitter_of_the_policy_is_used() -> None:
    job = _job(retry=json.dumps(RetryPolicy(base_ms=10_000, jitter=0.5).to_dict()))
    assert _judge(job, _FAILED, luck=0.5).due == _NOW + 7_500


_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.just(Succeeded()),
    st.builds(Failed, st.just("BOOM"), st.text(), st.booleans()),
    st.builds(Unavailable, st.just("FUNCTION_NOT_FOUND"), st.text()),
    st.builds(Unknown, st.text()),
    st.builds(NeverBegan, st.text(), blamed=st.booleans(), proved=st.booleans()),
)
_TIMES = st.none() | st.integers(0, _NOW)


_JOBS = st.builds(
    _job,
    charged=st.integers(1, 1001),
    cancel_requested=st.integers(0, 1),
    alone=st.integers(0, 1),
    cut_offs=st.integers(0, 5),
    refunded_at=_TIMES,
    unavailable_since=_TIMES,
    retry=st.integers(1, 1000).map(
        lambda retries: json.dumps(RetryPolicy(max_attempts=retries, max_ms=60_000).to_dict())
    ),
)


@given(_JOBS, _EVENTS)
def test_no_verdict_breaks_the_rules(job: Row, event: Event) -> None:
    charged, retries = job["charged"], json.loads(job["retry"])["max_attempts"]
    verdict = _judge(job, event)
    refunded_now = verdict.charged == charged - 1
    assert verdict.charged in (charged, charged - 1)
    assert verdict.state != "running"
    assert verdict.ended == (verdict.state != "pending")
    if refunded_now:
        assert isinstance(event, NeverBegan | Unavailable), "only what provably did not run is given back"
        assert not verdict.recorded
    if verdict.state == "pending" and not refunded_now:
        assert charged <= retries, "an attempt more than the policy allows"
        assert verdict.due > _NOW, "a burst"
    if job["cancel_requested"]:
        assert verdict.state == "canceled"
    elif isinstance(event, Succeeded):
        assert verdict.state == "succeeded"
    else:
        assert verdict.state in ("pending", "dead")
        assert verdict.code
        assert verdict.message is not None
