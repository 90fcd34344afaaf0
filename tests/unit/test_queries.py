"""Cost per job does not grow with what is stored: every statement finds its rows by the primary key or an index."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, get_args

import pytest

from lunorash.scheduler import finding, listing, queries
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.bulk import Bulk
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.history import History, Retention
from lunorash.scheduler.job import Dispatch, NewJob, Result, State
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.retry import DEFAULT_RETRY
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.store import Ran, Row, SqliteStore, Value

NOW: Final = 1_800_000_000_000
_NOBODY: Final = JobFilter(id_prefix="nobody", due_before=NOW + 900)
_SOME: Final = JobFilter(due_before=NOW + 300, state="pending")
_NEEDLE: Final = JobFilter(state="dead", ended_before=NOW + 800, tag="nobody")
_ENDED: Final = ("succeeded", "dead", "canceled", "expired")


def _fill(store: SqliteStore, jobs: int) -> None:
    """Store jobs of every state: a tenth is pending, a hundred are running, the rest has ended.

    Of those that are pending every second one waits in a pool that is full, at one of three priorities; beside it there
    is a pool that is full or paused for every hundred jobs.
    """
    states = ("pending", *(_ENDED * 2), "succeeded")

    def work() -> None:
        for number in range(jobs):
            job_id, state = f"j{number:06}", states[number % len(states)]
            store.execute(
                """
                INSERT INTO jobs (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created,
                    retry, timeout_ms, ended, pool, priority)
                VALUES (?1, 'i', 'i', 'm:f', '{}', ?2, ?3, ?3, ?3, ?4, 600000, ?5, ?6, ?7)
                """,
                job_id,
                state,
                NOW + number,
                json.dumps(DEFAULT_RETRY.to_dict()),
                None if state == "pending" else NOW + number,
                "full" if state == "pending" and number % 20 else None,
                number // 20 % 3 if state == "pending" and number % 20 else 0,
            )
            if state == "dead":
                store.execute(
                    "INSERT INTO attempts VALUES (?, 1, 'i', 'd', 1, 2, 'BOOM', 'no', 'failed', NULL)", job_id
                )
        for number in range(100):
            store.execute(
                """
                INSERT INTO jobs (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created,
                    retry, timeout_ms, attempt, charged, dispatch, started)
                VALUES (?1, 'i', 'i', 'm:f', '{}', 'running', ?2, ?2, ?2, ?3, 600000, 1, 1, ?4, ?2)
                """,
                f"r{number:03}",
                NOW,
                json.dumps(DEFAULT_RETRY.to_dict()),
                f"x{number:03}",
            )
            store.execute(
                "INSERT INTO dispatches VALUES (?, 'o', ?, ?, ?, ?)",
                f"x{number:03}",
                NOW,
                NOW + 10**9,
                NOW,
                json.dumps([f"r{number:03}"]),
            )
        store.execute("UPDATE jobs SET pool = 'full' WHERE id = 'r000'")
        for number in range(jobs // 100):
            store.execute("INSERT INTO pools VALUES (?, 1, NULL, 1, NULL)", f"p{number:04}")
        store.execute("INSERT INTO pools VALUES ('full', 1, 1, 0, NULL)")
        store.execute("ANALYZE")

    store.transaction(work)


@pytest.fixture(scope="module")
def filled() -> Iterator[SqliteStore]:
    store = SqliteStore()
    migrate(store)
    _fill(store, 10_000)
    yield store
    store.close()


_WHEN: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"due_from": NOW + 500},
    {"due_before": NOW + 500},
    {"ended_from": NOW + 500, "ended_before": NOW + 900},
    {"created_from": NOW + 500, "due_from": NOW, "due_before": NOW + 900},
)
_WHAT: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"target": "m"},
    {"pool": "full"},
    {"tag": "nobody"},
    {"error": "BOOM"},
    {"id_prefix": "j0000"},
)
_FILTERS: Final = [
    JobFilter(state=state, **when, **what)
    for state in (None, *get_args(State), ("pending", "dead"))
    for when in _WHEN
    for what in _WHAT
]

# -- plans ---------------------------------------------------------------------------------------------------


class _Explaining:
    """A store that explains every statement before it runs it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.plans: dict[str, list[str]] = {}

    def run(self, sql: str, /, *params: Value) -> Ran:
        plan = self._store.execute(f"EXPLAIN QUERY PLAN {sql}", *params)
        self.plans[" ".join(sql.split())] = [step["detail"] for step in plan]
        return self._store.run(sql, *params)

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        return self.run(sql, *params).rows

    def transaction(self, work: Callable[[], Any], /) -> Any:
        return self._store.transaction(work)


