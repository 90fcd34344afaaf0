"""Goes through jobs from any place, by an index, in the order of their instants: when they ended, or else are due.

A job stays where it is in this order until it ends, is retried or is moved by hand. So whoever goes on behind the last
job that he saw meets every other job once, whatever was added or changed meanwhile.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from lunorash.errors import LunoraError, shown
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import FILTERED, JobFilter, has_ended
from lunorash.scheduler.store import Row, Store

__all__ = ["FAR", "Order", "Place", "Spot", "check_order", "check_state", "count_jobs", "walk", "walk_together"]

Order = Literal["newest", "soonest"]
"""From the latest instant back, or from the earliest on."""

FAR: Final = 9_007_199_254_740_990
"""Later than anything: a Durable Object takes no larger integer as a parameter."""

# Of the two bounds, the place is the one that the index must be entered by: thousands of jobs may share an instant, and
# with a second bound on the same side SQLite would enter by that and pass over all of them to find the next one.
_BEHIND: Final[dict[Order, str]] = {
    "soonest": "{instant} <= ?3 AND ({instant}, id) > (?1, ?2)",
    "newest": "{instant} >= ?3 AND ({instant}, id) < (?1, ?2)",
}
_SORTED: Final[dict[Order, str]] = {"soonest": "instant, id", "newest": "instant DESC, id DESC"}

# What waits is in two indexes, with and without a pool, which are merged.
_PENDING: Final = """
SELECT {columns}, due AS instant FROM jobs WHERE state = 'pending' AND pool IS NULL AND {behind}
UNION ALL
SELECT {columns}, due FROM jobs WHERE state = 'pending' AND pool IS NOT NULL AND {behind}
"""
# What runs is found by its dispatches. There are at most a hundred of them, so it is sorted.
_RUNNING: Final = """
SELECT {columns}, due AS instant FROM jobs
WHERE state = 'running' AND id IN (SELECT carried.value FROM dispatches, json_each(dispatches.jobs) AS carried)
  AND {behind}
