from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.scheduler.store import Ran, SqliteStore
from lunorash.shard.database import Database
from lunorash.shard.schema import migrate_shard

_SCHEMA = "CREATE TABLE users (id TEXT PRIMARY KEY, age INTEGER, photo BLOB, score REAL) STRICT"
_INSERT = "INSERT INTO users (id, age) VALUES (?, ?)"


class _Shard:
    """A shard's store, and its database as mutations and as queries see it."""

    def __init__(self) -> None:
        self.store = SqliteStore()
        migrate_shard(self.store, [("schema.sql", _SCHEMA)])
        self.db = Database(self.store.run, read_only=False)
        self.read = Database(self.store.run, read_only=True)

    def dump(self) -> list[Any]:
        tables = [row["name"] for row in self.store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [self.store.execute("SELECT * FROM sqlite_master")] + [
            self.store.execute(f"SELECT * FROM {table}") for table in tables
        ]


@pytest.fixture
def shard() -> _Shard:
    return _Shard()


def _refused(code: str, call: Callable[[], object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        call()
    assert raised.value.code == code
    assert len(raised.value.message) < 600
    return raised.value


def _recording() -> tuple[Database, list[str]]:
    """A database that would run anything, and what reaches it: two stores need not refuse the same things."""
    reached: list[str] = []

    def run(sql: str, *_params: Any) -> Ran:
        reached.append(sql)
        return Ran([], 0)

    return Database(run, read_only=False), reached


# -- reading and writing -------------------------------------------------------------------------------------


def test_rows_come_as_dicts_and_a_write_says_how_many_rows_it_wrote(shard: _Shard) -> None:
    assert shard.db.execute(_INSERT, "a", 1) >= 1
    assert shard.db.execute("INSERT INTO users (id, age) VALUES ('b', 2), ('c', 3)") >= 2
    assert shard.db.execute("UPDATE users SET age = 0 WHERE id = 'nobody'") == 0
    assert shard.db.fetch_all("SELECT id, age AS years FROM users WHERE age < ? ORDER BY id", 3) == [
        {"id": "a", "years": 1},
        {"id": "b", "years": 2},
    ]
    assert shard.db.fetch_one("SELECT count(*) AS n FROM users") == {"n": 3}
    assert shard.db.fetch_one("SELECT * FROM users WHERE id = 'nobody'") is None
    assert shard.db.fetch_all("SELECT * FROM users WHERE id = 'nobody'") == []


def test_a_write_may_return_rows(shard: _Shard) -> None:
    assert shard.db.fetch_one("INSERT INTO users (id, age) VALUES ('a', 1) RETURNING id, age") == {"id": "a", "age": 1}
    assert shard.db.fetch_all("DELETE FROM users RETURNING id") == [{"id": "a"}]


def test_a_mutation_may_make_tables_and_look_at_the_schema(shard: _Shard) -> None:
    shard.db.execute("CREATE TABLE notes (text TEXT) STRICT")
    assert shard.db.fetch_one("SELECT name FROM sqlite_master WHERE name = 'notes'") == {"name": "notes"}
    shard.db.execute("DROP TABLE notes")


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, 0, -1, 2**53 - 2, -(2**53 - 2), 1.5, -0.0, 1e300, float("inf"), "", "Zoë 🎉", "a'b\";--", b"", b"\xff\x00"],
)
def test_what_sqlite_stores_comes_back_as_it_was(value: Any, shard: _Shard) -> None:
    row = shard.db.fetch_one("SELECT ? AS value", value)
    assert row == {"value": value}
    assert type(row["value"]) is type(value)


@pytest.mark.parametrize(("value", "number"), [(True, 1), (False, 0)])
def test_a_bool_is_stored_as_a_number(value: bool, number: int, shard: _Shard) -> None:
    row = shard.db.fetch_one("SELECT ? AS value", value)
    assert row == {"value": number}
    assert type(row["value"]) is int


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2**53 - 1, "store it as text"),
        (-(2**53), "store it as text"),
        (10**5000, "store it as text"),
        (float("nan"), "nan"),
        ([1], "of type list"),
        ({"a": 1}, "of type dict"),
        ((1,), "of type tuple"),
        (object(), "of type object"),
        (bytearray(b"x"), "of type bytearray"),
        (1j, "of type complex"),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, int) else "a large integer",
)
def test_what_sqlite_cannot_store_is_refused_with_its_number(value: Any, told: str, shard: _Shard) -> None:
    before = shard.dump()
    error = _refused("INVALID_INPUT", lambda: shard.db.execute("INSERT INTO users (id, age) VALUES (?, ?)", "a", value))
    assert error.message.startswith("parameter 2 ")
    assert told in error.message
    assert shard.dump() == before


