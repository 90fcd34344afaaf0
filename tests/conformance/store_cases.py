"""The contract of a store: values, rows, transactions, and the SQL that the engine is written in."""

from __future__ import annotations

from lunorash.scheduler.store import Row, Store, Value

from .rig import refused

_TABLE = "CREATE TABLE things (id TEXT PRIMARY KEY, n INTEGER, note TEXT) STRICT, WITHOUT ROWID"


class _OwnError(Exception):
    """An error that only Python knows, carrying something."""

    def __init__(self, carried: object) -> None:
        super().__init__("an error of our own")
        self.carried = carried


def _echo(store: Store, value: Value) -> Value:
    kept: Value = store.execute("SELECT ? AS value", value)[0]["value"]
    return kept


def _ids(store: Store) -> list[str]:
    return [row["id"] for row in store.execute("SELECT id FROM things ORDER BY id")]


def _insert(store: Store, thing: str, n: int | None = 0, note: str | None = None) -> list[Row]:
    return store.execute("INSERT INTO things VALUES (?, ?, ?)", thing, n, note)


def case_text_comes_back_as_it_was(store: Store) -> None:
    for text in (
        "",
        "plain",
        "Grüße, 世界 🎉 👩‍👩‍👧",
        "line\nbreak\ttab\r",
        "'quoted' \"twice\" ; -- not SQL",
        "\u2028\ufeff\x7f",
    ):
        assert _echo(store, text) == text


def case_text_with_a_nul_comes_back_whole(store: Store) -> None:
    assert _echo(store, "before\x00after") == "before\x00after"


def case_text_of_a_megabyte_comes_back_whole(store: Store) -> None:
    store.execute(_TABLE)
    text = "0123456789abcde🎉" * 62_500
    _insert(store, "long", note=text)
    assert store.execute("SELECT note FROM things")[0]["note"] == text


def case_integers_stay_integers_as_far_as_javascript_counts(store: Store) -> None:
    store.execute(_TABLE)
    for n in (0, 1, -1, 2**31, -(2**31) - 1, 2**32, 1_800_000_000_000, 999_999_999_999_999, 2**53 - 2, -(2**53) + 2):
        _insert(store, f"n{n}", n)
        kept = store.execute("SELECT n FROM things WHERE id = ?", f"n{n}")[0]["n"]
        assert type(kept) is int, f"{n} became {kept!r}"
        assert kept == n


def case_fractions_stay_fractions(store: Store) -> None:
    for number in (0.5, -0.1, 1.0e300, 5e-324):
        assert _echo(store, number) == number


def case_bytes_stay_bytes(store: Store) -> None:
    store.execute("CREATE TABLE blobs (id INTEGER PRIMARY KEY, b BLOB) STRICT")
    for number, blob in enumerate((b"", b"\x00\xff\x00", bytes(range(256)) * 100)):
        store.execute("INSERT INTO blobs VALUES (?, ?)", number, blob)
        kept = store.execute("SELECT b FROM blobs WHERE id = ?", number)[0]["b"]
        assert type(kept) is bytes, f"became {type(kept)}"
        assert kept == blob


def case_run_tells_whether_anything_was_written(store: Store) -> None:
    """How many rows: at least one for each, and more where the store counts what an index costs."""
    store.execute(_TABLE)
    inserted = store.run("INSERT INTO things VALUES ('a', 1, NULL), ('b', 2, NULL) RETURNING id")
    assert [row["id"] for row in inserted.rows] == ["a", "b"]
    assert inserted.rows_written >= 2
    assert store.run("UPDATE things SET n = 3 WHERE id = ?", "a").rows_written >= 1
    for statement in (
        "SELECT * FROM things",
        "UPDATE things SET n = 3 WHERE id = 'c'",
        "DELETE FROM things WHERE n = 9",
    ):
        assert store.run(statement).rows_written == 0, statement
    assert store.run("DELETE FROM things").rows_written >= 2


