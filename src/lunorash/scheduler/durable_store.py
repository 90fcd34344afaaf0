"""The engine's store on a Durable Object's SQLite storage.

It calls the platform's own object and not the SDK's wrapper of it, which looks at every value that crosses: that took
most of the time of a statement, and kept a proxy of every transaction for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pyodide.ffi import jsnull, to_js
from workers import python_to_rpc

from lunorash.scheduler.store import Ran, Row, Value

__all__ = ["DurableStore"]

T = TypeVar("T")

_PASSED_AS_THEY_ARE: Final = (str, int, float)
_MAX_KNOWN: Final = 500
_WILDCARD: Final = re.compile(r"\*(?!\))")
"""In a statement whose columns are those of its tables, and change with them."""


class DurableStore:
    """A store on ``ctx.storage`` of a class listed under ``new_sqlite_classes``.

    Args:
        storage: the ``ctx.storage`` of the Durable Object.
    """

    def __init__(self, storage: Any) -> None:
        platform = python_to_rpc(storage)
        self._exec = platform.sql.exec
        self._transaction = platform.transactionSync
        self._names: dict[str, list[str]] = {}

    def run(self, sql: str, /, *params: Value) -> Ran:
        """Run one statement; returns its rows, and how many it wrote."""
        cursor = self._exec(sql, *map(_to_platform, params))
        return Ran(self._rows(sql, cursor), cursor.rowsWritten)

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        """Run one statement and return its rows as dicts."""
        return self._rows(sql, self._exec(sql, *map(_to_platform, params)))

    def _rows(self, sql: str, cursor: Any) -> list[Row]:
        """Read a cursor to its end: one that is left open locks its table.

        A row crosses as a list, since JavaScript takes as long to make an object of it as SQLite to find it.
        """
        rows = cursor.raw().toArray().to_py()
        if not rows:
            return []
        names = self._names.get(sql)
        if names is None:
            names = cursor.columnNames.to_py()
            if len(self._names) < _MAX_KNOWN and not _WILDCARD.search(sql):
                self._names[sql] = names
        return [dict(zip(names, _from_platform(row), strict=True)) for row in rows]

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work`` in ``transactionSync``, which nests and keeps the type of what is raised."""
        results: list[T] = []

        def run() -> None:
            results.append(work())

        self._transaction(run)
        return results[0]


def _to_platform(value: Value) -> Any:
    if isinstance(value, _PASSED_AS_THEY_ARE):
        return value
    return jsnull if value is None else to_js(value)


def _from_platform(row: list[Any]) -> list[Value]:
    values = [None if value is jsnull else value for value in row]
    if memoryview in map(type, values):
        return [bytes(value) if isinstance(value, memoryview) else value for value in values]
    return values
