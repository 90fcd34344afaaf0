"""Migrations: a fresh object, one that is up to date, one from the future."""

from __future__ import annotations

from lunorash.scheduler.schema import MIGRATIONS, migrate
from lunorash.scheduler.store import Row, Store

from .rig import START, Rig, refused


def _tables(store: Store) -> list[str]:
    found = store.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    return [row["name"] for row in found if not row["name"].startswith(("_cf_", "sqlite_"))]


def _version(store: Store) -> list[Row]:
    return store.execute("SELECT * FROM meta")


def case_a_fresh_object_gets_all_tables(store: Store) -> None:
    assert migrate(store) == len(MIGRATIONS)
    assert {"attempts", "dispatches", "jobs", "meta", "origins"} <= set(_tables(store))
    assert _version(store) == [{"key": "schema_version", "value": len(MIGRATIONS)}]


def case_a_second_migration_changes_nothing(store: Store) -> None:
    rig = Rig(store)
    rig.bury()
    before = [rig.job(), rig.attempts(), _tables(store), _version(store)]
    for _ in range(3):
        assert migrate(store) == len(MIGRATIONS)
    assert [rig.job(), rig.attempts(), _tables(store), _version(store)] == before


def case_jobs_of_every_older_version_are_brought_along(store: Store) -> None:
    """An object that was made by an older release: what it had stored runs as if it had been stored today."""
    store.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID")
    for statement in MIGRATIONS[0]:
        store.execute(statement)
    store.execute("INSERT INTO meta VALUES ('schema_version', 1)")
    for job_id, state, ended in (("waits", "pending", None), ("done", "succeeded", 5)):
        store.execute(
            """
            INSERT INTO jobs (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry,
                timeout_ms, ended)
            VALUES (?1, 'i', 'i', 'm:f', '{}', ?2, ?3, ?3, ?3, '{"max_attempts": 1}', 5, ?4)
            """,
            job_id,
            state,
            START,
            ended,
        )
    assert migrate(store) == len(MIGRATIONS)
    rig = Rig(store)
    assert [attempt.job for attempt in rig.claim_one().attempts] == ["waits"]
    assert (rig.job("waits")["pool"], rig.job("waits")["priority"]) == (None, 0)


def case_an_object_of_the_release_before_keeps_all_it_has_under_the_new_states(store: Store) -> None:
    """The table of jobs is made anew: rows, indexes and the count of what is kept come along, and jobs may expire."""
    store.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID")
    for statement in (statement for migration in MIGRATIONS[:4] for statement in migration):
        store.execute(statement)
    store.execute("INSERT INTO meta VALUES ('schema_version', 4)")
    jobs = (
        ("waits", "pending", None, None),
        ("pooled", "pending", None, "imports"),
        ("dead", "dead", START, None),
        ("done", "succeeded", START, None),
        ("canceled", "canceled", START, None),
    )
    for job_id, state, ended, pool in jobs:
        store.execute(
            """
            INSERT INTO jobs (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry,
                timeout_ms, ended, pool, priority, kind, size, numbered, shard_key, error_message,
                traceparent)
            VALUES (?1, 'i', 's', 'm:f', '{"a":1}', ?2, ?3, ?3, ?3, '{"max_attempts": 1}', 5, ?4, ?5, 2, 'mutation', 7,
                1, 'shard', 'why', '00-trace')
            """,
            job_id,
            state,
            START,
            ended,
            pool,
        )
    store.execute("INSERT INTO pools VALUES ('imports', 1, NULL, 0, ?)", START)
    for number, code in enumerate(("BOOM", "OUTCOME_UNKNOWN", "NEVER_BEGAN"), 1):
        store.execute("INSERT INTO attempts VALUES ('dead', ?, 'i', 'd', 1, 2, ?, 'why')", number, code)
    before = store.execute("SELECT * FROM jobs ORDER BY id")
    indexes = store.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY sql")
    assert migrate(store) == len(MIGRATIONS)
    new = {"expires_at": None, "tags": None, "on_complete": None}
    assert store.execute("SELECT * FROM jobs ORDER BY id") == [{**row, **new} for row in before]
    assert indexes == store.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY sql"
    )
    assert store.execute("SELECT kept FROM history") == [{"kept": 2}]
    recorded = store.execute("SELECT outcome, traceback FROM attempts ORDER BY number")
    assert [row["outcome"] for row in recorded] == ["failed", "unknown", "never_began"]
    rig = Rig(store)
    rig.schedule("late", due=-2, expires_at=-1)
    assert sorted(rig.claimed()) == ["pooled", "waits"]
    assert rig.state("late") == "expired"


def case_tables_of_a_newer_release_are_refused_untouched(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    store.execute("UPDATE meta SET value = ?", len(MIGRATIONS) + 1)
    with refused(code="INTERNAL") as raised:
        migrate(store)
    assert "deploy the newer one again" in str(raised[0])
    assert rig.state() == "pending"
    assert _version(store) == [{"key": "schema_version", "value": len(MIGRATIONS) + 1}]


def case_a_migration_that_fails_leaves_nothing_behind(store: Store) -> None:
    """Each runs in a transaction of its own, with the version it leads to."""
    store.execute("CREATE TABLE attempts (something TEXT) STRICT")  # in the way of the first one
    with refused():
        migrate(store)
    assert [table for table in _tables(store) if table != "meta"] == ["attempts"]
    assert _version(store) == []
    store.execute("DROP TABLE attempts")
    assert migrate(store) == len(MIGRATIONS)


def case_rows_that_cannot_be_are_refused_by_the_tables(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    for statement in (
        "UPDATE jobs SET state = 'waiting'",
        "UPDATE jobs SET due = 'soon'",
        "UPDATE jobs SET due = 1.5",
        "UPDATE jobs SET args = NULL",
        "INSERT INTO jobs SELECT * FROM jobs",
    ):
        with refused():
            store.execute(statement)
    assert rig.state() == "pending"
