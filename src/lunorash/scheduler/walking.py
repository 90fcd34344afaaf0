"""Goes through the jobs of a state from any place, by an index, in the order that a person wants to see.

What runs comes by id, what waits by due time, what has ended with the newest first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.scheduler.job import State
from lunorash.scheduler.store import Row, Store

__all__ = ["FAR", "Place", "check_state", "jobs_behind"]

FAR: Final = 9_007_199_254_740_990
"""Later than anything: a Durable Object takes no larger integer as a parameter."""

# What waits is in two indexes, with and without a pool, which are merged.
_PENDING: Final = """
SELECT {columns}, due AS position FROM jobs
WHERE state = 'pending' AND pool IS NULL AND due >= ?1 AND (due, id) > (?1, ?2)
UNION ALL
SELECT {columns}, due FROM jobs
WHERE state = 'pending' AND pool IS NOT NULL AND due >= ?1 AND (due, id) > (?1, ?2)
ORDER BY position, id LIMIT ?3
"""
_RUNNING: Final = """
SELECT {columns}, 0 AS position FROM jobs
WHERE state = 'running' AND id IN (SELECT carried.value FROM dispatches, json_each(dispatches.jobs) AS carried)
  AND (0, id) > (?1, ?2) ORDER BY id LIMIT ?3
"""
_ENDED: Final = """
SELECT {{columns}}, ended AS position FROM jobs
WHERE state = '{state}' AND ended IS NOT NULL AND ended <= ?1 AND (ended, id) < (?1, ?2)
ORDER BY ended DESC, id DESC LIMIT ?3
"""
_WALKS: Final[dict[State, str]] = {
    "pending": _PENDING,
    "running": _RUNNING,
    "succeeded": _ENDED.format(state="succeeded"),
    "canceled": _ENDED.format(state="canceled"),
    "expired": _ENDED.format(state="expired"),
    "dead": _ENDED.format(state="dead"),
}
_ENDED_STATES: Final = frozenset({"succeeded", "canceled", "expired", "dead"})
_LAST: Final = "~"  # sorts behind every id
_CURSOR: Final = re.compile(rf"({'|'.join(_WALKS)})\.(\d{{1,16}})\.([A-Za-z0-9_-]{{0,64}}|~)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody has come to: behind the job of this position and id, if there is one.

    Args:
        state: of the jobs that are gone through.
        position: what they are ordered by: when they are due, or ended, in epoch milliseconds.
        id: what they are ordered by next.
    """

    state: State
    position: int
    id: str

    @classmethod
    def before(cls, state: State) -> Place:
        """The place before the first job of a state."""
        return cls(state, FAR, _LAST) if state in _ENDED_STATES else cls(state, 0, "")

    @classmethod
    def of_cursor(cls, cursor: Any, states: Sequence[State]) -> Place:
        """Read a cursor that leads into one of some states.

        Raises:
            LunoraError: ``INVALID_INPUT``.
        """
        found = _CURSOR.fullmatch(cursor) if isinstance(cursor, str) else None
        for state in states:
            if found and found[1] == state and int(found[2]) <= FAR:
                return cls(state, int(found[2]), found[3])
        raise LunoraError("INVALID_INPUT", "cursor is not one that this list has returned; start without one")

    @property
    def cursor(self) -> str:
        """The place as text, for whoever goes on later."""
        return f"{self.state}.{self.position}.{self.id}"

    def at(self, row: Row) -> Place:
        """The place of a job that was found."""
        return Place(self.state, row["position"], row["id"])

    def skipping(self, *, due_from: int | None, ended_before: int | None) -> Place:
        """This place, or one further on, if what is between is due too early or has ended too late."""
        if self.state == "pending" and due_from is not None and due_from > self.position:
            return Place(self.state, due_from, "")
        if self.state in _ENDED_STATES and ended_before is not None and ended_before <= self.position:
            return Place(self.state, ended_before - 1, _LAST)
        return self

    def is_past(self, row: Row, *, due_before: int | None, ended_from: int | None) -> bool:
        """Whether a job, and all behind it, is due too late or has ended too early."""
        if self.state == "pending" and due_before is not None:
            return bool(row["position"] >= due_before)
        return bool(self.state in _ENDED_STATES and ended_from is not None and row["position"] < ended_from)


def check_state(state: Any) -> State:
    """Return ``state`` if it is one.

    Raises:
        LunoraError: ``INVALID_INPUT`` with all there are.
    """
    if not isinstance(state, str) or state not in _WALKS:
        raise LunoraError("INVALID_INPUT", f"state is {shown(state)}; it must be one of {', '.join(_WALKS)}")
    found: State = state
    return found


def jobs_behind(store: Store, place: Place, columns: str, limit: int) -> list[Row]:
    """The next jobs of a state, each with its ``position``.

    Args:
        store: where they are.
        place: behind which.
        columns: which, as SQL.
        limit: how many at most.
    """
    return store.execute(_WALKS[place.state].format(columns=columns), place.position, place.id, limit)
