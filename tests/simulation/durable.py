"""What of a Durable Object survives a crash: its rows and its alarm, changed together or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lunorash.scheduler.store import Row, SqliteStore, Value

from .process import Crash, Process

__all__ = ["CountedStore", "DurableStorage", "ObjectStore"]

if TYPE_CHECKING:
    from lunorash.scheduler.store import Ran

T = TypeVar("T")


class CountedStore(SqliteStore):
    """Rows in memory that say whether they have changed, so that whoever watches them looks again only then."""

    def __init__(self) -> None:
        super().__init__()
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._undone = 0
        self._cursor = self._connection.cursor()
        self._cursor.row_factory = None
        self._columns: dict[str, list[str]] = {}
        """Of each statement, which are dear to find out; so are rows that are not tuples."""

    @property
    def version(self) -> int:
        """Grows whenever a row changes, and when changes are undone."""
        return self._connection.total_changes + self._undone

    def touched(self, table: str, key: str) -> dict[str, None]:
        """A set, in order, to which the keys of a table's rows are added from now on as they are written."""
        keys: dict[str, None] = {}
        self._connection.create_function(f"touch_{table}", 1, keys.setdefault)
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            self._connection.execute(
                f"CREATE TEMP TRIGGER touch_{table}_{event} AFTER {event} ON main.{table} "
                f"BEGIN SELECT touch_{table}({row}.{key}); END"
            )
        return keys

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        """Run one statement and return its rows as dicts."""
        cursor = self._cursor
        cursor.execute(sql, params)
        rows = cursor.fetchall()
        if not rows:
            return rows
        names = self._columns.get(sql)
        if names is None or len(names) != len(rows[0]):
            names = self._columns[sql] = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work`` in a transaction, or in a savepoint of the one that is open."""
        try:
            return super().transaction(work)
        except BaseException:
            self._undone += 1
            raise


class DurableStorage:
    """The storage of one object."""

    def __init__(self) -> None:
        self.rows = CountedStore()
        self.alarm: int | None = None
        self.alarm_version = 0
        """Counts the times it was set or deleted."""


class ObjectStore:
    """The storage as one life of the object sees it; a `Store`.

    Args:
        storage: outlives it.
        process: the life. When it has ended nothing can be read or written.
        crash_point: called at the edges of transactions; may raise.
        committed: called after each transaction.
    """

    def __init__(
        self,
        storage: DurableStorage,
        process: Process,
        *,
        crash_point: Callable[[str], None],
        committed: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._process = process
        self._crash_point = crash_point
        self._committed = committed
        self.open = False
        self.execute = storage.rows.execute
        """Runs one statement: the storage's own, until the life ends, since there are so many of them."""
        process.deaths.append(lambda: setattr(self, "execute", self._dead))

    def _dead(self, sql: str, /, *params: Value) -> list[Row]:
        raise Crash(self._process.name)

    def run(self, sql: str, /, *params: Value) -> Ran:
        """Run one statement, and count what it wrote."""
        self._process.check()
        return self._storage.rows.run(sql, *params)

    def transaction(self, work: Callable[[], T], /) -> T:
        """Run ``work`` in a transaction that may be cut off by a crash, before its end or just after it."""
        self._process.check()
        if self.open:
            return self._storage.rows.transaction(work)

        def body() -> T:
            result = work()
            self._crash_point("before a commit")
            return result

        storage = self._storage
        alarm = storage.alarm, storage.alarm_version
        self.open = True
        try:
            result = storage.rows.transaction(body)
        except BaseException:
            storage.alarm, storage.alarm_version = alarm
            raise
        finally:
            self.open = False
        self._committed()
        self._crash_point("after a commit")
        return result
