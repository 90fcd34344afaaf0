"""What a table of states and events is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lunorash.scheduler.store import Row

from .rig import Rig
from .states import State

__all__ = ["GONE", "Cell", "Event"]

GONE: Final = "gone"
"""The job and its attempts are deleted."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What an event does in one state.

    Args:
        job: the columns of the job's row that change; `GONE` when it is deleted.
        recorded: attempts put on record.
        dispatch: the columns of the open dispatch that change.
        closed: the dispatch is deleted.
        breaker: the row of the origin's breaker.
        buried: when a cancel was called that is remembered for a job that is not here.
        returns: what the operation answers.
        refused: the code of the error it raises.
    """

    job: Mapping[str, Any] | str | None = None
    recorded: tuple[Row, ...] = ()
    dispatch: Row = field(default_factory=dict)
    closed: bool = False
    breaker: Row | None = None
    buried: int | None = None
    returns: Any = None
    refused: str | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happens to a job.

    Args:
        at: when, in ms after the job was scheduled.
        happen: makes it happen; returns what is compared with `Cell.returns`.
        cells: what it does, by state. In all others it changes nothing, and
        otherwise: is what it then returns,
        otherwise_refused: or the code of the error it raises.
    """

    at: int
    happen: Callable[[Rig, State], Any]
    cells: Mapping[str, Cell]
    otherwise: Any = None
    otherwise_refused: str | None = None