def _bad_steps(plan: list[str], sql: str = "") -> list[str]:
    """The steps that go through a whole table of jobs or attempts, or sort what an index could give in order."""
    bounded = any(bound in sql for bound in _BOUNDED)
    return [
        step
        for step in plan
        if step.startswith(("SCAN jobs", "SCAN attempts"))
        or ("TEMP B-TREE" in step and "DISTINCT" not in step and not bounded)
    ]


_BOUNDED: Final = ("FROM dispatches, json_each(dispatches.jobs)", f"LIMIT {finding.MAX_COUNTED} )")
"""What runs is at most what a hundred dispatches carry, and the dead letters that are grouped are counted: both may be
sorted."""


_STATEMENTS: Final = sorted(
    name for name, value in vars(queries).items() if name[0].isupper() and isinstance(value, str)
)
_PARAMETERS: Final[dict[str, tuple[Value, ...]]] = {
    "RUNNING_IN": ('["r001"]', "x001"),
    "CANCEL_ALL_PENDING": (NOW, '["j000002"]'),
    "REQUEST_ALL_CANCELS": ('["r001"]',),
    "REDRIVE_ALL": ('{"j000002": "i"}', NOW),
    "DROP_ALL_DEAD": ('["j000002"]',),
    "HOLDERS_OF_IDS": ('["j000002"]',),
    "BURIED_AFTER_OF": ('["j000002"]', NOW),
    "INSERT_ALL": ("[]",),
    "EXPIRE": (NOW, "JOB_EXPIRED", "late", '["j000002"]'),
    "ENDED": ('["j000002"]',),
    "PRUNE_OLDEST": (NOW, 5),
    "DELETE_ATTEMPTS": ('["j000002"]',),
    "DUE_IN_POOL": ("full", 0, NOW, 5),
    "PRIORITIES_IN_POOL": ("full",),
    "REFRESH_POOL": ("full",),
}


def _parameters(name: str, sql: str) -> tuple[Value, ...]:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", sql)]
    return _PARAMETERS.get(name, (NOW,) * max(numbered, default=sql.count("?")))


@pytest.mark.parametrize("name", _STATEMENTS)
def test_no_statement_of_the_engine_goes_through_all_jobs(filled: SqliteStore, name: str) -> None:
    sql = getattr(queries, name)
    plan = [row["detail"] for row in filled.execute(f"EXPLAIN QUERY PLAN {sql}", *_parameters(name, sql))]
    assert _bad_steps(plan) == [], plan
    touches = "jobs" in sql.replace("dispatches.jobs", "") or "attempts" in sql
    if touches and "INSERT" not in sql and "dispatches" not in sql:
        assert any("SEARCH" in step for step in plan), plan


