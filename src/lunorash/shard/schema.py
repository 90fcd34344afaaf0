"""The tables of a shard: the library's own, and the app's migrations, applied once each and in order."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from lunorash.errors import LunoraError
from lunorash.scheduler.store import Store

__all__ = ["Migration", "migrate_shard", "statements"]

_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?(?:\*/|$)", re.DOTALL)

Migration = tuple[str, str]
"""A name, such as ``0002_add_plan.sql``, and the SQL."""

_OWN: Final = (
    # Written by the calls of a mutation, in its transaction; deleted when the SchedulerDO has accepted them.
    # AUTOINCREMENT, since a number must never come again.
    """
    CREATE TABLE IF NOT EXISTS _lunora_outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind   TEXT NOT NULL CHECK (kind IN ('schedule', 'cancel')),
        id     TEXT NOT NULL,
        body   TEXT NOT NULL
    ) STRICT
    """,
    # Written with the effects of a job's mutation, in its transaction; deleted a year later.
    """
    CREATE TABLE IF NOT EXISTS _lunora_applied (
        job         TEXT NOT NULL,
        incarnation TEXT NOT NULL,
        result      TEXT NOT NULL,
        at          INTEGER NOT NULL,
        PRIMARY KEY (job, incarnation)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS _lunora_applied_at ON _lunora_applied (at)",
    # In the default shard. Written when a cron job that must not overlap begins, and while it runs; deleted when it has
    # ended. One that a crash has left behind is taken over by the next run.
    """
    CREATE TABLE IF NOT EXISTS _lunora_cron_leases (
        name   TEXT PRIMARY KEY,
        holder TEXT NOT NULL,     -- the id of the run
        until  INTEGER NOT NULL   -- epoch ms
    ) STRICT, WITHOUT ROWID
    """,
    # In the default shard. Written when a run of a cron job begins and ends; deleted by the hundredth run after it.
    """
    CREATE TABLE IF NOT EXISTS _lunora_cron_runs (
        id            TEXT PRIMARY KEY,
        name          TEXT NOT NULL,
        scheduled_for INTEGER NOT NULL,
        trigger       TEXT NOT NULL CHECK (trigger IN ('cron', 'manual')),
        started       INTEGER NOT NULL,
        ended         INTEGER,            -- null while it runs, and for ever if what ran it is gone
        outcome       TEXT NOT NULL CHECK (outcome IN ('running', 'succeeded', 'failed', 'skipped')),
        result        TEXT,               -- JSON
        error_code    TEXT,
        error_message TEXT,
        job           TEXT                -- what it was handed to, to be tried again
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS _lunora_cron_runs_name ON _lunora_cron_runs (name, started, id)",
    "CREATE INDEX IF NOT EXISTS _lunora_cron_runs_started ON _lunora_cron_runs (started, id)",
    # Written with each of the app's migrations; never deleted.
    "CREATE TABLE IF NOT EXISTS _lunora_migrations (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT",
)


def migrate_shard(store: Store, migrations: Sequence[Migration]) -> int:
    """Bring a shard up to date, each migration in a transaction of its own.

    Args:
        store: the shard's.
        migrations: all of the app's, in order. Those that a shard has must be the first of them.

    Returns:
        how many were applied.

    Raises:
        LunoraError: ``MIGRATION_FAILED`` naming the migration and the statement; the shard stays at the one before.
            ``MIGRATION_MISSING`` when the shard has one that the app does not know, or knows elsewhere in the order.
    """

    def create_own() -> None:
        for statement in _OWN:
            store.execute(statement)

    store.transaction(create_own)
    applied = [row["name"] for row in store.execute("SELECT name FROM _lunora_migrations ORDER BY number")]
    known = [name for name, _ in migrations]
    if applied != known[: len(applied)]:
        raise LunoraError(
            "MIGRATION_MISSING",
            f"this shard has had {', '.join(applied)}; the app has {', '.join(known) or 'none'}. "
            "Migrations are added at the end, and are never renamed, reordered or taken away",
        )
    for number, (name, sql) in enumerate(migrations[len(applied) :], len(applied) + 1):
        store.transaction(lambda number=number, name=name, sql=sql: _apply(store, number, name, sql))  # type: ignore[misc]
    return len(migrations) - len(applied)


def statements(sql: str) -> Iterator[str]:
    """Cut a script into its statements, minding strings, comments and triggers.

    Example:
        >>> list(statements("CREATE TABLE t (a); -- one; two\\nINSERT INTO t VALUES (';');"))
        ['CREATE TABLE t (a);', "-- one; two\\nINSERT INTO t VALUES (';');"]
    """
    pending = ""
    for part in sql.split(";"):
        pending += part + ";"
        if sqlite3.complete_statement(pending):
            if _says_something(pending):
                yield pending.strip()
            pending = ""
    if _says_something(pending):
        yield pending.strip()


def _says_something(statement: str) -> bool:
    return bool(_COMMENT.sub("", statement).strip("; \t\r\n\f\v"))


def _apply(store: Store, number: int, name: str, sql: str) -> None:
    for statement in statements(sql):
        try:
            store.execute(statement)
        except Exception as error:
            text = str(getattr(error, "message", None) or error) or type(error).__name__
            raise LunoraError(
                "MIGRATION_FAILED", f"{name}: {text.splitlines()[0][:300]}, in the statement: {statement[:500]}"
            ) from error
    store.execute("INSERT INTO _lunora_migrations VALUES (?, ?)", name, number)