@pytest.mark.parametrize("params", [(), ("a",), ("a", 1, 2)])
def test_too_many_parameters_or_too_few_are_refused(params: tuple[Any, ...], shard: _Shard) -> None:
    _refused("SQL_FAILED", lambda: shard.db.execute(_INSERT, *params))


@given(st.text(max_size=50))
def test_text_never_becomes_sql(text: str) -> None:
    shard = _Shard()
    if any("\ud800" <= character <= "\udfff" for character in text):
        with pytest.raises(LunoraError):
            shard.db.execute(_INSERT, text, 1)
    else:
        shard.db.execute(_INSERT, text, 1)
        assert shard.db.fetch_all("SELECT id FROM users") == [{"id": text}]


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELEKT 1", "SELEKT"),
        ("SELECT * FROM elsewhere", "no such table: elsewhere"),
        ("SELECT name FROM users", "no such column: name"),
        ("INSERT INTO users (id, age) VALUES ('a', 'old')", "age"),
        ("SELECT 'unfinished", "unfinished"),
    ],
)
def test_an_error_names_the_statement_and_what_is_wrong_with_it(sql: str, told: str, shard: _Shard) -> None:
    error = _refused("SQL_FAILED", lambda: shard.db.execute(sql))
    assert told in error.message
    assert sql[:60] in error.message


def test_a_broken_constraint_is_an_error_and_can_be_caught(shard: _Shard) -> None:
    shard.db.execute(_INSERT, "a", 1)
    assert "UNIQUE" in _refused("SQL_FAILED", lambda: shard.db.execute(_INSERT, "a", 2)).message
    assert shard.db.fetch_all("SELECT id, age FROM users") == [{"id": "a", "age": 1}]


def test_an_error_shows_no_parameters_and_not_the_whole_of_a_long_statement(shard: _Shard) -> None:
    sql = f"SELECT ? FROM elsewhere WHERE {' AND '.join(['1'] * 10_000)}"
    assert "hunter2" not in _refused("SQL_FAILED", lambda: shard.db.execute(sql, "hunter2")).message


@pytest.mark.parametrize("error", [OSError(), OSError("\n"), RuntimeError("first\nsecond")])
def test_an_error_without_words_is_an_error_too(error: Exception) -> None:
    def run(*_args: Any) -> Ran:
        raise error

    _refused("SQL_FAILED", lambda: Database(run, read_only=False).execute("SELECT 1"))


@pytest.mark.parametrize("sql", ["", " ", ";", "-- nothing", "SELECT '\x00;'", "SELECT '\ud800;'", "\x00"])
def test_text_that_is_hardly_sql_is_run_or_refused(sql: str, shard: _Shard) -> None:
    try:
        rows = shard.db.fetch_all(sql)
    except LunoraError as error:
        assert error.code in ("SQL_FAILED", "SQL_REFUSED")  # noqa: PT017 - both are right
    else:
        assert rows == [] or "'" in sql


# -- what a function may not do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        "_lunora_outbox",
        "_LUNORA_OUTBOX",
        "_Lunora_Applied",
        '"_lunora_migrations"',
        "[_lunora_outbox]",
        "`_lunora_outbox`",
        "'_lunora_outbox'",
        "main._lunora_outbox",
        'main."_LUNORA_outbox"',
        "/* it is */ _lunora_outbox",
        "_lunora_/**/outbox",
        "_lunora_new",
        "sqlite_sequence",
        "SQLITE_sequence",
        '"sqlite_sequence"',
    ],
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM {}",
        "DELETE FROM {}",
        "DROP TABLE {}",
        "CREATE TABLE {} (a)",
        "WITH x AS (SELECT * FROM {}) SELECT 1",
    ],
)
def test_the_tables_of_the_library_are_refused_in_every_spelling(sql: str, table: str) -> None:
    database, reached = _recording()
    assert "belong to the library" in _refused("SQL_REFUSED", lambda: database.execute(sql.format(table))).message
    assert reached == []


_CONTROLS = [
    "BEGIN",
    "begin immediate",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ROLLBACK TO level_1",
    "SAVEPOINT x",
    "RELEASE level_1",
    "PRAGMA writable_schema = 1",
    "PRAGMA query_only = 0",
    "ATTACH 'other.db' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'other.db'",
]


