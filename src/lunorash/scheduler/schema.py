"""The tables of a SchedulerDO, and how an older object is brought up to date.

Each table says who writes a row and who deletes it. Every index is paid for in rows written, so a job without a pool
is in two: one to find what is due, one to find what has ended. A job of a pool pays for two more.
"""

from __future__ import annotations

from typing import Final

from lunorash.errors import LunoraError
from lunorash.scheduler.store import Store

__all__ = ["MIGRATIONS", "migrate"]

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        # Written by schedule, claim, settle, cancel, redrive. Deleted by prune and drop_dead.
        """
        CREATE TABLE jobs (
            id                TEXT PRIMARY KEY,
            incarnation       TEXT NOT NULL,              -- changes with each redrive
            scheduled_as      TEXT NOT NULL,              -- the incarnation of the call that scheduled it
            target            TEXT NOT NULL,
            args              TEXT NOT NULL,              -- JSON
            state             TEXT NOT NULL CHECK (state IN ('pending', 'running', 'succeeded', 'dead', 'canceled')),
            due               INTEGER NOT NULL,           -- epoch ms; a retry moves it
            scheduled_for     INTEGER NOT NULL,           -- epoch ms; what the caller asked for
            created           INTEGER NOT NULL,
            retry             TEXT NOT NULL,              -- JSON of the RetryPolicy
            timeout_ms        INTEGER NOT NULL,
            shard_key         TEXT,
            attempt           INTEGER NOT NULL DEFAULT 0, -- number of the last attempt; never reused
            charged           INTEGER NOT NULL DEFAULT 0, -- attempts that count against the policy
            redrives          INTEGER NOT NULL DEFAULT 0,
            dispatch          TEXT,                       -- the last dispatch whose result would still count
            cancel_requested  INTEGER NOT NULL DEFAULT 0, -- canceled while running
            alone             INTEGER NOT NULL DEFAULT 0, -- its last outcome was unknown
            cut_offs          INTEGER NOT NULL DEFAULT 0, -- times in a row that we ourselves failed to send it
            refunded_at       INTEGER,                    -- when its last dispatch never began; null once one has
            suspected         INTEGER NOT NULL DEFAULT 0, -- refused between two probes that came back: charge it
            unavailable_since INTEGER,                    -- first time in a row that the receiver did not know it
            started           INTEGER,                    -- when the last attempt was claimed
            ended             INTEGER,                    -- when it came to rest; null while pending or running
            error_code        TEXT,
            error_message     TEXT
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX jobs_due ON jobs (due) WHERE state = 'pending'",
        "CREATE INDEX jobs_ended ON jobs (state, ended) WHERE ended IS NOT NULL",
        # Written by claim, begin, renew, sever. Deleted when it is closed.
        """
        CREATE TABLE dispatches (
            id     TEXT PRIMARY KEY,
            origin TEXT NOT NULL,
            opened INTEGER NOT NULL,
            lease  INTEGER NOT NULL,  -- past it, what is unsettled is due again
            began  INTEGER,           -- when the receiver asked whether to run it
            jobs   TEXT NOT NULL      -- JSON list of the ids it carries; empty for a probe
        ) STRICT, WITHOUT ROWID
        """,
        # One row for each attempt that counted and did not succeed. Written by settle; deleted with its job.
        """
        CREATE TABLE attempts (
            job         TEXT NOT NULL,
            number      INTEGER NOT NULL,
            incarnation TEXT NOT NULL,
            dispatch    TEXT,
            started     INTEGER,
            ended       INTEGER NOT NULL,
            code        TEXT NOT NULL,
            message     TEXT NOT NULL,
            PRIMARY KEY (job, number)
        ) STRICT, WITHOUT ROWID
        """,
        # The last row of a shard's outbox that was accepted, written in the transaction that did what it says. Kept.
        """
        CREATE TABLE shards (
            shard    TEXT PRIMARY KEY,
            accepted INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        # Cancels of jobs that are not here, perhaps not yet. Written by cancel; deleted by prune after a day.
        """
        CREATE TABLE tombstones (
            id     TEXT PRIMARY KEY,
            called INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX tombstones_called ON tombstones (called)",
        # The breaker of each origin that ever failed. Written by the breaker; deleted when another origin works.
        """
        CREATE TABLE origins (
            origin    TEXT PRIMARY KEY,
            since     INTEGER,           -- open since; null = closed
            probe_at  INTEGER,           -- when to try it next; null = closed
            failures  INTEGER NOT NULL,  -- probes that failed in a row
            reason    TEXT,
            proved_at INTEGER,           -- when a probe last succeeded
            failed_at INTEGER            -- when a probe last failed
        ) STRICT, WITHOUT ROWID
        """,
    ),
    (
        "ALTER TABLE jobs ADD COLUMN pool TEXT",  # null = none
        "ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0",
        # Written by schedule and by whoever sets a cap, pauses or resumes; ready_at by every change of its jobs. Kept.
        """
        CREATE TABLE pools (
            name            TEXT PRIMARY KEY,
            max_concurrency INTEGER NOT NULL,
            declared        INTEGER,                    -- the cap that code asked for last
            paused          INTEGER NOT NULL DEFAULT 0,
            ready_at        INTEGER                     -- when its next job may start; null = empty, full, paused
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX pools_ready ON pools (ready_at) WHERE ready_at IS NOT NULL",
        # What waits for room in a pool is not met by a pass: it is in an index of its own.
        "DROP INDEX jobs_due",
        "CREATE INDEX jobs_due ON jobs (due) WHERE state = 'pending' AND pool IS NULL",
        "CREATE INDEX jobs_pooled ON jobs (pool, state, priority, due) WHERE pool IS NOT NULL AND ended IS NULL",
        # For lists, which show by their time all that wait.
        "CREATE INDEX jobs_pooled_due ON jobs (due) WHERE state = 'pending' AND pool IS NOT NULL",
    ),
    (
        "ALTER TABLE jobs ADD COLUMN kind TEXT",  # of its function, when it was scheduled; null = unknown, or none
        "ALTER TABLE jobs ADD COLUMN size INTEGER",  # bytes of args; null in rows that are older than this column
        # came as a numbered row of a shard's outbox, and needs no history to be recognised
        "ALTER TABLE jobs ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0",
        # Jobs that have succeeded and, without history, are only kept so that the call that scheduled them is known
        # again. They have no `ended`, and so are in no index: a row here for all that succeeded together is cheaper.
        # Written by settle; deleted by prune, with the jobs.
        """
        CREATE TABLE remembered (
            until INTEGER NOT NULL,
            first TEXT NOT NULL,     -- the first of the jobs
            jobs  TEXT NOT NULL,     -- JSON list of ids
            PRIMARY KEY (until, first)
        ) STRICT, WITHOUT ROWID
        """,
    ),
    (
        "ALTER TABLE jobs ADD COLUMN traceparent TEXT",  # of the request that scheduled it; null = not traced
        # Written every second in which something happens; deleted a day later, but for the totals.
        """
        CREATE TABLE statistics (
            minute INTEGER PRIMARY KEY,  -- epoch ms of its beginning; 0 = the totals, by pool
            counts TEXT NOT NULL         -- JSON
        ) STRICT
        """,
    ),
    (
        # A job may expire: the states are a check of the table, which SQLite only changes by making it anew. Columns
        # that are new: expires_at, tags, on_complete.
        """
        CREATE TABLE jobs_with_outcomes (
            id                TEXT PRIMARY KEY,
            incarnation       TEXT NOT NULL,
            scheduled_as      TEXT NOT NULL,
            target            TEXT NOT NULL,
            args              TEXT NOT NULL,
            state             TEXT NOT NULL
                CHECK (state IN ('pending', 'running', 'succeeded', 'dead', 'canceled', 'expired')),
            due               INTEGER NOT NULL,
            scheduled_for     INTEGER NOT NULL,
            created           INTEGER NOT NULL,
            retry             TEXT NOT NULL,
            timeout_ms        INTEGER NOT NULL,
            shard_key         TEXT,
            attempt           INTEGER NOT NULL DEFAULT 0,
            charged           INTEGER NOT NULL DEFAULT 0,
            redrives          INTEGER NOT NULL DEFAULT 0,
            dispatch          TEXT,
            cancel_requested  INTEGER NOT NULL DEFAULT 0,
            alone             INTEGER NOT NULL DEFAULT 0,
            cut_offs          INTEGER NOT NULL DEFAULT 0,
            refunded_at       INTEGER,
            suspected         INTEGER NOT NULL DEFAULT 0,
            unavailable_since INTEGER,
            started           INTEGER,
            ended             INTEGER,
            error_code        TEXT,
            error_message     TEXT,
            pool              TEXT,
            priority          INTEGER NOT NULL DEFAULT 0,
            kind              TEXT,
            size              INTEGER,
            numbered          INTEGER NOT NULL DEFAULT 0,
            traceparent       TEXT,
            expires_at        INTEGER,  -- epoch ms; from then on it is not started any more
            tags              TEXT,     -- JSON list of texts, sorted, none twice; null for none
            on_complete       TEXT      -- JSON of the function to call when it ends, {"target", "kind"}
        ) STRICT, WITHOUT ROWID
        """,
        """
        INSERT INTO jobs_with_outcomes
            (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry, timeout_ms,
             shard_key, attempt, charged, redrives, dispatch, cancel_requested, alone, cut_offs, refunded_at, suspected,
             unavailable_since, started, ended, error_code, error_message, pool, priority, kind, size, numbered,
             traceparent)
        SELECT
            id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry, timeout_ms,
            shard_key, attempt, charged, redrives, dispatch, cancel_requested, alone, cut_offs, refunded_at, suspected,
            unavailable_since, started, ended, error_code, error_message, pool, priority, kind, size, numbered,
            traceparent
        FROM jobs
        """,
        "DROP TABLE jobs",
        "ALTER TABLE jobs_with_outcomes RENAME TO jobs",
        "CREATE INDEX jobs_due ON jobs (due) WHERE state = 'pending' AND pool IS NULL",
        "CREATE INDEX jobs_ended ON jobs (state, ended) WHERE ended IS NOT NULL",
        "CREATE INDEX jobs_pooled ON jobs (pool, state, priority, due) WHERE pool IS NOT NULL AND ended IS NULL",
        "CREATE INDEX jobs_pooled_due ON jobs (due) WHERE state = 'pending' AND pool IS NOT NULL",
        "ALTER TABLE attempts ADD COLUMN outcome TEXT NOT NULL DEFAULT 'failed'",
        "ALTER TABLE attempts ADD COLUMN traceback TEXT",
        "UPDATE attempts SET outcome = 'unknown' WHERE code = 'OUTCOME_UNKNOWN'",
        "UPDATE attempts SET outcome = 'never_began' WHERE code = 'NEVER_BEGAN'",
        # One row: how many jobs are kept as history. Written by every operation in which one ends or is pruned. Kept.
        "CREATE TABLE history (kept INTEGER NOT NULL) STRICT",
        "INSERT INTO history SELECT count(*) FROM jobs WHERE ended IS NOT NULL AND state IN ('succeeded', 'canceled')",
    ),
)
"""Numbered from 1. Add to the end, never change one that was released."""


def migrate(store: Store) -> int:
    """Bring the tables to the newest version, each migration in a transaction of its own.

    Returns:
        the version, which is the number of migrations.

    Raises:
        LunoraError: ``INTERNAL`` when the tables come from a newer release than this code.
    """
    store.execute(
        "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID"
    )
    found = store.execute("SELECT value FROM meta WHERE key = 'schema_version'")
    version: int = found[0]["value"] if found else 0
    if version > len(MIGRATIONS):
        raise LunoraError(
            "INTERNAL",
            f"the scheduler's tables are of version {version}, this code knows {len(MIGRATIONS)}: "
            "an older release was deployed over a newer one; deploy the newer one again",
        )
    for number in range(version + 1, len(MIGRATIONS) + 1):

        def apply(number: int = number) -> None:
            for statement in MIGRATIONS[number - 1]:
                store.execute(statement)
            store.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", number)

        store.transaction(apply)
    return len(MIGRATIONS)