"""
_ENDED: Final = """
SELECT {columns}, ended AS instant FROM jobs WHERE state = '{state}' AND ended IS NOT NULL AND {behind}
"""
_LAST: Final = "~"  # sorts behind every id
_BATCH: Final = 101  # a whole page, and the job that tells whether there is another
_STATES: Final[tuple[State, ...]] = get_args(State)
_ID: Final = r"[A-Za-z0-9_-]{0,64}|~"
_SPOT: Final = re.compile(rf"(newest|soonest)\.(\d{{1,16}})\.({_ID})", re.ASCII)
_PLACE: Final = re.compile(rf"({'|'.join(_STATES)})\.(\d{{1,16}})\.({_ID})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where somebody has come to: behind the job of this instant and id, if there is one.

    Args:
        order: in which order jobs are gone through.
        instant: epoch milliseconds.
        id: what jobs of one instant are ordered by.
    """

    order: Order
    instant: int
    id: str

    @classmethod
    def before(cls, order: Order) -> Spot:
        """The spot before the first job."""
        return cls(order, FAR, _LAST) if order == "newest" else cls(order, 0, "")

    @classmethod
    def of_cursor(cls, cursor: Any, order: Order) -> Spot:
        """Read a cursor of this order.

        Raises:
            LunoraError: ``INVALID_INPUT``.
        """
        found = _SPOT.fullmatch(cursor) if isinstance(cursor, str) else None
        if not found or found[1] != order or int(found[2]) > FAR:
            raise _no_cursor()
        return cls(order, int(found[2]), found[3])

    @property
    def cursor(self) -> str:
        """The spot as text, for whoever goes on later."""
        return f"{self.order}.{self.instant}.{self.id}"

    def at(self, row: Row) -> Spot:
        """The spot of a job that was found."""
        return Spot(self.order, row["instant"], row["id"])

    def within(self, first: int | None, end: int | None) -> tuple[Spot, int]:
        """This spot, or one further on, for jobs from one instant to another; and the last instant of them."""
        if self.order == "soonest":
            start = self if first is None or first <= self.instant else Spot(self.order, first, "")
            return start, FAR if end is None else end - 1
        start = self if end is None or end > self.instant else Spot(self.order, end - 1, _LAST)
        return start, 0 if first is None else first


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in a list that goes through one state after the other: what ended from the newest, the rest as it is due.

    Args:
        state: of the jobs that are gone through.
        spot: where in them.
    """

    state: State
    spot: Spot

    @classmethod
    def before(cls, state: State) -> Place:
        """The place before the first job of a state."""
        return cls(state, Spot.before(_usual_order(state)))

    @classmethod
    def of_cursor(cls, cursor: Any, states: Sequence[State]) -> Place:
        """Read a cursor that leads into one of some states.

        Raises:
            LunoraError: ``INVALID_INPUT``.
        """
        found = _PLACE.fullmatch(cursor) if isinstance(cursor, str) else None
        for state in states:
            if found and found[1] == state and int(found[2]) <= FAR:
                return cls(state, Spot(_usual_order(state), int(found[2]), found[3]))
        raise _no_cursor()

    @property
    def cursor(self) -> str:
        """The place as text, for whoever goes on later."""
        return f"{self.state}.{self.spot.instant}.{self.spot.id}"

    def at(self, row: Row) -> Place:
        """The place of a job that was found."""
        return Place(self.state, self.spot.at(row))


def check_state(state: Any) -> State:
    """Return ``state`` if it is one.

    Raises:
        LunoraError: ``INVALID_INPUT`` with all there are.
    """
    if not isinstance(state, str) or state not in _STATES:
        raise LunoraError("INVALID_INPUT", f"state is {shown(state)}; it must be one of {', '.join(_STATES)}")
    found: State = state
    return found


def check_order(order: Any) -> Order:
    """Return ``order`` if it is one.

    Raises:
        LunoraError: ``INVALID_INPUT`` with all there are.
    """
    if order not in ("newest", "soonest"):
        raise LunoraError("INVALID_INPUT", f'order is {shown(order)}; it must be "newest" or "soonest"')
    found: Order = order
    return found


def walk(store: Store, state: State, spot: Spot, wanted: JobFilter, columns: str = "") -> Iterator[Row]:
    """The jobs of a state behind a spot, fetched as they are asked for, each with its ``instant``.

    Args:
        store: where they are.
        state: which.
        spot: behind which of them.
        wanted: what bounds their instants. What else it asks for is not looked at.
        columns: what to read beside the columns that a filter looks at, as SQL.
    """
    if not _may_pass(state, wanted):
        return
    spot, last = spot.within(*wanted.between("ended" if has_ended(state) else "due"))
    sql = _statement(state, spot.order, ", ".join(filter(None, (FILTERED, columns))))
    more = True
    while more:
        rows = store.execute(f"{sql} LIMIT ?4", spot.instant, spot.id, last, _BATCH)
        more = len(rows) == _BATCH
        yield from rows
        if more:
            spot = spot.at(rows[-1])


def walk_together(
    store: Store, states: Sequence[State], spot: Spot, wanted: JobFilter, columns: str = ""
) -> Iterator[Row]:
    """The jobs of several states behind a spot in one line; see `walk`."""
    lines = [walk(store, state, spot, wanted, columns) for state in states]
    return heapq.merge(*lines, key=lambda row: (row["instant"], row["id"]), reverse=spot.order == "newest")


def count_jobs(store: Store, state: State, wanted: JobFilter, limit: int) -> int:
    """How many jobs of a state have their instants within the bounds of a filter, counted up to a limit."""
    if not _may_pass(state, wanted):
        return 0
    spot, last = Spot.before("soonest").within(*wanted.between("ended" if has_ended(state) else "due"))
    sql = f"SELECT count(*) AS n FROM ({_statement(state, 'soonest', 'id', ordered=False)} LIMIT ?4)"  # noqa: S608
    return int(store.execute(sql, spot.instant, spot.id, last, limit)[0]["n"])


def _statement(state: State, order: Order, columns: str, *, ordered: bool = True) -> str:
    waits, runs = state == "pending", state == "running"
    template = _PENDING if waits else _RUNNING if runs else _ENDED
    behind = _BEHIND[order].format(instant="ended" if has_ended(state) else "due")
    sql = template.format(columns=columns, behind=behind, state=state)
    return f"{sql} ORDER BY {_SORTED[order]}" if ordered else sql


def _may_pass(state: State, wanted: JobFilter) -> bool:
    """Whether a job of a state can pass: what has not ended has no such instant."""
    return state in wanted.states and (has_ended(state) or wanted.between("ended") == (None, None))


def _usual_order(state: State) -> Order:
    return "newest" if has_ended(state) else "soonest"


def _no_cursor() -> LunoraError:
    return LunoraError("INVALID_INPUT", "cursor is not one that this list has returned; start without one")