def case_null_is_none_and_nothing_else(store: Store) -> None:
    assert _echo(store, None) is None
    store.execute(_TABLE)
    assert store.execute("SELECT max(n) AS most FROM things")[0]["most"] is None


def case_rows_are_dicts_by_column_name(store: Store) -> None:
    rows = store.execute("SELECT 1 AS one, 'b' AS two UNION ALL SELECT 2, NULL ORDER BY one")
    assert type(rows) is list
    assert all(type(row) is dict for row in rows)
    assert rows == [{"one": 1, "two": "b"}, {"one": 2, "two": None}]
    assert list(rows[0]) == ["one", "two"]


def case_a_statement_without_rows_returns_an_empty_list(store: Store) -> None:
    assert store.execute(_TABLE) == []
    assert _insert(store, "a") == []
    assert store.execute("SELECT * FROM things WHERE id = 'nobody'") == []


def case_parameters_may_be_numbered_and_used_twice(store: Store) -> None:
    assert store.execute("SELECT ?2 AS b, ?1 AS a, ?2 AS c", "first", "second") == [
        {"b": "second", "a": "first", "c": "second"}
    ]


def case_text_in_a_parameter_is_never_sql(store: Store) -> None:
    store.execute(_TABLE)
    _insert(store, "'); DROP TABLE things; --")
    assert _ids(store) == ["'); DROP TABLE things; --"]


def case_a_transaction_keeps_what_was_written_and_returns_what_was_returned(store: Store) -> None:
    store.execute(_TABLE)
    token = object()

    def work() -> object:
        _insert(store, "a")
        return token

    assert store.transaction(work) is token
    assert _ids(store) == ["a"]


def case_a_transaction_may_return_nothing(store: Store) -> None:
    assert store.transaction(lambda: None) is None


def case_a_transaction_sees_its_own_writes(store: Store) -> None:
    store.execute(_TABLE)

    def work() -> list[str]:
        _insert(store, "a")
        return _ids(store)

    assert store.transaction(work) == ["a"]


def case_an_exception_undoes_the_transaction_and_comes_out_as_itself(store: Store) -> None:
    store.execute(_TABLE)
    error = _OwnError({"carried": [1, 2]})

    def work() -> None:
        _insert(store, "a")
        raise error

    with refused(_OwnError) as raised:
        store.transaction(work)
    assert type(raised[0]) is _OwnError
    assert vars(raised[0]) == vars(error)
    assert _ids(store) == []


def case_a_store_goes_on_after_a_transaction_was_undone(store: Store) -> None:
    store.execute(_TABLE)

    def work() -> None:
        _insert(store, "a")
        raise _OwnError(None)

    for _ in range(3):
        with refused(_OwnError):
            store.transaction(work)
    store.transaction(lambda: _insert(store, "b"))
    assert _ids(store) == ["b"]


def case_an_inner_transaction_is_undone_alone(store: Store) -> None:
    store.execute(_TABLE)

    def inner() -> None:
        _insert(store, "inner")
        raise _OwnError(None)

    def outer() -> str:
        _insert(store, "before")
        with refused(_OwnError):
            store.transaction(inner)
        _insert(store, "after")
        return "done"

    assert store.transaction(outer) == "done"
    assert _ids(store) == ["after", "before"]


def case_an_outer_transaction_undoes_the_inner_one_with_it(store: Store) -> None:
    store.execute(_TABLE)

    def outer() -> None:
        store.transaction(lambda: _insert(store, "inner"))
        raise _OwnError(None)

    with refused(_OwnError):
        store.transaction(outer)
    assert _ids(store) == []


def case_transactions_nest_three_deep(store: Store) -> None:
    store.execute(_TABLE)

    def third() -> None:
        _insert(store, "third")
        raise _OwnError(None)

    def second() -> None:
        _insert(store, "second")
        with refused(_OwnError):
            store.transaction(third)

    def first() -> None:
        _insert(store, "first")
        store.transaction(second)

    store.transaction(first)
    assert _ids(store) == ["first", "second"]


