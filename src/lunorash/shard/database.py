"""``ctx.db``: the SQLite database of a shard, as functions see it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.scheduler.store import Ran
from lunorash.shard.schema import statements

__all__ = ["INTERNAL_PREFIX", "Database"]

INTERNAL_PREFIX: Final = "_lunora_"
_MAX_INT: Final = 2**53 - 2  # a Durable Object takes no larger integer as a parameter
_FIRST_WORD: Final = re.compile(
    # what SQLite passes over before the first word: blanks, semicolons, a byte order mark, comments, EXPLAIN
    r"(?>(?:[\s;\ufeff]|--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$)|EXPLAIN\b|QUERY\s+PLAN\b)*)(\w+)",
    re.IGNORECASE | re.DOTALL,
)
_CONTROL: Final = frozenset(
    {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "ATTACH", "DETACH", "VACUUM"}
)
_READS: Final = frozenset({"SELECT", "VALUES", "WITH"})
"""How a statement begins that may read only. Whether one WITH writes is seen by what it wrote; a Durable Object
reports nothing written by DROP."""
_NUMBERS: Final = "sqlite_sequence"
"""SQLite's own table of the numbers that have been used; the outbox depends on its own."""


class Database:
    """The database of a shard, for the duration of one call.

    Args:
        sql: runs one statement.
        read_only: whether writes are refused.
    """

    def __init__(self, sql: Callable[..., Ran], *, read_only: bool) -> None:
        self._sql: Callable[..., Ran] | None = sql
        self._read_only = read_only
        self.refused: LunoraError | None = None

    def execute(self, sql: str, /, *params: Any) -> int:
        """Run a statement.

        Args:
            sql: one statement, with a ``?`` for each parameter.
            params: None, bool, int, float, str or bytes; at most 100.

        Returns:
            how many rows it wrote, those of indexes included.

        Raises:
            LunoraError: ``SQL_FAILED`` with what SQLite says, ``SQL_REFUSED`` for what a function may not do,
                ``INVALID_INPUT`` for a parameter that SQLite cannot store, ``QUERY_WROTE`` in a query.
        """
        return self._run(sql, params).rows_written

    def fetch_all(self, sql: str, /, *params: Any) -> list[dict[str, Any]]:
        """Run a statement and return its rows, each a dict by column. Raises as `execute` does."""
        return self._run(sql, params).rows

    def fetch_one(self, sql: str, /, *params: Any) -> dict[str, Any] | None:
        """Run a statement and return its first row; None if there is none. Raises as `execute` does."""
        rows = self._run(sql, params).rows
        return rows[0] if rows else None

    def close(self) -> None:
        """The call is over: whatever still holds this object can do nothing with it."""
        self._sql = None

    def _run(self, sql: str, params: tuple[Any, ...]) -> Ran:
        run = self._sql
        if run is None:
            raise LunoraError(
                "SQL_REFUSED",
                "ctx.db is used after its call has ended, or outside of it; keep to the function's own body",
            )
        lowered = sql.lower()
        if INTERNAL_PREFIX in lowered or _NUMBERS in lowered:
            raise LunoraError(
                "SQL_REFUSED", f"tables whose names begin with {INTERNAL_PREFIX}, and {_NUMBERS}, belong to the library"
            )
        found = _FIRST_WORD.match(sql)
        word = found[1].upper() if found else ""
        if word in _CONTROL:
            raise LunoraError("SQL_REFUSED", f"{word} cannot be used: each mutation is a transaction, and ends as one")
        if ";" in sql and _count(sql) > 1:
            raise LunoraError(
                "SQL_REFUSED", f"there is more than one statement; run each by itself (in {shown(sql.strip())})"
            )
        if self._read_only and word and word not in _READS:
            raise self._refuse(sql)
        values = [_parameter(value, number) for number, value in enumerate(params, 1)]
        try:
            ran = run(sql, *values)
        except Exception as error:
            text = str(getattr(error, "message", None) or error) or type(error).__name__
            raise LunoraError("SQL_FAILED", f"{text.splitlines()[0][:300]} (in {shown(sql.strip())})") from error
        if self._read_only and ran.rows_written:
            raise self._refuse(sql)
        return ran

    def _refuse(self, sql: str) -> LunoraError:
        self.refused = LunoraError(
            "QUERY_WROTE", f"a query may only read; make it a mutation (in {shown(sql.strip())})"
        )
        return self.refused


def _count(sql: str) -> int:
    try:
        return len(list(statements(sql)))
    except ValueError:  # a NUL, or half a surrogate pair: SQLite itself says what it thinks of that
        return 1


def _parameter(value: Any, number: int) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and math.isnan(value):
        raise LunoraError("INVALID_INPUT", f"parameter {number} is nan, which SQLite would store as NULL; pass None")
    if value is None or isinstance(value, float | str | bytes):
        return value
    if isinstance(value, int):
        if abs(value) > _MAX_INT:
            raise LunoraError("INVALID_INPUT", f"parameter {number} is {shown(value)}, beyond 2**53; store it as text")
        return value
    raise LunoraError(
        "INVALID_INPUT",
        f"parameter {number} is of type {type(value).__name__}; SQLite stores None, bool, int, float, str and bytes",
    )
