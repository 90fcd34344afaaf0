from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.schema import Migration, migrate_shard, statements

_SCHEMA = ("schema.sql", "CREATE TABLE users (id TEXT PRIMARY KEY);")
_AGE = ("0001_age.sql", "ALTER TABLE users ADD COLUMN age INTEGER;\nINSERT INTO users VALUES ('a', 1);")
_NAME = ("0002_name.sql", "ALTER TABLE users ADD COLUMN name TEXT;")


def _schema(store: SqliteStore) -> list[dict[str, Any]]:
    return store.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name")


def _refused(code: str, store: SqliteStore, migrations: Sequence[Migration]) -> LunoraError:
    before = _schema(store)
    with pytest.raises(LunoraError) as raised:
        migrate_shard(store, migrations)
    assert (raised.value.code, raised.value.status) == (code, 500)
    if before:
        assert _schema(store) == before
    return raised.value


# -- migrating -----------------------------------------------------------------------------------------------


def test_migrations_are_applied_in_order_and_once() -> None:
    store = SqliteStore()
    assert migrate_shard(store, [_SCHEMA, _AGE]) == 2
    assert store.execute("SELECT * FROM users") == [{"id": "a", "age": 1}]
    assert migrate_shard(store, [_SCHEMA, _AGE]) == 0
    assert migrate_shard(store, [_SCHEMA, _AGE, _NAME]) == 1
    assert store.execute("SELECT * FROM users") == [{"id": "a", "age": 1, "name": None}]


def test_a_shard_without_migrations_has_the_librarys_own_tables_only() -> None:
    store = SqliteStore()
    assert migrate_shard(store, []) == 0
    assert migrate_shard(store, []) == 0
    names = {row["name"] for row in _schema(store) if row["type"] == "table"}
    own = {"outbox", "applied", "migrations", "cron_leases", "cron_runs"}
    assert names == {"sqlite_sequence", *(f"_lunora_{name}" for name in own)}


def test_the_text_of_a_migration_that_was_applied_is_not_looked_at_again() -> None:
    store = SqliteStore()
    migrate_shard(store, [_SCHEMA])
    assert migrate_shard(store, [("schema.sql", "not even SQL"), _AGE]) == 1


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_statement_that_fails_is_named_and_the_shard_stays_at_the_migration_before(position: int) -> None:
    parts = ["CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('kept?')", "UPDATE users SET age = 2"]
    parts[position] = f"INSERT INTO elsewhere VALUES ({position})"
    store = SqliteStore()
    migrate_shard(store, [_SCHEMA, _AGE])
    broken = ("0002_broken.sql", ";\n".join(parts))
    error = _refused("MIGRATION_FAILED", store, [_SCHEMA, _AGE, broken, _NAME])
    assert error.message.startswith("0002_broken.sql: no such table: elsewhere, in the statement: ")
    assert parts[position] in error.message
    assert store.execute("SELECT * FROM users") == [{"id": "a", "age": 1}]
    assert migrate_shard(store, [_SCHEMA, _AGE, ("0002_broken.sql", "CREATE TABLE notes (text TEXT);"), _NAME]) == 2


def test_those_before_one_that_fails_are_kept() -> None:
    store = SqliteStore()
    with pytest.raises(LunoraError):
        migrate_shard(store, [_SCHEMA, _AGE, ("0002_broken.sql", "nonsense")])
    assert migrate_shard(store, [_SCHEMA, _AGE]) == 0


def test_the_error_of_a_long_statement_stays_short() -> None:
    error = _refused(
        "MIGRATION_FAILED", SqliteStore(), [("0001.sql", f"INSERT INTO elsewhere VALUES ('{'x' * 10**6}')")]
    )
    assert len(error.message) < 1_000


@pytest.mark.parametrize(
    "migrations",
    [
        [],
        [_SCHEMA],
        [_AGE, _SCHEMA],
        [_SCHEMA, _NAME],
        [_SCHEMA, _NAME, _AGE],
        [("renamed.sql", _SCHEMA[1]), _AGE],
        [_SCHEMA, ("0001_AGE.sql", _AGE[1])],
    ],
)
def test_a_migration_that_is_missing_renamed_or_moved_is_refused(migrations: list[Migration]) -> None:
    store = SqliteStore()
    migrate_shard(store, [_SCHEMA, _AGE])
    error = _refused("MIGRATION_MISSING", store, migrations)
    assert "this shard has had schema.sql, 0001_age.sql" in error.message
    assert "never renamed, reordered or taken away" in error.message
    assert migrate_shard(store, [_SCHEMA, _AGE]) == 0


