"""Finds jobs by what they are: a page of them, how many there are, and what dead letters died of.

A filter is no access path, as in `lunorash.scheduler.bulk`: jobs are gone through by an index and looked at one by one,
and each call looks at a bounded number of them.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.listing import SIZE, check_page, fitting, records
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.walking import Order, Spot, check_order, count_jobs, walk_together

__all__ = ["MAX_COUNTED", "MAX_GROUPS", "MAX_LOOKED_AT", "count", "dead_groups", "jobs"]

MAX_LOOKED_AT: Final = 2_000
"""Jobs that one page looks at."""

MAX_COUNTED: Final = 10_000
"""Jobs that a count looks at."""

MAX_GROUPS: Final = 100

# Beside max(), SQLite takes the other columns from the row that has it.
_GROUPS: Final = f"""
SELECT target, error_code, count(*) AS count, max(ended) AS newest, id AS example_id, error_message AS example_message
FROM (
    SELECT target, error_code, ended, id, error_message FROM jobs WHERE state = 'dead' AND ended IS NOT NULL
    ORDER BY ended DESC, id DESC LIMIT {MAX_COUNTED}
)
GROUP BY target, error_code ORDER BY count DESC, newest DESC, target LIMIT {MAX_GROUPS + 1}
"""  # noqa: S608 - only constants are pasted


def jobs(store: Store, wanted: JobFilter, order: Order, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of the jobs that a filter chooses, all states in one line by when they ended, or else are due.

    Args:
        store: where they are.
        wanted: which.
        order: ``"newest"`` for the latest instant first, or ``"soonest"``.
        cursor: what the page before returned; None for the first page.
        limit: at most so many, 1 to `lunorash.scheduler.listing.MAX_PAGE`; fewer when their arguments are large, or
            when `MAX_LOOKED_AT` have been looked at.

    Returns:
        ``{"jobs": [...], "cursor": str | None, "scanned": int}``; the cursor is None on the last page.

    Raises:
        LunoraError: ``INVALID_INPUT`` for an order, a cursor or a limit that cannot be.
    """
    check_page(limit)
    spot = Spot.before(check_order(order)) if cursor is None else Spot.of_cursor(cursor, order)
    rows = walk_together(store, wanted.states, spot, wanted, SIZE)
    found: list[Row] = []
    scanned = 0
    for row in islice(rows, MAX_LOOKED_AT):
        scanned += 1
        spot = spot.at(row)
        if wanted.passes(row):
            found.append(row)
        if len(found) == limit:
            break
    more = next(rows, None) is not None
    chosen = fitting(found, limit)
    if len(chosen) < len(found):
        spot, more = spot.at(chosen[-1]), True
    return {"jobs": records(store, chosen), "cursor": spot.cursor if more else None, "scanned": scanned}


def count(store: Store, wanted: JobFilter) -> dict[str, Any]:
    """How many jobs a filter chooses: ``{"count": int, "exact": bool}``.

    `MAX_COUNTED` jobs are looked at. If there are more, there may be more that are chosen, and it is not exact.
    """
    if wanted.asks_only_when:
        counted = 0
        for state in wanted.states:
            counted += count_jobs(store, state, wanted, MAX_COUNTED + 1 - counted)
        return {"count": min(counted, MAX_COUNTED), "exact": counted <= MAX_COUNTED}
    rows = walk_together(store, wanted.states, Spot.before("newest"), wanted)
    passed = sum(map(wanted.passes, islice(rows, MAX_COUNTED)))
    return {"count": passed, "exact": next(rows, None) is None}


def dead_groups(store: Store) -> dict[str, Any]:
    """The dead letters by what they called and what they died of, the largest group first.

    Returns:
        ``{"groups": [...], "exact": bool}``. It is not exact when there are more than `MAX_COUNTED` dead letters, of
        which the newest are counted, or more than `MAX_GROUPS` groups.
    """
    groups = store.execute(_GROUPS)
    exact = len(groups) <= MAX_GROUPS and count_jobs(store, "dead", JobFilter(), MAX_COUNTED + 1) <= MAX_COUNTED
    return {"groups": groups[:MAX_GROUPS], "exact": exact}
