"""The journal: what is told at each level, and that the lines of a job always say how it stands."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.journal import Journal, Level
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import SqliteStore
from tests.conformance.rig import SECOND, START, Rig

_TOLD: Final[dict[str, str | None]] = {
    "scheduled": "pending",
    "started": "running",
    "retrying": "pending",
    "refunded": "pending",
    "redriven": "pending",
    "succeeded": "succeeded",
    "dead": "dead",
    "canceled": "canceled",
    "expired": "expired",
    "dropped": None,
}
"""The state of a job after each event; None if it is gone."""


class _Counter:
    def __init__(self) -> None:
        self.events: list[str] = []

    def count(self, transition: dict[str, Any], /) -> None:
        self.events.append(transition["event"])


def _row(**fields: Any) -> dict[str, Any]:
    return {"id": "j", "incarnation": "i", "target": "m:f", "pool": None, "traceparent": None, **fields}


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("all", ["canceled", "redriven", "dead", "expired", "dropped"]),
        ("problems", ["dead", "expired"]),
        ("off", []),
    ],
)
def test_the_level_decides_what_is_told_and_all_is_counted(level: Level, told: list[str]) -> None:
    lines: list[str] = []
    counter = _Counter()
    journal = Journal(level=level, write=lines.append, counting=counter)
    events = ["canceled", "redriven", "dead", "expired", "dropped"]
    for event in events:
        journal.happened(event, _row(), START)  # type: ignore[arg-type]
    assert lines == [], "nothing is told before it is committed"
    journal.tell()
    assert [json.loads(line)["event"] for line in lines] == [f"job.{event}" for event in told]
    assert counter.events == events
    journal.tell()
    assert len(counter.events) == len(events)


def test_what_was_undone_is_forgotten() -> None:
    lines: list[str] = []
    journal = Journal(write=lines.append)
    journal.happened("dropped", _row(), START)
    journal.forget()
    journal.tell()
    assert lines == []


def test_a_line_is_one_line_whatever_an_app_calls_its_errors() -> None:
    lines: list[str] = []
    journal = Journal(write=lines.append)
    journal.happened("dead", _row(pool="p"), START, code='MINE"\n\r\u2028{"event":"job.succeeded"}\x00')
    journal.tell()
    (line,) = lines
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert json.loads(line)["event"] == "job.dead"


_NAMES: Final = st.sampled_from(["a", "b", "c"])
_STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(
            ["schedule", "cancel", "redrive", "drop", "claim", "begin", "ok", "fail", "complete", "sever", "rescue",
             "resume", "cancel all", "redrive all", "drop all", "prune"]
        ),
        _NAMES,
        st.integers(0, 90),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(_STEPS)
def test_the_last_line_of_a_job_says_how_it_stands(steps: list[tuple[str, str, int]]) -> None:
    """Whatever happens, in whatever order: each change of a row is told, and nothing else is."""
    store = SqliteStore()
    rig = Rig(store)
    for step, name, seconds in steps:
        rig.now += seconds * SECOND
        _take(rig, step, name)
        stood = {row["id"]: row["state"] for row in store.execute("SELECT id, state FROM jobs")}
        said: dict[str, str | None] = {}
        for line in rig.told:
            said[line["job"]] = _TOLD[line["event"].removeprefix("job.")]
        assert {job: state for job, state in said.items() if state is not None} == stood
    totals = rig.statistics.totals(START + rig.now).get("", {"counts": {}})["counts"]
    assert sum(count for counter, count in totals.items() if counter != "failed") == len(rig.told)
    store.close()


def _take(rig: Rig, step: str, name: str) -> None:
    open_dispatches = rig.dispatches()
    dispatch = open_dispatches[0] if open_dispatches else None
    if step == "schedule" and rig.state(name) is None:
        rig.schedule(
            name,
            retry=RetryPolicy(max_attempts=1, base_ms=SECOND),
            expires_at=rig.now + 60 * SECOND if name == "c" else None,
            on_complete='{"target": "m:told", "kind": "mutation"}' if name == "b" else None,
        )
    elif step == "cancel":
        rig.cancel(name)
    elif step == "redrive":
        rig.redrive(name)
    elif step == "drop":
        rig.drop_dead(name)
    elif step == "claim":
        rig.run_pass()
    elif step == "rescue":
        rig.rescue()
    elif step == "resume":
        rig.resume()
    elif step == "prune":
        rig.prune()  # within a run all is too new
    elif step.endswith(" all"):
        change: Any = step.removesuffix(" all")
        rig.engine.change_many(change, JobFilter(), START + rig.now)
    elif dispatch is not None:
        _answer(rig, step, dispatch)


def _answer(rig: Rig, step: str, dispatch: dict[str, Any]) -> None:
    jobs = json.loads(dispatch["jobs"])
    if step == "begin":
        rig.begin(dispatch["id"])
    elif step == "complete":
        rig.complete(dispatch["id"])
    elif step == "sever":
        rig.sever(dispatch["id"])
    elif jobs and step in ("ok", "fail"):
        attempt = rig.job(jobs[0])["attempt"] if rig.state(jobs[0]) else 1
        rig.settle(dispatch["id"], "ok" if step == "ok" else "failed", job=jobs[0], attempt=attempt, code="BOOM")