def case_tables_made_in_a_transaction_vanish_with_it(store: Store) -> None:
    def work() -> None:
        store.execute(_TABLE)
        _insert(store, "a")
        raise _OwnError(None)

    with refused(_OwnError):
        store.transaction(work)
    store.execute(_TABLE)
    assert _ids(store) == []


def case_a_refused_statement_changes_nothing(store: Store) -> None:
    store.execute(_TABLE)
    _insert(store, "a", 1)
    with refused():
        _insert(store, "a", 2)
    with refused():
        store.execute("INSERT INTO things VALUES ('b', 1, NULL), ('a', 2, NULL)")
    with refused():
        store.execute("THIS IS NOT SQL")
    with refused():
        store.execute("SELECT * FROM no_such_table")
    assert store.execute("SELECT * FROM things") == [{"id": "a", "n": 1, "note": None}]


def case_a_refused_statement_may_be_caught_inside_a_transaction(store: Store) -> None:
    store.execute(_TABLE)

    def work() -> None:
        _insert(store, "a")
        with refused():
            _insert(store, "a")
        _insert(store, "b")

    store.transaction(work)
    assert _ids(store) == ["a", "b"]


def case_strict_tables_refuse_values_of_the_wrong_type(store: Store) -> None:
    store.execute(_TABLE)
    with refused():
        store.execute("INSERT INTO things VALUES ('a', 'not a number', NULL)")
    with refused():
        store.execute("INSERT INTO things VALUES ('a', ?, NULL)", 1.5)
    assert _ids(store) == []


def case_check_and_not_null_are_kept(store: Store) -> None:
    store.execute("CREATE TABLE small (n INTEGER NOT NULL CHECK (n IN (1, 2))) STRICT")
    store.execute("INSERT INTO small VALUES (?)", 2)
    for n in (3, None):
        with refused():
            store.execute("INSERT INTO small VALUES (?)", n)
    assert store.execute("SELECT n FROM small") == [{"n": 2}]


def case_returning_gives_the_rows_that_were_written(store: Store) -> None:
    store.execute(_TABLE)
    written = store.execute("INSERT INTO things VALUES ('a', ?, NULL) RETURNING id, n + 1 AS next", 41)
    assert written == [{"id": "a", "next": 42}]
    assert store.execute("UPDATE things SET n = 7 WHERE id = ? RETURNING *", "a") == [{"id": "a", "n": 7, "note": None}]
    assert store.execute("UPDATE things SET n = 8 WHERE id = 'nobody' RETURNING id") == []
    assert store.execute("DELETE FROM things WHERE n = ? RETURNING id", 7) == [{"id": "a"}]
    assert _ids(store) == []


def case_json_each_unfolds_a_list(store: Store) -> None:
    store.execute(_TABLE)
    for thing in "abc":
        _insert(store, thing)
    names = '["c", "a", "nobody"]'
    assert [row["value"] for row in store.execute("SELECT value FROM json_each(?)", names)] == ["c", "a", "nobody"]
    joined = store.execute(
        "SELECT things.id FROM json_each(?) AS named CROSS JOIN things ON things.id = named.value", names
    )
    assert [row["id"] for row in joined] == ["c", "a"]
    store.execute("DELETE FROM things WHERE id IN (SELECT value FROM json_each(?))", names)
    assert _ids(store) == ["b"]


def case_limit_may_be_a_parameter(store: Store) -> None:
    store.execute(_TABLE)
    for thing in "abcd":
        _insert(store, thing)
    for limit in (0, 1, 3, 100):
        assert len(store.execute("SELECT id FROM things ORDER BY id LIMIT ?", limit)) == min(limit, 4)


