"""All SQL of the engine. Each statement runs on Durable Object SQLite and on sqlite3 alike.

Tests check that each finds its rows by the primary key or an index: cost per job does not grow with what
is stored.
"""

from __future__ import annotations

from typing import Final

# -- schedule, cancel, redrive, drop ---------------------------------------------------------------------

# Whether somebody is to hear of its ending. Not by IS NOT NULL: SQLite 3.40 answers 1, whatever the column holds, to an
# UPDATE of a table without rowids.
_COMPLETES: Final = "typeof(on_complete) = 'text' AS completes"

HOLDER_OF_ID: Final = "SELECT scheduled_as, state FROM jobs WHERE id = ?"

_NEW: Final = [f"json_extract(value, '$[{number}]')" for number in range(20)]

INSERT: Final = """
INSERT INTO jobs
    (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry, timeout_ms, shard_key,
     attempt, charged, pool, priority, kind, size, numbered, traceparent, expires_at, tags, on_complete)
VALUES
    (?1, ?2, ?2, ?3, ?4, 'pending', ?5, coalesce(?11, ?5), ?6, ?7, ?8, ?9, ?10, ?10, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
     ?19, ?20)
"""

# The same for a JSON list of lists of its parameters.
INSERT_ALL: Final = f"""
INSERT INTO jobs
    (id, incarnation, scheduled_as, target, args, state, due, scheduled_for, created, retry, timeout_ms, shard_key,
     attempt, charged, pool, priority, kind, size, numbered, traceparent, expires_at, tags, on_complete)
SELECT
    {_NEW[0]}, {_NEW[1]}, {_NEW[1]}, {_NEW[2]}, {_NEW[3]}, 'pending', {_NEW[4]}, coalesce({_NEW[10]}, {_NEW[4]}),
    {_NEW[5]}, {_NEW[6]}, {_NEW[7]}, {_NEW[8]}, {_NEW[9]}, {_NEW[9]}, {_NEW[11]}, {_NEW[12]},
    {_NEW[13]}, {_NEW[14]}, {_NEW[15]}, {_NEW[16]}, {_NEW[17]}, {_NEW[18]}, {_NEW[19]}
FROM json_each(?)
"""  # noqa: S608 - only constants are pasted

HOLDERS_OF_IDS: Final = """
SELECT id, scheduled_as, state FROM jobs WHERE id IN (SELECT value FROM json_each(?))
"""

CANCEL_PENDING: Final = f"""
UPDATE jobs SET state = 'canceled', ended = ?, dispatch = NULL WHERE id = ? AND state = 'pending'
RETURNING id, incarnation, target, pool, traceparent, {_COMPLETES}
"""  # noqa: S608

REQUEST_CANCEL: Final = "UPDATE jobs SET cancel_requested = 1 WHERE id = ? AND state = 'running' RETURNING id"

RUN_NOW: Final = "UPDATE jobs SET due = min(due, ?) WHERE id = ? AND state = 'pending' RETURNING pool"

_REDRIVEN: Final = """
    state = 'pending', due = ?2, charged = 0, redrives = redrives + 1, dispatch = NULL, alone = 0, cut_offs = 0,
    refunded_at = NULL, suspected = 0, unavailable_since = NULL, ended = NULL
"""

REDRIVE: Final = f"""
UPDATE jobs SET incarnation = ?1, {_REDRIVEN} WHERE id = ?3 AND state = 'dead'
RETURNING id, incarnation, target, pool, traceparent
"""  # noqa: S608 - only constants are pasted

DROP_DEAD: Final = """
DELETE FROM jobs WHERE id = ? AND state = 'dead' RETURNING id, incarnation, target, pool, traceparent
"""

# -- the same to many, by a JSON list of their ids -------------------------------------------------------

CANCEL_ALL_PENDING: Final = f"""
UPDATE jobs SET state = 'canceled', ended = ?, dispatch = NULL
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'pending'
RETURNING id, {_COMPLETES}
"""  # noqa: S608

REQUEST_ALL_CANCELS: Final = """
UPDATE jobs SET cancel_requested = 1 WHERE id IN (SELECT value FROM json_each(?)) AND state = 'running'
"""

# By a JSON object of ids and their new incarnations.
REDRIVE_ALL: Final = f"""
UPDATE jobs SET incarnation = chosen.value, {_REDRIVEN}
FROM json_each(?1) AS chosen WHERE jobs.id = chosen.key AND jobs.state = 'dead'
"""  # noqa: S608