def test_the_check_itself_sees_a_scan_and_a_sort(filled: SqliteStore) -> None:
    for sql in ("SELECT * FROM jobs WHERE target = 'x'", "SELECT * FROM jobs WHERE state = 'dead' ORDER BY target"):
        plan = [row["detail"] for row in filled.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert _bad_steps(plan), plan


def test_no_statement_of_the_lists_goes_through_all_jobs(filled: SqliteStore) -> None:
    store = _Explaining(filled)
    for state in ("pending", "running", "succeeded", "dead", "canceled", "expired"):
        page = listing.page(store, [state], None, 10)
        assert len(page["jobs"]) == 10
        listing.page(store, [state], page["cursor"], 10)
    listing.find(store, "j000002")
    for wanted in _FILTERS:
        for order in ("newest", "soonest"):
            found = finding.jobs(store, wanted, order, None, 10)
            if found["cursor"] is not None:
                finding.jobs(store, wanted, order, found["cursor"], 10)
        finding.count(store, wanted)
    assert finding.dead_groups(store)["groups"][0]["target"] == "m:f"
    bulk = Bulk(store, Pooling(store), Endings(store, History(store, Retention())), lambda: "i", Journal())
    for change in ("cancel", "redrive", "drop"):
        chosen = bulk.change(change, JobFilter(), NOW, cursor=None, limit=10, dry_run=True)
        bulk.change(change, JobFilter(ended_from=1), NOW, cursor=chosen.cursor, limit=10, dry_run=True)
    assert listing.pool(store, "full") is not None
    listing.pools(store, listing.pools(store, None, 10)["cursor"], 10)
    engine = Engine(
        store,
        Alarm(lambda _at: None, lambda: None),
        origin="o",
        room=lambda: 6,
        random=lambda: 0.0,
        mint_id=lambda: "d",
    )
    listing.status(store, engine.breaker, "o", now=NOW, alarm=None)
    assert len(store.plans) >= 30
    assert {sql: steps for sql, plan in store.plans.items() if (steps := _bad_steps(plan, sql))} == {}


# -- work ----------------------------------------------------------------------------------------------------


class _Measured:
    """An engine on a store that counts the steps of SQLite's virtual machine."""

    def __init__(self, jobs: int) -> None:
        self.store = SqliteStore()
        migrate(self.store)
        _fill(self.store, jobs)
        for number in range(100):
            if number:  # the first one is in its pool
                self.store.execute("DELETE FROM dispatches WHERE id = ?", f"x{number:03}")
                self.store.execute("DELETE FROM jobs WHERE id = ?", f"r{number:03}")
        self._minted = 0
        self.engine = Engine(
            self.store,
            Alarm(lambda _at: None, lambda: None),
            origin="o",
            room=lambda: 6,
            random=lambda: 0.0,
            mint_id=self._mint,
        )

    def _mint(self) -> str:
        self._minted += 1
        return f"d{self._minted}"

    def steps(self, work: Callable[[], object]) -> int:
        counted = 0

        def step() -> int:
            nonlocal counted
            counted += 1
            return 0

        self.store._connection.set_progress_handler(step, 1)
        try:
            work()
        finally:
            self.store._connection.set_progress_handler(None, 1)
        return counted


def _costs(jobs: int) -> dict[str, int]:
    """What each operation costs, in steps, with so many jobs stored."""
    measured = _Measured(jobs)
    engine, now = measured.engine, NOW + 10**6
    claimed: list[Dispatch] = []
    costs = {
        "claim": measured.steps(lambda: claimed.extend(engine.claim(now))),
        "begin": measured.steps(lambda: engine.begin(claimed[0].id, now)),
    }
    assert len(claimed) == 6
    job = claimed[0].attempts[0].job
    ok = Result(job=job, attempt=1, outcome="ok")
    new = NewJob(
        id="new", incarnation="n", target="m:f", args="{}", due=now, retry=DEFAULT_RETRY.to_dict(), timeout_ms=1
    )
    pooled = replace(new, id="pooled", incarnation="p", pool="full", priority=2)
    in_pool = Result(job="r000", attempt=1, outcome="ok")
    costs |= {
        "schedule into a full pool": measured.steps(lambda: engine.schedule([pooled], now)),
        "pause a full pool": measured.steps(lambda: engine.set_pool("full", now, paused=True)),
        "resume a full pool": measured.steps(lambda: engine.set_pool("full", now, paused=False)),
        "look at nothing but a full pool": measured.steps(lambda: engine.claim(NOW - 1)),
        "next wake beside a full pool": measured.steps(lambda: engine.next_wake(now)),
        "settle in a full pool": measured.steps(lambda: engine.settle("x000", [in_pool], now)),
        "claim with a pool that is ready": measured.steps(lambda: claimed.extend(engine.claim(now))),
    }
    running = measured.store.execute("SELECT count(*) AS n FROM jobs WHERE pool = 'full' AND state = 'running'")
    assert running == [{"n": 1}]
    return costs | {
        "renew": measured.steps(lambda: engine.renew(claimed[0].id, now)),
        "settle": measured.steps(lambda: engine.settle(claimed[0].id, [ok], now)),
        "complete": measured.steps(lambda: engine.complete(claimed[0].id, now)),
        "sever": measured.steps(lambda: engine.sever(claimed[1].id, "refused", now)),
        "rescue": measured.steps(lambda: engine.rescue(now + 60_000)),
        "schedule": measured.steps(lambda: engine.schedule([new], now)),
        "cancel": measured.steps(lambda: engine.cancel("new", now)),
        "redrive": measured.steps(lambda: engine.redrive("j000002", now)),
        "drop": measured.steps(lambda: engine.drop_dead("j000005", now)),
        "redrive many": measured.steps(lambda: engine.change_many("redrive", JobFilter(), now, limit=50)),
        "drop many": measured.steps(
            lambda: engine.change_many("drop", JobFilter(ended_before=NOW + 500), now, limit=50)
        ),
        "cancel many": measured.steps(lambda: engine.change_many("cancel", JobFilter(), now, limit=50)),
        "look for what is not there": measured.steps(lambda: engine.change_many("cancel", _NOBODY, now, limit=50)),
        "prune nothing": measured.steps(lambda: engine.prune(NOW)),
        "prune a hundred": measured.steps(lambda: engine.prune(NOW + 8 * 24 * 3_600_000)),
        "next wake": measured.steps(lambda: engine.next_wake(now)),
        "get": measured.steps(lambda: listing.find(measured.store, "j000008")),
        "pages": measured.steps(
            lambda: listing.page(measured.store, ["running", "pending", "dead", "canceled", "succeeded"], None, 50)
        ),
        **{
            f"find {order}, {wanted}": measured.steps(
                lambda wanted=wanted, order=order: finding.jobs(measured.store, wanted, order, None, 5)  # type: ignore[misc]
            )
            for wanted in (JobFilter(), JobFilter(due_from=NOW + 300, due_before=NOW + 600, id_prefix="j"))
            for order in ("newest", "soonest")
        },
        "look for a needle": measured.steps(lambda: finding.jobs(measured.store, _NEEDLE, "newest", None, 5)),
        "count what has a time": measured.steps(lambda: finding.count(measured.store, _SOME)),
        "run now": measured.steps(lambda: engine.run_now("pooled", now)),
        "a page of dead letters": measured.steps(lambda: listing.page(measured.store, ["dead"], None, 50)),
    }


def test_no_operation_costs_more_when_twenty_times_as_much_is_stored() -> None:
    few, many = _costs(1_000), _costs(20_000)
    assert all(few.values())
    # a search in a larger tree may take a step or two more; a scan would take thousands
    grown = {name: (few[name], many[name]) for name in few if many[name] > few[name] * 1.15 + 20}
    assert grown == {}


def test_a_page_costs_the_same_wherever_it_is_among_jobs_of_one_instant() -> None:
    """Whoever schedules for midnight schedules all for the same millisecond."""
    measured = _Measured(3_000)
    measured.store.execute("UPDATE jobs SET due = 1, ended = CASE WHEN state <> 'pending' THEN 1 END")
    for states in (["pending"], ["dead"]):
        walk: list[Callable[[str | None], dict[str, Any]]] = [
            lambda cursor, states=states: listing.page(measured.store, states, cursor, 50),  # type: ignore[misc]
            lambda cursor, states=states: finding.jobs(measured.store, JobFilter(state=states), "newest", cursor, 50),  # type: ignore[misc]
            lambda cursor, states=states: finding.jobs(measured.store, JobFilter(state=states), "soonest", cursor, 50),  # type: ignore[misc]
        ]
        for page in walk:
            costs = []
            cursor: str | None = None
            while True:
                told: dict[str, Any] = {}
                costs.append(measured.steps(lambda: told.update(page(cursor))))  # noqa: B023
                cursor = told["cursor"]
                if cursor is None:
                    break
            assert len(costs) >= 6
            assert max(costs[1:-1]) < 1.2 * min(costs[1:-1]) + 200
