"""The engine's store on a Durable Object's SQLite storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lunorash.scheduler.store import Ran, Row, Value

__all__ = ["DurableStore"]

T = TypeVar("T")


class DurableStore:
    """A store on ``ctx.storage`` of a class listed under ``new_sqlite_classes``.

    Args:
        storage: the ``ctx.storage`` of the Durable Object.
    """

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def run(self, sql: str, /, *params: Value) -> Ran:
        """Run one statement; returns its rows, and how many it wrote.

        The cursor is always read to its end: one that is left open locks its table.
        """
        cursor = self._storage.sql.exec(sql, *params)
        rows = [
            {name: bytes(value) if isinstance(value, memoryview) else value for name, value in row.items()}
            for row in cursor.toArray()
        ]
        return Ran(rows, cursor.rowsWritten)

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        """Run one statement and return its rows as dicts."""
        return self.run(sql, *params).rows

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work`` in ``transactionSync``, which nests and keeps the type of what is raised."""
        results: list[T] = []

        def run() -> None:
            results.append(work())

        self._storage.transactionSync(run)
        return results[0]