DROP_ALL_DEAD: Final = "DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?)) AND state = 'dead'"

# -- what shards hand over -------------------------------------------------------------------------------

ACCEPTED: Final = "SELECT accepted FROM shards WHERE shard = ?"

ACCEPT: Final = "INSERT OR REPLACE INTO shards VALUES (?, ?)"

BURY: Final = """
INSERT INTO tombstones VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET called = max(called, ?2)
"""

BURIED_AFTER: Final = "SELECT 1 FROM tombstones WHERE id = ? AND called > ?"

BURIED_AFTER_OF: Final = """
SELECT id FROM tombstones WHERE id IN (SELECT value FROM json_each(?)) AND called > ?
"""

PRUNE_TOMBSTONES: Final = """
DELETE FROM tombstones WHERE id IN (SELECT id FROM tombstones WHERE called <= ? ORDER BY called LIMIT ?)
"""

REFUSE: Final = f"""
UPDATE jobs SET state = 'dead', ended = ?, error_code = ?, error_message = ? WHERE id = ? AND state = 'pending'
RETURNING id, {_COMPLETES}
"""  # noqa: S608

# -- claim -----------------------------------------------------------------------------------------------

# What is needed to put a job into a batch; its arguments are read when it is claimed. It travels alone if nobody knows
# how it ended last time, if its dispatch did not begin or was cut off again and again, and if no attempt is left after
# this one: so nobody dies of a neighbour.
_WAITING: Final = """
id, due, priority, pool, kind, shard_key, coalesce(size, 1000000) AS size, suspected, refunded_at, expires_at,
alone OR refunded_at IS NOT NULL OR cut_offs > 1 OR charged >= retry ->> 'max_attempts' AS lone
"""

DUE: Final = f"""
SELECT {_WAITING} FROM jobs WHERE state = 'pending' AND pool IS NULL AND due <= ? ORDER BY due, id LIMIT ?
"""  # noqa: S608 - only constants are pasted

CLAIM: Final = f"""
UPDATE jobs
SET state = 'running', dispatch = ?, attempt = attempt + 1, charged = charged + 1, started = ?
WHERE id IN (SELECT value FROM json_each(?))
RETURNING id, incarnation, attempt, charged, retry, redrives, target, args, due, scheduled_for, timeout_ms, shard_key,
    pool, traceparent, {_COMPLETES}
"""  # noqa: S608

# What of those that may start has come too late. `dispatch` stays: if nobody knows how the last attempt ended, its
# success still counts.
EXPIRE: Final = f"""
UPDATE jobs SET state = 'expired', ended = ?, error_code = ?, error_message = ?
WHERE id IN (SELECT value FROM json_each(?)) AND state = 'pending'
RETURNING id, incarnation, target, pool, traceparent, {_COMPLETES}
"""  # noqa: S608

OPEN_DISPATCH: Final = "INSERT INTO dispatches (id, origin, opened, lease, jobs) VALUES (?, ?, ?, ?, ?)"

# -- pools -----------------------------------------------------------------------------------------------

JOIN_POOL: Final = "INSERT INTO pools (name, max_concurrency) VALUES (?, ?) ON CONFLICT (name) DO NOTHING"

DECLARE_POOL: Final = """
INSERT INTO pools (name, max_concurrency, declared) VALUES (?1, ?2, ?2)
ON CONFLICT (name) DO UPDATE SET max_concurrency = ?2, declared = ?2 WHERE declared IS NOT ?2
"""

KNOWN_POOL: Final = "SELECT 1 FROM pools WHERE name = ?"

SET_POOL: Final = """
UPDATE pools SET paused = coalesce(?, paused), max_concurrency = coalesce(?, max_concurrency) WHERE name = ?
"""

_RUNNING_IN_POOL: Final = "SELECT count(*) FROM jobs WHERE pool = name AND state = 'running' AND ended IS NULL"

# Goes from each priority that is in use to the next one: by the index, whatever waits at each.
_PRIORITIES: Final = """
WITH RECURSIVE levels (priority) AS (
    SELECT max(priority) FROM jobs WHERE pool = ?1 AND state = 'pending' AND ended IS NULL
    UNION ALL
    SELECT (
        SELECT max(priority) FROM jobs
        WHERE pool = ?1 AND state = 'pending' AND ended IS NULL AND priority < levels.priority
    ) FROM levels WHERE levels.priority IS NOT NULL
)
"""