def case_min_and_max_of_a_column_and_a_parameter(store: Store) -> None:
    store.execute(_TABLE)
    _insert(store, "a", 50)
    for wanted, kept in ((70, 50), (30, 30), (1_800_000_000_000, 30)):
        store.execute("UPDATE things SET n = min(n, ?)", wanted)
        assert store.execute("SELECT n FROM things") == [{"n": kept}]
    store.execute("UPDATE things SET n = max(n, ?)", 1_800_000_000_000)
    n = store.execute("SELECT n FROM things")[0]["n"]
    assert type(n) is int
    assert n == 1_800_000_000_000


def case_rows_compare_as_pairs(store: Store) -> None:
    store.execute(_TABLE)
    for thing, n in (("a", 1), ("b", 1), ("c", 2), ("d", 3)):
        _insert(store, thing, n)
    after = store.execute("SELECT id FROM things WHERE (n, id) > (?1, ?2) ORDER BY n, id", 1, "a")
    assert [row["id"] for row in after] == ["b", "c", "d"]
    before = store.execute("SELECT id FROM things WHERE (n, id) < (?1, ?2) ORDER BY n DESC, id DESC", 2, "c")
    assert [row["id"] for row in before] == ["b", "a"]


def case_an_upsert_may_have_a_condition(store: Store) -> None:
    store.execute(_TABLE)
    upsert = """
        INSERT INTO things (id, n, note) VALUES (?1, ?2, 'new')
        ON CONFLICT (id) DO UPDATE SET n = ?2, note = coalesce(note, '') || '+' WHERE n < 10
    """
    for n in (1, 20, 30):
        store.execute(upsert, "a", n)
    assert store.execute("SELECT * FROM things") == [{"id": "a", "n": 20, "note": "new+"}]


def case_insert_or_replace_keeps_one_row(store: Store) -> None:
    store.execute(_TABLE)
    for n in (1, 2):
        store.execute("INSERT OR REPLACE INTO things VALUES ('a', ?, NULL)", n)
    assert store.execute("SELECT n FROM things") == [{"n": 2}]


def case_partial_indexes_and_exists(store: Store) -> None:
    store.execute(_TABLE)
    store.execute("CREATE INDEX things_noted ON things (n) WHERE note IS NOT NULL")
    _insert(store, "a", 1, "noted")
    _insert(store, "b", 2)
    assert store.execute("SELECT min(n) AS n FROM things WHERE note IS NOT NULL") == [{"n": 1}]
    found = store.execute(
        "SELECT id FROM things WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM things WHERE id = ?2 AND n = 2)", "a", "b"
    )
    assert found == []


def case_text_is_ordered_by_its_bytes(store: Store) -> None:
    store.execute(_TABLE)
    for thing in ("b", "B", "_", "0", "a-", "a"):
        _insert(store, thing)
    assert _ids(store) == ["0", "B", "_", "a", "a-", "b"]


def case_whatever_writes_says_that_it_wrote(store: Store) -> None:
    """A statement of a query that begins like a read is refused by this number.

    DROP is not here: a Durable Object reports that it wrote nothing.
    """
    assert store.run("CREATE TABLE written (a INTEGER PRIMARY KEY, b TEXT)").rows_written > 0
    assert store.run("INSERT INTO written VALUES (1, 'x'), (2, 'y'), (3, 'z')").rows_written >= 3
    assert store.run("CREATE INDEX written_b ON written (b)").rows_written > 0
    assert store.run("UPDATE written SET b = 'w' WHERE a = 1 RETURNING a").rows_written > 0
    assert store.run("ALTER TABLE written ADD COLUMN c").rows_written > 0
    assert store.run("WITH new (a) AS (SELECT 4) INSERT INTO written (a) SELECT a FROM new").rows_written > 0
    assert store.run("SELECT * FROM written ORDER BY b").rows_written == 0
    assert store.run("DELETE FROM written").rows_written > 0