def test_a_migration_may_hold_triggers_and_comments() -> None:
    script = """
    -- what changes is noted; always
    CREATE TABLE log (id TEXT); /* for; the; trigger */
    CREATE TRIGGER noted AFTER INSERT ON users
    BEGIN
        INSERT INTO log VALUES (new.id);
        INSERT INTO log VALUES (';' || CASE WHEN 1 THEN 'x' END);
    END;
    INSERT INTO users VALUES ('b')
    -- no more
    """
    store = SqliteStore()
    migrate_shard(store, [_SCHEMA, ("0001_log.sql", script)])
    assert store.execute("SELECT id FROM log ORDER BY id") == [{"id": ";x"}, {"id": "b"}]


@pytest.mark.parametrize("sql", ["", " \n", ";", ";;\n;", "-- nothing", "/* nothing */", "-- a\n/* b;\n */ ;"])
def test_a_migration_may_say_nothing(sql: str) -> None:
    store = SqliteStore()
    assert migrate_shard(store, [("0001_nothing.sql", sql)]) == 1
    assert migrate_shard(store, [("0001_nothing.sql", sql)]) == 0
    assert list(statements(sql)) == []


# -- cutting a script into statements ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "cut"),
    [
        ("SELECT 1", ["SELECT 1;"]),
        ("SELECT 1;SELECT 2;", ["SELECT 1;", "SELECT 2;"]),
        (
            "SELECT ';'; SELECT \";\"; SELECT [;]; SELECT `;`",
            ["SELECT ';';", 'SELECT ";";', "SELECT [;];", "SELECT `;`;"],
        ),
        ("SELECT 'it''s; fine'; SELECT 2", ["SELECT 'it''s; fine';", "SELECT 2;"]),
        ("SELECT 1 -- one; two\n; SELECT 2", ["SELECT 1 -- one; two\n;", "SELECT 2;"]),
        ("/* a; b */ SELECT 1; /* c; */", ["/* a; b */ SELECT 1;"]),
        ("SELECT '--'; SELECT '/*'; SELECT 3", ["SELECT '--';", "SELECT '/*';", "SELECT 3;"]),
    ],
)
def test_a_script_is_cut_at_the_semicolons_that_end_statements(script: str, cut: list[str]) -> None:
    assert list(statements(script)) == cut


_BODY = st.text("ab;'\"-/*\n[]` ", max_size=10)
_TEXT = _BODY.map(lambda body: "'" + body.replace("'", "''") + "'")
_LINE = _BODY.map(lambda body: "--" + body.replace("\n", "") + "\n")
_BLOCK = _BODY.map(lambda body: "/*" + body.replace("*", "") + "*/")
_GAP = st.lists(st.sampled_from([" ", "\n", "\t"]) | _LINE | _BLOCK, max_size=3).map("".join)
_VALUE = st.tuples(_GAP, _TEXT, _GAP).map("".join)
_INSERT = _VALUE.map(lambda value: f"INSERT INTO t VALUES ({value})")
_TRIGGER = st.tuples(st.sampled_from(["TRIGGER", "TEMP TRIGGER", "TRIGGER IF NOT EXISTS"]), _GAP, _INSERT, _INSERT).map(
    lambda parts: f"CREATE {parts[0]} {{}} AFTER DELETE ON t{parts[1]}\nBEGIN {parts[2]}; {parts[3]};{parts[1]}END"
)


@given(st.lists(st.tuples(_GAP, _INSERT | _TRIGGER), max_size=6), _GAP, st.booleans())
def test_a_script_of_any_strings_comments_and_triggers_does_what_sqlite_does(
    parts: list[tuple[str, str]], end: str, finished: bool
) -> None:
    script = ";".join(gap + statement.replace("{}", f"t{number}") for number, (gap, statement) in enumerate(parts))
    script += (";" if finished else "") + end
    whole, cut = (sqlite3.connect(":memory:", isolation_level=None) for _ in range(2))
    for connection in (whole, cut):
        connection.execute("CREATE TABLE t (a)")
    whole.executescript(script)
    ran = list(statements(script))
    for statement in ran:
        cut.execute(statement)
    assert len(ran) == len(parts)
    for look in (
        "SELECT a FROM t",
        "SELECT name, sql FROM sqlite_master ORDER BY name",
        "SELECT name FROM sqlite_temp_master",
    ):
        assert whole.execute(look).fetchall() == cut.execute(look).fetchall()
    for connection in (whole, cut):
        connection.close()