PRIORITIES_IN_POOL: Final = f"{_PRIORITIES} SELECT priority FROM levels WHERE priority IS NOT NULL"  # noqa: S608

DUE_IN_POOL: Final = f"""
SELECT {_WAITING} FROM jobs WHERE pool = ? AND state = 'pending' AND ended IS NULL AND priority = ? AND due <= ?
ORDER BY due, id LIMIT ?
"""  # noqa: S608

# The limit keeps what is found from being found twice.
REFRESH_POOL: Final = f"""
UPDATE pools SET ready_at = next.due FROM (
    SELECT CASE WHEN paused = 0 AND max_concurrency > ({_RUNNING_IN_POOL}) THEN (
        {_PRIORITIES}
        SELECT min((
            SELECT min(due) FROM jobs
            WHERE pool = ?1 AND state = 'pending' AND ended IS NULL AND priority = levels.priority
        )) FROM levels
    ) END AS due FROM pools WHERE name = ?1 LIMIT 1
) AS next WHERE name = ?1 AND ready_at IS NOT next.due
"""  # noqa: S608 - only constants are pasted

READY_POOLS: Final = f"""
SELECT name, max_concurrency - ({_RUNNING_IN_POOL}) AS room FROM pools
WHERE ready_at <= ? ORDER BY ready_at, name LIMIT ?
"""  # noqa: S608

# -- what happens to a dispatch --------------------------------------------------------------------------

BEGIN: Final = """
UPDATE dispatches SET began = ?, lease = ? WHERE id = ? AND began IS NULL AND lease > ? RETURNING id
"""

RENEW: Final = "UPDATE dispatches SET lease = ? WHERE id = ?"

SEVER: Final = "UPDATE dispatches SET lease = min(lease, ?) WHERE id = ?"

SEVER_ALL: Final = "UPDATE dispatches SET lease = min(lease, ?)"

CLOSE_DISPATCH: Final = "DELETE FROM dispatches WHERE id = ? RETURNING *"

CLOSE_UNBEGUN: Final = "DELETE FROM dispatches WHERE id = ? AND began IS NULL RETURNING *"

CLOSE_ALL_UNBEGUN: Final = "DELETE FROM dispatches WHERE began IS NULL RETURNING *"

CLOSE_EXPIRED: Final = "DELETE FROM dispatches WHERE lease <= ? RETURNING *"

# -- what becomes of an attempt --------------------------------------------------------------------------

# What is needed to judge how an attempt ended: all of the row but its arguments.
_JUDGED: Final = f"""
jobs.id, incarnation, state, due, created, retry, attempt, charged, dispatch, cancel_requested, alone, cut_offs,
refunded_at, unavailable_since, started, error_message, pool, numbered, target, traceparent, expires_at,
{_COMPLETES}
"""

AWAITING: Final = f"""
SELECT {_JUDGED}, told.value ->> 1 AS told FROM json_each(?1) AS told CROSS JOIN jobs ON jobs.id = told.value ->> 0
WHERE dispatch = ?2 AND attempt = told.value ->> 1 AND state IN ('running', 'pending', 'dead', 'expired')
  AND NOT EXISTS (SELECT 1 FROM dispatches WHERE id = ?2 AND began IS NULL)
"""  # noqa: S608

RUNNING_IN: Final = f"""
SELECT {_JUDGED} FROM json_each(?) AS carried CROSS JOIN jobs ON jobs.id = carried.value
WHERE jobs.state = 'running' AND jobs.dispatch = ?
"""  # noqa: S608

SUSPECT: Final = f"SELECT {_JUDGED} FROM jobs WHERE id = ?"  # noqa: S608

RECORD_ATTEMPT: Final = """
INSERT OR REPLACE INTO attempts
    (job, number, incarnation, dispatch, started, ended, outcome, code, message, traceback)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# The same as an `END_ATTEMPT` for each would do.
SUCCEED: Final = """
UPDATE jobs
SET state = 'succeeded', alone = 0, dispatch = NULL, cut_offs = 0, refunded_at = NULL, suspected = 0,
    unavailable_since = NULL, ended = ?, error_code = NULL, error_message = NULL