@pytest.mark.parametrize("sql", _CONTROLS)
@pytest.mark.parametrize(
    "before",
    [
        "",
        "  \n\t",
        ";",
        " ; ;",
        "\ufeff",
        "/* a comment */",
        "/**//* ; */ ",
        "/* -- */",
        "-- a comment\n",
        "--\n-- /*\n",
        "EXPLAIN ",
        "EXPLAIN QUERY PLAN ",
        "/* */ explain -- x\n",
    ],
)
def test_a_statement_that_ends_or_changes_the_transaction_is_refused(before: str, sql: str) -> None:
    database, reached = _recording()
    for spelling in (sql, sql.lower(), sql.swapcase()):
        error = _refused("SQL_REFUSED", lambda spelling=spelling: database.execute(f"{before}{spelling}"))  # type: ignore[misc]
        assert sql.split(maxsplit=1)[0].upper() in error.message
    assert reached == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; SELECT 2",
        "SELECT 1; COMMIT",
        "INSERT INTO users (id) VALUES ('a'); SELECT 1",
        "SELECT 1; -- and\nDELETE FROM users",
        "SELECT ';'; DELETE FROM users;",
    ],
)
def test_more_than_one_statement_is_refused_before_any_of_them_runs(sql: str) -> None:
    database, reached = _recording()
    _refused("SQL_REFUSED", lambda: database.execute(sql))
    assert reached == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        "SELECT ';' || ';'",
        "SELECT 1 -- a; b",
        "SELECT 1; -- that was all",
        "SELECT 1; /* that; was; all */",
        "/* first; */ SELECT 1",
        "SELECT 'BEGIN; COMMIT'",
        'SELECT 1 AS "end"',
        "SELECT CASE WHEN 1 THEN 2 END",
        "WITH beginning AS (SELECT 1) SELECT * FROM beginning",
        "CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET age = 1; DELETE FROM users; END;",
    ],
)
def test_one_statement_is_run_whatever_semicolons_and_words_are_in_it(sql: str, shard: _Shard) -> None:
    shard.db.execute(sql)


def test_a_statement_of_many_comments_is_looked_through_at_once() -> None:
    database, reached = _recording()
    database.execute("/**/" * 20_000 + "SELECT 1")
    _refused("SQL_REFUSED", lambda: database.execute("/**/--\n" * 20_000 + "COMMIT"))
    assert len(reached) == 1


# -- queries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO users (id) VALUES ('b')",
        "INSERT INTO users (id) VALUES ('b') RETURNING id",
        "WITH x AS (SELECT 'b' AS id) INSERT INTO users (id) SELECT id FROM x",
        "REPLACE INTO users (id) VALUES ('a')",
        "UPDATE users SET age = 5",
        "UPDATE users SET age = 5 WHERE id = 'nobody'",
        "/* SELECT */ -- SELECT\n DROP TABLE users",
        "UPDATE users SET age = age RETURNING age",
        "DELETE FROM users",
        "DELETE FROM users WHERE id = 'a'",
        "CREATE TABLE notes (text)",
        "CREATE TEMP TABLE notes (text)",
        "CREATE TABLE copied AS SELECT * FROM users",
        "CREATE INDEX users_by_age ON users (age)",
        "CREATE VIEW old AS SELECT * FROM users",
        "ALTER TABLE users ADD COLUMN name TEXT",
        "ALTER TABLE users RENAME TO people",
        "DROP TABLE users",
    ],
)
def test_a_query_that_writes_is_refused_and_what_it_wrote_can_be_undone(sql: str, shard: _Shard) -> None:
    shard.db.execute(_INSERT, "a", 1)
    before = shard.dump()

    def work() -> None:
        shard.read.execute(sql)

    error = _refused("QUERY_WROTE", lambda: shard.store.transaction(work))
    assert "a query may only read; make it a mutation" in error.message
    assert sql[:12] in error.message
    assert shard.dump() == before
    assert shard.read.refused is error


def test_a_query_may_read_whatever_it_likes(shard: _Shard) -> None:
    shard.db.execute(_INSERT, "a", 1)
    for sql in (
        "SELECT * FROM users",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n",
        "EXPLAIN QUERY PLAN SELECT * FROM users",
        "VALUES (1), (2)",
        "-- all of them\nSELECT * FROM users;",
    ):
        shard.read.fetch_all(sql)
    assert shard.read.refused is None


# -- after the call ------------------------------------------------------------------------------------------


def test_after_the_call_nothing_can_be_done_with_it(shard: _Shard) -> None:
    shard.db.close()
    for call in (shard.db.execute, shard.db.fetch_all, shard.db.fetch_one):
        assert "after its call has ended" in _refused("SQL_REFUSED", lambda call=call: call("SELECT 1")).message  # type: ignore[misc]
