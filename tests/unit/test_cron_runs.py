from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from lunorash.crons.runs import MAX_RESULT, CronRun
from lunorash.scheduler.protocol import MAX_CODE, MAX_MESSAGE
from lunorash.scheduler.store import SqliteStore
from lunorash.shard import cron_runs
from lunorash.shard.cron_runs import KEPT, CronRuns
from lunorash.shard.schema import migrate_shard

NOW: Final = 1_800_000_000_000


@pytest.fixture
def store() -> SqliteStore:
    store = SqliteStore()
    migrate_shard(store, [])
    return store


def _run(number: int = 0, name: str = "sweep", **fields: Any) -> CronRun:
    """A run that began so many seconds after `NOW`."""
    started = NOW + number * 1_000
    given = {"id": f"{name} {number:04}", "scheduled_for": started, "trigger": "cron", "started": started, **fields}
    return CronRun(name=name, **given)


def _ended(run: CronRun, **fields: Any) -> CronRun:
    return replace(run, **{"ended": run.started + 500, "outcome": "succeeded", **fields})


def test_a_run_is_recorded_as_it_begins_and_as_it_ends(store: SqliteStore) -> None:
    runs = CronRuns(store)
    runs.note(_run())
    assert runs.newest("sweep", 10) == [_run()]
    assert runs.newest("sweep", 10)[0].outcome == "running"
    ended = _ended(_run(), result='{"n":1}', job="j")
    runs.note(ended)
    assert runs.newest("sweep", 10) == [ended]


def test_what_is_said_of_the_end_stays_whatever_comes_late(store: SqliteStore) -> None:
    runs = CronRuns(store)
    failed = _ended(_run(), outcome="failed", error_code="BOOM", error_message="it broke")
    for noted in (failed, _run(), _ended(_run())):
        runs.note(noted)
    assert runs.newest("sweep", 10) == [failed]


def test_an_end_without_a_beginning_is_recorded_too(store: SqliteStore) -> None:
    runs = CronRuns(store)
    runs.note(_ended(_run(), outcome="skipped"))
    assert [run.outcome for run in runs.newest(None, 10)] == ["skipped"]


def test_the_newest_come_first_of_one_job_or_of_all(store: SqliteStore) -> None:
    runs = CronRuns(store)
    for number, name in enumerate(["sweep", "digest", "sweep", "sweep", "digest"]):
        runs.note(_run(number, name))
    assert [run.id for run in runs.newest("sweep", 2)] == ["sweep 0003", "sweep 0002"]
    assert [run.id for run in runs.newest(None, 3)] == ["digest 0004", "sweep 0003", "sweep 0002"]
    assert runs.newest("nobody", 10) == []


def test_the_last_run_of_each_is_found(store: SqliteStore) -> None:
    runs = CronRuns(store)
    for number, name in enumerate(["sweep", "digest", "sweep"]):
        runs.note(_run(number, name))
    assert {run.name: run.id for run in runs.last_of_each(["sweep", "digest", "nobody"])} == {
        "sweep": "sweep 0002",
        "digest": "digest 0001",
    }
    assert runs.last_of_each([]) == []


def test_of_each_job_a_hundred_are_kept(store: SqliteStore) -> None:
    runs = CronRuns(store)
    runs.note(_run(0, "rare"))
    for number in range(KEPT + 30):
        runs.note(_run(number))
        runs.note(_ended(_run(number)))
    kept = runs.newest("sweep", 1_000)
    assert [run.id for run in kept] == [f"sweep {number:04}" for number in range(KEPT + 29, 29, -1)]
    assert len(runs.newest("rare", 10)) == 1


def test_a_backlog_is_pruned_a_few_at_a_time(store: SqliteStore) -> None:
    runs = CronRuns(store)
    for number in range(KEPT + 25):
        runs.note(_ended(_run(number)))  # a word about an end prunes nothing
    for number, left in ((200, KEPT + 16), (201, KEPT + 7), (202, KEPT), (203, KEPT)):
        runs.note(_run(number))
        assert len(runs.newest("sweep", 1_000)) == left


def test_what_an_app_puts_into_a_run_is_bounded(store: SqliteStore) -> None:
    class Silent:
        def __str__(self) -> str:
            raise ValueError

    runs = CronRuns(store)
    longest = '"' + "x" * (MAX_RESULT - 2) + '"'
    code: Any = Silent()
    runs.note(_ended(_run(0), result=longest))
    runs.note(_ended(_run(1), result=longest[:-1] + 'x"'))
    runs.note(_ended(_run(2), error_code="C" * 1_000, error_message="\ud800" + "m" * 10_000))
    runs.note(_ended(_run(3), error_code=code, error_message="m"))
    silent, long, none, kept = runs.newest("sweep", 10)
    assert (kept.result, none.result) == (longest, None)
    assert (long.error_code, len(long.error_message or "")) == ("C" * MAX_CODE, MAX_MESSAGE)
    assert (long.error_message or "").startswith("?m")
    assert silent.error_code == "a Silent without a text"


def test_a_run_is_shown_with_its_result_and_without_its_id() -> None:
    shown = _ended(_run(), result='[1,{"a":null}]').to_dict()
    assert shown == {
        "name": "sweep",
        "scheduled_for": NOW,
        "trigger": "cron",
        "started": NOW,
        "ended": NOW + 500,
        "outcome": "succeeded",
        "result": [1, {"a": None}],
        "error_code": None,
        "error_message": None,
        "job": None,
    }


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        ("_NOTE", ("i", "n", 0, "cron", 0, None, "running", None, None, None, None)),
        ("_PRUNE", ("n", 10, KEPT)),
        ("_OF_ALL", (20,)),
        ("_OF_ONE", ("n", 20)),
        ("_LAST_OF_EACH", ('["n"]',)),
    ],
)
def test_no_statement_goes_through_all_runs(store: SqliteStore, statement: str, parameters: tuple[Any, ...]) -> None:
    for number in range(300):
        store.execute(cron_runs._NOTE, f"i{number}", f"n{number % 3}", 0, "cron", 0, None, "running", *[None] * 4)
    store.execute("ANALYZE")
    plan = [row["detail"] for row in store.execute(f"EXPLAIN QUERY PLAN {getattr(cron_runs, statement)}", *parameters)]
    scans = [step for step in plan if step.startswith("SCAN") and "json_each" not in step and "named" not in step]
    # the newest of all jobs are read off the end of the index
    assert scans == (["SCAN _lunora_cron_runs USING INDEX _lunora_cron_runs_started"] if statement == "_OF_ALL" else [])
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