WHERE id IN (SELECT value FROM json_each(?))
"""

FORGET: Final = "DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))"

REMEMBER: Final = "INSERT OR REPLACE INTO remembered VALUES (?, ?, ?)"

END_ATTEMPT: Final = """
UPDATE jobs
SET state = ?, due = ?, charged = ?, alone = ?, dispatch = ?, cut_offs = ?, refunded_at = ?, suspected = ?,
    unavailable_since = ?, ended = ?, error_code = ?, error_message = ?
WHERE id = ?
"""

# What is told of jobs that have ended to the functions that want to hear of it.
ENDED: Final = """
SELECT id, incarnation, target, scheduled_for, attempt, tags, shard_key, on_complete, error_code, error_message,
    traceparent
FROM jobs WHERE id IN (SELECT value FROM json_each(?))
"""

# -- when to wake ----------------------------------------------------------------------------------------

OPEN_DISPATCHES: Final = "SELECT count(*) AS open FROM dispatches"

# All of it in one statement, since every operation asks. ``due`` is of jobs without a pool, ``ready_at`` of the others.
WHEN_TO_WAKE: Final = """
SELECT
    (SELECT count(*) FROM dispatches) AS open,
    (SELECT min(lease) FROM dispatches) AS lease,
    (SELECT min(due) FROM jobs WHERE state = 'pending' AND pool IS NULL) AS due,
    (SELECT min(ready_at) FROM pools WHERE ready_at IS NOT NULL) AS ready_at,
    (SELECT min(ended) FROM jobs WHERE state = 'succeeded' AND ended IS NOT NULL) AS succeeded,
    (SELECT min(ended) FROM jobs WHERE state = 'canceled' AND ended IS NOT NULL) AS canceled,
    (SELECT min(ended) FROM jobs WHERE state = 'expired' AND ended IS NOT NULL) AS expired,
    (SELECT min(ended) FROM jobs WHERE state = 'dead' AND ended IS NOT NULL) AS dead,
    (SELECT min(until) FROM remembered) AS remembered,
    (SELECT min(called) FROM tombstones) AS buried,
    (SELECT kept FROM history) AS kept
"""

# -- prune -----------------------------------------------------------------------------------------------

PRUNE: Final = """
DELETE FROM jobs WHERE id IN (
    SELECT id FROM (
        SELECT id FROM jobs WHERE state = 'succeeded' AND ended IS NOT NULL AND ended <= ?1
        UNION ALL
        SELECT id FROM jobs WHERE state = 'canceled' AND ended IS NOT NULL AND ended <= ?2
        UNION ALL
        SELECT id FROM jobs WHERE state = 'expired' AND ended IS NOT NULL AND ended <= ?2
        UNION ALL
        SELECT id FROM jobs WHERE state = 'dead' AND ended IS NOT NULL AND ended <= ?3
    ) LIMIT ?4
) RETURNING id, state
"""

PRUNE_OLDEST: Final = """
DELETE FROM jobs WHERE id IN (
    SELECT id FROM (
        SELECT id, ended FROM jobs WHERE state = 'succeeded' AND ended IS NOT NULL AND ended <= ?1
        UNION ALL
        SELECT id, ended FROM jobs WHERE state = 'canceled' AND ended IS NOT NULL AND ended <= ?1
        UNION ALL
        SELECT id, ended FROM jobs WHERE state = 'expired' AND ended IS NOT NULL AND ended <= ?1
        ORDER BY ended LIMIT ?2
    )
) RETURNING id
"""

HISTORY: Final = "SELECT kept FROM history"

ADD_TO_HISTORY: Final = "UPDATE history SET kept = max(0, kept + ?)"

PRUNE_REMEMBERED: Final = """
DELETE FROM remembered WHERE (until, first) IN (
    SELECT until, first FROM remembered WHERE until <= ? ORDER BY until, first LIMIT ?
) RETURNING jobs
"""

DELETE_ATTEMPTS: Final = "DELETE FROM attempts WHERE job IN (SELECT value FROM json_each(?))"

# -- statistics ------------------------------------------------------------------------------------------

STATISTICS: Final = "SELECT minute, counts FROM statistics WHERE minute BETWEEN ? AND ? ORDER BY minute"

COUNT: Final = "INSERT OR REPLACE INTO statistics VALUES (?, ?)"

PRUNE_STATISTICS: Final = """
DELETE FROM statistics WHERE minute IN (
    SELECT minute FROM statistics WHERE minute > 0 AND minute <= ? ORDER BY minute LIMIT ?
)
"""
