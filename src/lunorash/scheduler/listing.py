"""Looking at jobs and pools: one, a page of them, and how the scheduler is doing. Reads only, each bounded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.pool import check_pool_name
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.walking import FAR, Place, check_state, walk

__all__ = ["MAX_PAGE", "SIZE", "check_page", "find", "fitting", "page", "pool", "pools", "records", "status"]

MAX_PAGE: Final = 100
_PAGE_ARGS: Final = 1_000_000  # characters of arguments on one page: it has to fit one answer
_COUNTED: Final = 10_000

_JOB: Final = """
id, incarnation, target, args, state, due, scheduled_for, created, retry, timeout_ms, shard_key, pool, priority,
expires_at, tags, on_complete ->> 'target' AS on_complete,
attempt AS attempts, charged, redrives, cancel_requested, started, ended, error_code, error_message
"""
_BY_IDS: Final = f"SELECT {_JOB} FROM jobs WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
_ANY: Final = JobFilter()

SIZE: Final = "coalesce(size, length(args)) AS size"
"""The column by which `fitting` knows how large arguments are."""

_WAITING: Final = f"""
SELECT count(*) AS n FROM (
    SELECT 1 FROM jobs WHERE state = 'pending' AND pool IS NULL AND due <= ?1
    UNION ALL
    SELECT 1 FROM jobs WHERE state = 'pending' AND pool IS NOT NULL AND due <= ?1
    LIMIT {_COUNTED}
)
"""  # noqa: S608
_OLDEST: Final = """
SELECT min(due) AS due FROM (
    SELECT min(due) AS due FROM jobs WHERE state = 'pending' AND pool IS NULL
    UNION ALL
    SELECT min(due) FROM jobs WHERE state = 'pending' AND pool IS NOT NULL
)
"""
_POOLS: Final = f"""
SELECT name, max_concurrency, paused,
    (SELECT count(*) FROM jobs WHERE pool = name AND state = 'running' AND ended IS NULL) AS in_flight,
    (SELECT count(*) FROM (
        SELECT 1 FROM jobs WHERE pool = name AND state = 'pending' AND ended IS NULL LIMIT {_COUNTED}
    )) AS queued
FROM pools WHERE {{condition}} ORDER BY name LIMIT {{limit}}
"""  # noqa: S608


def find(store: Store, job_id: str) -> dict[str, Any] | None:
    """One job with its last 20 unsuccessful attempts, newest first; None if there is no such job."""
    rows = store.execute(f"SELECT {_JOB} FROM jobs WHERE id = ?", job_id)  # noqa: S608
    if not rows:
        return None
    failures = store.execute(
        """
        SELECT number, incarnation, dispatch, started, ended, outcome, code, message, traceback FROM attempts
        WHERE job = ? ORDER BY number DESC LIMIT 20
        """,
        job_id,
    )
    return {**_record(rows[0]), "failures": failures}


def page(store: Store, states: Sequence[State], cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of jobs in the given states, one state after the other.

    Args:
        store: where they are.
        states: which to list. Those that wait or run come by due time, ended ones newest first.
        cursor: what the page before returned; None for the first page.
        limit: at most so many, 1 to `MAX_PAGE`; fewer when their arguments are large.

    Returns:
        ``{"jobs": [...], "cursor": str | None}``; None on the last page.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a limit, a state or a cursor that cannot be.
    """
    check_page(limit)
    if not states or len(set(states)) != len(states):
        raise LunoraError("INVALID_INPUT", f"states is {shown(states)}; name at least one, and none twice")
    for state in states:
        check_state(state)
    place = Place.before(states[0]) if cursor is None else Place.of_cursor(cursor, states)
    for state in states[states.index(place.state) :]:
        here = place if place.state == state else Place.before(state)
        rows = list(islice(walk(store, state, here.spot, _ANY, SIZE), limit + 1))
        if rows:
            break
    chosen = fitting(rows, limit)
    following = states[states.index(state) + 1 :]
    next_place: Place | None = None
    if len(chosen) < len(rows):
        next_place = here.at(chosen[-1])
    elif following:
        next_place = Place.before(following[0])
    return {"jobs": records(store, chosen), "cursor": next_place and next_place.cursor}


