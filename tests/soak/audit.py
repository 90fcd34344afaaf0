"""Holds the scheduler's records against what really happened, job by job. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final

from tests.soak.evidence import Evidence
from tests.soak.plans import CAPS, Plan

__all__ = ["audit"]

_AT_REST: Final = frozenset({"succeeded", "dead", "canceled"})
_OWN_FAULT: Final = frozenset({"SOAK_FAILED", "ATTEMPT_TIMED_OUT"})
"""What a job dies of because it was planned so; everything else is the work of a kill."""

Entry = dict[str, Any]


def audit(evidence: Evidence) -> list[str]:
    """Everything that is not as it was promised; empty if all is well."""
    return [
        *_nothing_lost(evidence),
        *_nothing_made_up(evidence),
        *_records(evidence),
        *_runs(evidence),
        *_effects(evidence),
        *_cancels(evidence),
        *_caps(evidence),
    ]


def _nothing_lost(evidence: Evidence) -> Iterator[str]:
    for job in sorted(evidence.answered - set(evidence.records)):
        yield f"{job} was answered, and is lost"


def _nothing_made_up(evidence: Evidence) -> Iterator[str]:
    seen = {entry["job"] for entry in evidence.journal} | {effect["job"] for effect in evidence.effects}
    for job in sorted((seen | set(evidence.records)) - set(evidence.plans)):
        yield f"{job} was never sent"
    for job in sorted(seen - set(evidence.records)):
        yield f"{job} ran, and has no record"


def _records(evidence: Evidence) -> Iterator[str]:
    for job, plan, record in _recorded(evidence):
        state, attempts, charged, allowed = record["state"], record["attempts"], record["charged"], plan.retries + 1
        if state not in _AT_REST:
            yield f"{job} has not come to rest: it is {state}"
        if not 0 <= charged <= min(attempts, allowed):
            yield f"{job} is charged {charged} of {attempts} attempts; its policy allows {allowed}"
        if state == "dead" and charged != allowed:
            yield f"{job} died after {charged} of {allowed} attempts, of {record['error_code']}"
        if state == "dead" and not (plan.fail or plan.hang) and record["error_code"] in _OWN_FAULT:
            yield f"{job} died of {record['error_code']}, which it does not do"
        if state == "succeeded" and plan.doomed:
            yield f"{job} succeeded, which it cannot"
        if state == "canceled" and job not in evidence.cancels:
            yield f"{job} is canceled, and nobody did that"


def _runs(evidence: Evidence) -> Iterator[str]:
    starts = Counter((entry["job"], entry["attempt"]) for entry in evidence.journal if entry["event"] == "start")
    for (job, attempt), times in starts.items():
        if times > 1:
            yield f"{job} #{attempt} ran {times} times"
    for entry in evidence.journal:
        record = evidence.records.get(entry["job"])
        if record is None:
            continue
        if not 1 <= entry["attempt"] <= record["attempts"]:
            yield f"{entry['job']} #{entry['attempt']} ran; the scheduler knows of {record['attempts']} attempts"
        if entry["event"] == "start" and entry["at"] < record["scheduled_for"]:
            yield f"{entry['job']} #{entry['attempt']} ran {record['scheduled_for'] - entry['at']:.0f} ms early"
    ends = {(entry["job"], entry["attempt"]) for entry in evidence.journal if entry["event"] == "end"}
    for job, plan, record in _recorded(evidence):
        if plan.kind == "action" and record["state"] == "succeeded" and (job, record["attempts"]) not in ends:
            yield f"{job} succeeded with attempt {record['attempts']}, which never came to its end"


def _effects(evidence: Evidence) -> Iterator[str]:
    had = Counter((effect["job"], effect["incarnation"]) for effect in evidence.effects)
    for (job, _), times in had.items():
        if times > 1:
            yield f"{job} had its effect {times} times"
    for job, plan, record in _recorded(evidence):
        times = had[job, record["incarnation"]]
        if plan.kind == "mutation" and record["state"] == "succeeded" and times == 0:
            yield f"{job} succeeded without its effect"
        if times and plan.doomed:
            yield f"{job} failed and had its effect"
    for effect in evidence.effects:
        known = evidence.records.get(effect["job"])
        if known is not None and not 1 <= effect["attempt"] <= known["attempts"]:
            yield f"{effect['job']} #{effect['attempt']} had its effect; it was not known to run"


def _cancels(evidence: Evidence) -> Iterator[str]:
    for job, cancel in evidence.cancels.items():
        record = evidence.records.get(job)
        if record is None or cancel.answer is None:
            continue
        if cancel.answer:
            if record["state"] != "canceled":
                yield f"{job} was canceled, and is {record['state']}"
            # what is claimed before the cancel may run; what runs was claimed, see `_runs`
            if record["started"] is not None and record["started"] > cancel.heard:
                yield f"{job} was claimed {record['started'] - cancel.heard:.0f} ms after it was canceled"
        elif job in evidence.answered - evidence.booked and (record["ended"] is None or record["ended"] > cancel.heard):
            # one that a mutation booked may still have been on its way
            yield f"{job} could not be canceled, although it had not ended"


def _caps(evidence: Evidence) -> Iterator[str]:
    for name, cap, in_flight in evidence.polls:
        if in_flight > cap:
            yield f"the pool {name} was seen with {in_flight} of {cap}"
    ends: dict[tuple[str, int], float] = {
        (entry["job"], entry["attempt"]): entry["at"] for entry in evidence.journal if entry["event"] != "start"
    }
    changes: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for entry in evidence.journal:
        plan = evidence.plans.get(entry["job"])
        if entry["event"] != "start" or plan is None:
            continue
        start = entry["at"]
        end = ends.get((entry["job"], entry["attempt"]), _killed(evidence, start))
        if end is None:
            yield f"{entry['job']} #{entry['attempt']} began, never ended, and nobody killed it"
        elif plan.pool is not None:
            changes[plan.pool] += [(start, 1), (end, -1)]
    for pool, steps in changes.items():
        running = most = 0
        for _, step in sorted(steps):  # at one instant, what ends goes first
            running += step
            most = max(most, running)
        if most > CAPS[pool]:
            yield f"the pool {pool} ran {most} of {CAPS[pool]} at a time"


def _killed(evidence: Evidence, start: float) -> float | None:
    """When an attempt that has no end was killed, at the latest as it is known to have run."""
    for kill in evidence.kills:
        if kill.done >= start:
            return max(start, kill.begun)
    return None


def _recorded(evidence: Evidence) -> Iterator[tuple[str, Plan, Entry]]:
    for job, record in evidence.records.items():
        if job in evidence.plans:
            yield job, evidence.plans[job], record
