"""Whoever pages through jobs while they come, run, end and are changed meets every other job once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.scheduler import finding
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.job import NewJob, Result, State
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.store import SqliteStore

START: Final = 1_000
POLICY: Final = RetryPolicy(max_attempts=1, base_ms=3, max_ms=3)


class _Life:
    """An engine and the things that happen on it: each step is one number that chooses what."""

    def __init__(self) -> None:
        self.store = SqliteStore()
        migrate(self.store)
        self.now = START
        self._minted = 0
        self.engine = Engine(
            self.store,
            Alarm(lambda _at: None, lambda: None),
            origin="https://app.example.com",
            room=lambda: 6,
            random=lambda: 0.0,
            mint_id=self._mint,
        )

    def _mint(self) -> str:
        self._minted += 1
        return f"m{self._minted}"

    def step(self, what: int) -> None:
        steps = (self._schedule, self._schedule, self._run, self._fail, self._cancel, self._hurry, self._redrive)
        steps[what % len(steps)](what // len(steps))

    def _schedule(self, which: int) -> None:
        job_id = f"j{which % 40:02}"
        if self.store.execute("SELECT 1 FROM jobs WHERE id = ?", job_id):
            return
        new = NewJob(
            id=job_id,
            incarnation=self._mint(),
            target=f"m{which % 2}:f",
            args="{}",
            due=self.now + which % 5,
            retry=POLICY.to_dict(),
            timeout_ms=1,
            pool="p" if which % 3 == 0 else None,
            tags=json.dumps(["t"]) if which % 4 else None,
            expires_at=self.now + 6 if which % 5 == 0 else None,
        )
        self.engine.schedule([new], self.now)

    def _run(self, which: int) -> None:
        """Claim what is due; of what was claimed one thing succeeds, and time goes on."""
        self.now += which % 3
        for dispatch in self.engine.claim(self.now):
            self.engine.begin(dispatch.id, self.now)
        self._settle(which, "ok")

    def _fail(self, which: int) -> None:
        self._settle(which, "failed")

    def _settle(self, which: int, outcome: Any) -> None:
        rows = self.store.execute("SELECT id, attempt, dispatch FROM jobs WHERE state = 'running' ORDER BY id")
        if rows:
            row = rows[which % len(rows)]
            result = Result(job=row["id"], attempt=row["attempt"], outcome=outcome, code="BOOM")
            self.engine.settle(row["dispatch"], [result], self.now)

    def _cancel(self, which: int) -> None:
        self.engine.cancel(f"j{which % 40:02}", self.now)

    def _hurry(self, which: int) -> None:
        self.engine.run_now(f"j{which % 40:02}", self.now)

    def _redrive(self, which: int) -> None:
        self.engine.redrive(f"j{which % 40:02}", self.now)

    def seen(self) -> dict[str, tuple[Any, ...]]:
        """Where each job stands, and what a filter looks at."""
        rows = self.store.execute("SELECT * FROM jobs")
        columns = ("incarnation", "state", "due", "ended", "error_code")
        return {row["id"]: tuple(row[column] for column in columns) for row in rows}

    def passing(self, wanted: JobFilter) -> set[str]:
        """The jobs that a filter means, by looking at all of them; a job that was forgotten is not there to be seen."""
        rows = self.store.execute("SELECT * FROM jobs")
        shown = [row for row in rows if row["state"] in ("pending", "running") or row["ended"] is not None]
        return {row["id"] for row in shown if wanted.passes(row)}


_INSTANTS: Final = st.none() | st.integers(START - 2, START + 12)
_STATES: Final = st.sampled_from(get_args(State))
_FILTERS: Final = st.builds(
    JobFilter,
    state=st.none() | _STATES | st.lists(_STATES, min_size=1, unique=True),
    target=st.sampled_from([None, None, "m0", "*1:f"]),
    pool=st.sampled_from([None, None, "p"]),
    tag=st.sampled_from([None, None, "t"]),
    error=st.sampled_from([None, None, "BOOM"]),
    id_prefix=st.sampled_from([None, None, "j1"]),
    created_from=_INSTANTS,
    due_from=_INSTANTS,
    due_before=_INSTANTS,
    ended_from=_INSTANTS,
    ended_before=_INSTANTS,
)
_STEPS: Final = st.integers(0, 2_000)


@settings(max_examples=150, deadline=None)
@given(
    before=st.lists(_STEPS, max_size=60),
    between=st.lists(st.lists(_STEPS, max_size=6), max_size=12),
    wanted=_FILTERS | st.just(JobFilter()),
    order=st.sampled_from(["newest", "soonest"]),
    limit=st.integers(1, 7),
)
def test_every_job_that_stays_as_it_is_is_met_once(
    before: list[int], between: list[list[int]], wanted: JobFilter, order: Any, limit: int
) -> None:
    life = _Life()
    for step in before:
        life.step(step)
    meant = life.passing(wanted)
    stood = [life.seen()]
    met: Counter[str] = Counter()
    cursor: str | None = None
    changes = iter(between)
    for _ in range(200):
        page = finding.jobs(life.store, wanted, order, cursor, limit)
        met.update(job["id"] for job in page["jobs"])
        cursor = page["cursor"]
        if cursor is None:
            break
        for step in next(changes, ()):
            life.step(step)
            stood.append(life.seen())
    assert cursor is None, "it does not end"
    unchanged = {job_id for job_id in stood[0] if len({states.get(job_id) for states in stood}) == 1}
    assert {job_id: met[job_id] for job_id in meant & unchanged} == dict.fromkeys(meant & unchanged, 1)
    assert not (met.keys() & unchanged) - meant
    life.store.close()


@settings(max_examples=150, deadline=None)
@given(before=st.lists(_STEPS, max_size=80), wanted=_FILTERS)
def test_a_count_is_what_looking_at_all_jobs_finds(before: list[int], wanted: JobFilter) -> None:
    life = _Life()
    for step in before:
        life.step(step)
    assert finding.count(life.store, wanted) == {"count": len(life.passing(wanted)), "exact": True}
    life.store.close()