def pool(store: Store, name: str) -> dict[str, Any] | None:
    """How one pool is doing; None if there is none of that name."""
    rows = store.execute(_POOLS.format(condition="name = ?", limit=1), name)
    return _pool(rows[0]) if rows else None


def pools(store: Store, cursor: str | None = None, limit: int = MAX_PAGE) -> dict[str, Any]:
    """A page of pools by name: ``{"pools": [...], "cursor": str | None}``; the cursor is None on the last page.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a limit or a cursor that cannot be.
    """
    check_page(limit)
    after = "" if cursor is None else check_pool_name(cursor)
    rows = store.execute(_POOLS.format(condition="name > ?1", limit="?2"), after, limit + 1)
    found = [_pool(row) for row in rows[:limit]]
    return {"pools": found, "cursor": found[-1]["name"] if len(rows) > limit else None}


def status(store: Store, breaker: Breaker, origin: str, *, now: int, alarm: int | None) -> dict[str, Any]:
    """How the scheduler is doing. Counts stop at 10,000, so that asking costs the same however much is stored."""

    def waiting(until: int) -> int:
        return int(store.execute(_WAITING, until)[0]["n"])

    known = breaker.look(origin)
    dead = store.execute(
        f"SELECT count(*) AS n FROM (SELECT 1 FROM jobs WHERE state = 'dead' AND ended IS NOT NULL LIMIT {_COUNTED})"  # noqa: S608
    )
    running = store.execute(
        """
        SELECT count(*) AS n FROM dispatches, json_each(dispatches.jobs) AS carried
        JOIN jobs ON jobs.id = carried.value WHERE jobs.state = 'running'
        """
    )
    return {
        "now": now,
        "backlog": waiting(FAR),
        "due": waiting(now),
        "in_flight": running[0]["n"],
        "dead": dead[0]["n"],
        "counted_up_to": _COUNTED,
        "next_due": store.execute(_OLDEST)[0]["due"],
        "alarm": alarm,
        "origin": {
            "url": origin or None,
            "reachable": known.probe_at is None,
            "reason": known.reason,
            "unreachable_since": known.since,
            "next_probe": known.probe_at,
            "failed_probes": known.failures,
        },
        "pools": pools(store)["pools"],
    }


def check_page(limit: Any) -> int:
    """Return ``limit`` if a page may hold so many.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:
        raise LunoraError("INVALID_INPUT", f"limit is {shown(limit)}; it must be a whole number from 1 to {MAX_PAGE}")
    return limit


def fitting(rows: Sequence[Row], limit: int) -> list[Row]:
    """The first of some jobs, at most ``limit``, whose arguments together fit a page; one fits always.

    Args:
        rows: jobs with their `SIZE`.
        limit: how many at most.
    """
    total = 0
    for index, row in enumerate(rows[:limit]):
        total += row["size"]
        if index and total > _PAGE_ARGS:
            return list(rows[:index])
    return list(rows[:limit])


def records(store: Store, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """All there is to tell of some jobs, in their order."""
    found = store.execute(_BY_IDS, json.dumps([row["id"] for row in rows])) if rows else []
    by_id = {row["id"]: row for row in found}
    return [_record(by_id[row["id"]]) for row in rows]


def _pool(row: Row) -> dict[str, Any]:
    return {**row, "paused": bool(row["paused"])}


def _record(row: Row) -> dict[str, Any]:
    return {
        **row,
        "retry": json.loads(row["retry"]),
        "tags": json.loads(row["tags"] or "[]"),
        "cancel_requested": bool(row["cancel_requested"]),
    }
