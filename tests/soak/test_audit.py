"""The audit finds whatever is wrong: sound evidence passes, and each planted lie is found."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.soak.audit import audit
from tests.soak.evidence import Cancel, Evidence, Kill
from tests.soak.plans import ALWAYS, Plan, draw

NOW = 1_000_000.0


def record(state: str, attempts: int = 1, charged: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "incarnation": "i1",
        "attempts": attempts,
        "charged": attempts if charged is None else charged,
        "scheduled_for": NOW,
        "started": NOW + 5 if attempts else None,
        "ended": NOW + 50,
        "error_code": None,
        **more,
    }


def entry(job: str, event: str, at: float, attempt: int = 1) -> dict[str, Any]:
    return {"job": job, "attempt": attempt, "event": event, "at": NOW + at}


def effect(job: str, attempt: int = 1) -> dict[str, Any]:
    return {"job": job, "incarnation": "i1", "attempt": attempt}


def sound() -> Evidence:
    """What a soak leaves when all is well."""
    plans = [
        Plan(id="acts", kind="action", pool="one"),
        Plan(id="acts too", kind="action", pool="one"),
        Plan(id="mutates", kind="mutation"),
        Plan(id="killed", kind="action", pool="one"),
        Plan(id="doomed", kind="mutation", fail=ALWAYS, retries=1),
        Plan(id="canceled", kind="action", cancel_ms=5),
        Plan(id="too late", kind="action", cancel_ms=500),
        Plan(id="unheard", kind="action"),
    ]
    return Evidence(
        plans={plan.id: plan for plan in plans},
        answered={plan.id for plan in plans} - {"unheard"},
        cancels={
            "canceled": Cancel(sent=NOW + 1, heard=NOW + 6, answer=True),
            "too late": Cancel(sent=NOW + 60, heard=NOW + 61, answer=False),
        },
        kills=[Kill(begun=NOW + 100, done=NOW + 110)],
        polls=[("one", 1, 1), ("three", 3, 0)],
        records={
            "acts": record("succeeded"),
            "acts too": record("succeeded"),
            "mutates": record("succeeded", 3, 2),
            "killed": record("succeeded", 2),
            "doomed": record("dead", 2, error_code="SOAK_FAILED"),
            "canceled": record("canceled"),
            "too late": record("succeeded"),
        },
        journal=[
            entry("acts", "start", 10),
            entry("acts", "end", 20),
            entry("acts too", "start", 20),
            entry("acts too", "end", 30),
            entry("killed", "start", 90),
            entry("killed", "start", 200, 2),
            entry("killed", "end", 210, 2),
            entry("canceled", "start", 7),
            entry("canceled", "stopped", 40),
            entry("too late", "start", 7),
            entry("too late", "end", 9),
        ],
        effects=[effect("mutates", 2)],
    )


def test_sound_evidence_passes() -> None:
    assert audit(sound()) == []


def without_effects(evidence: Evidence) -> None:
    evidence.effects.clear()


def without_an_end(evidence: Evidence) -> None:
    evidence.journal.pop()
    evidence.kills.clear()


LIES: dict[str, Callable[[Evidence], object]] = {
    "acts was answered, and is lost": lambda evidence: evidence.records.pop("acts"),
    "nobody was never sent": lambda evidence: evidence.records.update({"nobody": record("dead")}),
    "unheard ran, and has no record": lambda evidence: evidence.effects.append(effect("unheard")),
    "acts has not come to rest: it is running": lambda evidence: evidence.records["acts"].update(state="running"),
    "mutates is charged 5 of 5": lambda evidence: evidence.records["mutates"].update(attempts=5, charged=5),
    "doomed died after 1 of 2 attempts": lambda evidence: evidence.records["doomed"].update(charged=1),
    "mutates died of SOAK_FAILED": lambda evidence: evidence.records["mutates"].update(
        state="dead", attempts=4, charged=4, error_code="SOAK_FAILED"
    ),
    "doomed succeeded, which it cannot": lambda evidence: evidence.records["doomed"].update(state="succeeded"),
    "acts is canceled, and nobody": lambda evidence: evidence.records["acts"].update(state="canceled"),
    "acts #1 ran 2 times": lambda evidence: evidence.journal.append(entry("acts", "start", 15)),
    "acts #2 ran; the scheduler knows of 1": lambda evidence: evidence.journal.extend(
        [entry("acts", "start", 40, 2), entry("acts", "end", 41, 2)]
    ),
    "acts #1 ran 3 ms early": lambda evidence: evidence.journal[0].update(at=NOW - 3),
    "acts succeeded with attempt 1, which never came to its end": lambda evidence: evidence.journal[1].update(
        event="failed"
    ),
    "mutates had its effect 2 times": lambda evidence: evidence.effects.append(effect("mutates", 3)),
    "mutates succeeded without its effect": without_effects,
    "doomed failed and had its effect": lambda evidence: evidence.effects.append(effect("doomed")),
    "mutates #4 had its effect": lambda evidence: evidence.effects[0].update(attempt=4),
    "canceled was canceled, and is succeeded": lambda evidence: evidence.records["canceled"].update(state="succeeded"),
    "canceled was claimed 4 ms after": lambda evidence: evidence.records["canceled"].update(started=NOW + 10),
    "too late could not be canceled": lambda evidence: evidence.records["too late"].update(ended=NOW + 70),
    "pool one was seen with 2 of 1": lambda evidence: evidence.polls.append(("one", 1, 2)),
    "pool one ran 2 of 1 at a time": lambda evidence: evidence.journal[2].update(at=NOW + 19),
    "too late #1 began, never ended": without_an_end,
}


@pytest.mark.parametrize("found", LIES)
def test_each_lie_is_found(found: str) -> None:
    evidence = sound()
    LIES[found](evidence)
    assert any(found in violation for violation in audit(evidence)), audit(evidence)


def test_a_killed_attempt_leaves_its_slot_when_it_is_killed_and_not_before() -> None:
    evidence = sound()
    evidence.journal[5].update(at=NOW + 99)
    evidence.journal[6].update(at=NOW + 105)
    assert audit(evidence) == ["the pool one ran 2 of 1 at a time"]


def test_plans_are_the_same_for_a_seed_and_as_mixed_as_they_should_be() -> None:
    many = _drawn(7, 20_000)
    assert many[:50] == _drawn(7, 50) != _drawn(8, 50)
    shares = {
        "fail": sum(plan.fail > 0 for plan in many),
        "hang": sum(plan.hang > 0 for plan in many),
        "pool": sum(plan.pool is not None for plan in many),
        "cancel": sum(plan.cancel_ms is not None for plan in many),
    }
    for what, percent in {"fail": 5, "hang": 1, "pool": 25, "cancel": 4}.items():
        assert shares[what] == pytest.approx(200 * percent, rel=0.2), what


def _drawn(seed: int, count: int) -> list[Plan]:
    random = Random(seed)  # noqa: S311 - chance, not secrets
    return [draw(random, number) for number in range(count)]
