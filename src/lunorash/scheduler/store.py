"""Where the engine keeps its rows: one interface, two implementations, one conformance suite.

`SqliteStore` is the standard library's; `lunorash.scheduler.durable_store.DurableStore` is a Durable
Object's SQLite. The same SQL runs on both.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

__all__ = ["Ran", "Row", "SqliteStore", "Store", "Value"]

T = TypeVar("T")

Value = str | int | float | bytes | None
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ran:
    """What one statement gave: its rows, and how many rows it wrote."""

    rows: list[Row]
    rows_written: int


class Store(Protocol):
    """Runs SQL, at once and in transactions."""

    def run(self, sql: str, /, *params: Value) -> Ran:
        """Run one statement; returns its rows, and how many it wrote."""
        ...

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        """Run one statement and return its rows, if it has any, as dicts."""
        ...

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work``; keep what it wrote if it returns, undo it if it raises. May be nested."""
        ...


class SqliteStore:
    """A store on the standard library's sqlite3, for tests, simulation and tools.

    Args:
        path: the database file, or ``":memory:"``.
    """

    def __init__(self, path: str = ":memory:") -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._depth = 0

    def run(self, sql: str, /, *params: Value) -> Ran:
        """Run one statement; returns its rows, and how many it wrote."""
        before = self._connection.total_changes + self._schema_version()
        rows = self.execute(sql, *params)
        return Ran(rows, self._connection.total_changes + self._schema_version() - before)

    def _schema_version(self) -> int:
        """Grows by one when a table is made, changed or dropped, which sqlite3 does not count as a change."""
        return int(self._connection.execute("PRAGMA schema_version").fetchone()[0])

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        """Run one statement and return its rows as dicts."""
        return [dict(row) for row in self._connection.execute(sql, params).fetchall()]

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work`` in a transaction, or in a savepoint of the one that is open."""
        name = f"level_{self._depth}"
        self._connection.execute("BEGIN" if self._depth == 0 else f"SAVEPOINT {name}")
        self._depth += 1
        try:
            result = work()
        except BaseException:
            self._connection.execute("ROLLBACK" if self._depth == 1 else f"ROLLBACK TO {name}")
            raise
        else:
            self._connection.execute("COMMIT" if self._depth == 1 else f"RELEASE {name}")
            return result
        finally:
            self._depth -= 1

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
