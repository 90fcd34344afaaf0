"""Which jobs are meant when some are listed, counted or changed, and what a call says that has changed some."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, get_args

from lunorash.errors import LunoraError, shown
from lunorash.refs import Target, target_text
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job import State
from lunorash.scheduler.options import Instant, instant_ms
from lunorash.scheduler.pool import check_pool_name

__all__ = [
    "CHANGEABLE",
    "FILTERED",
    "MAX_CHANGED",
    "Change",
    "Changed",
    "JobFilter",
    "check_limit",
    "check_prefix",
    "has_ended",
    "states_to_change",
]

Change = Literal["cancel", "redrive", "drop"]
"""What can be done to many jobs at once."""

MAX_CHANGED: Final = 1_000
"""Jobs that one call may change: that is one transaction, and the object answers nobody else meanwhile."""

# What waits comes first: if it is claimed between two calls, it is met among those that run.
CHANGEABLE: Final[Mapping[Change, tuple[State, ...]]] = {
    "cancel": ("pending", "running"),
    "redrive": ("dead",),
    "drop": ("dead",),
}
"""The states of jobs to which each change can be done, in the order in which they are gone through."""

FILTERED: Final = "id, target, state, pool, tags, error_code, created, due, ended"
"""The columns of a job that a filter looks at."""

_MAX_TEXT: Final = 256
_STATES: Final[tuple[State, ...]] = get_args(State)
_LIVE: Final = ("pending", "running")
_INSTANTS: Final = ("created_from", "created_before", "due_from", "due_before", "ended_from", "ended_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs are meant; all conditions have to hold, and None is no condition.

    Args:
        state: ``"pending"``, ``"running"``, ``"succeeded"``, ``"dead"`` or another state of jobs, or several in a list.
        target: a reference, or a path, or a module or folder of them, ``"billing"``, or a pattern with ``*``, ``?`` or
            ``[...]``, ``"billing:*"``; at most 256 characters.
        pool: the workpool that they run in.
        tag: one of their tags, at most 256 characters.
        error: the code of their last error, at most 256 characters.
        id_prefix: how their ids begin.
        created_from: that they were scheduled then or later: epoch milliseconds or a `datetime` with a time zone;
            likewise the others.
        created_before: that they were scheduled earlier.
        due_from: that their next attempt is due then or later, or their last was.
        due_before: that it is due earlier.
        ended_from: that they came to rest then or later.
        ended_before: that they came to rest earlier.

    Raises:
        LunoraError: ``INVALID_INPUT``, naming the field and its rule.

    Example:
        >>> JobFilter(target="billing", error="UPSTREAM_DOWN").passes({"target": "billing:charge", "error_code": None})
        False
    """

    state: State | Sequence[State] | None = None
    target: Target | None = None
    pool: str | None = None
    tag: str | None = None
    error: str | None = None
    id_prefix: str | None = None
    created_from: Instant | None = None
    created_before: Instant | None = None
    due_from: Instant | None = None
    due_before: Instant | None = None
    ended_from: Instant | None = None
    ended_before: Instant | None = None

    def __post_init__(self) -> None:
        if self.state is not None:
            object.__setattr__(self, "state", _state(self.state))
        if self.target is not None and not isinstance(self.target, str):
            object.__setattr__(self, "target", target_text(self.target))
        for name in ("target", "tag", "error"):
            _check_text(name, getattr(self, name))
        if self.pool is not None:
            check_pool_name(self.pool)
        if self.id_prefix is not None:
            check_prefix(self.id_prefix)
        for name in _INSTANTS:
            object.__setattr__(self, name, _instant(name, getattr(self, name)))

    @property
    def states(self) -> tuple[State, ...]:
        """The states that are meant.

        Example:
            >>> JobFilter(state="dead").states, JobFilter(state=["running", "pending"]).states
            (('dead',), ('running', 'pending'))
        """
        if self.state is None:
            return _STATES
        states: Any = (self.state,) if isinstance(self.state, str) else self.state
        return tuple(states)

    @property
    def asks_only_when(self) -> bool:
        """Whether nothing is asked but in which state jobs are and when they are due or ended."""
        others = [field.name for field in fields(self) if not field.name.startswith(("state", "due_", "ended_"))]
        only_when = all(getattr(self, name) is None for name in others)
        # what has ended is in no order of when it was due
        return only_when and (self.between("due") == (None, None) or not any(map(has_ended, self.states)))

    def passes(self, job: Mapping[str, Any]) -> bool:
        """Whether a job is meant.

        A target without a wildcard is never taken for the beginning of a longer name.

        Args:
            job: its record, or a row of it; what it does not have holds for no condition.

        Example:
            >>> [JobFilter(target="billing").passes({"target": text}) for text in ("billing:end", "billing2:end")]
            [True, False]
        """
        return (
            (self.state is None or job.get("state") in self.states)
            and (self.target is None or _names(str(self.target), str(job.get("target"))))
            and (self.pool is None or job.get("pool") == self.pool)
            and (self.tag is None or self.tag in _tags(job.get("tags")))
            and (self.error is None or job.get("error_code") == self.error)
            and (self.id_prefix is None or str(job.get("id")).startswith(self.id_prefix))
            and all(_lies_in(job.get(name), *self.between(name)) for name in ("created", "due", "ended"))
        )

    def between(self, name: Literal["created", "due", "ended"]) -> tuple[int | None, int | None]:
        """From when and before when something has to be, in epoch milliseconds.

        Example:
            >>> JobFilter(due_before=1_796_083_200_000).between("due")
            (None, 1796083200000)
        """
        return getattr(self, f"{name}_from"), getattr(self, f"{name}_before")

    def to_dict(self) -> dict[str, Any]:
        """The filter as it travels: its conditions, instants in epoch milliseconds."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value is not None}

    @classmethod
    def from_dict(cls, conditions: Any) -> JobFilter:
        """Read what `to_dict` wrote, or a caller's JSON; unknown conditions are refused, so that none is passed over.

        Raises:
            LunoraError: ``INVALID_INPUT``.
        """
        if not isinstance(conditions, dict):
            raise LunoraError(
                "INVALID_INPUT", f"filter is {shown(conditions)}; it must be an object, {{}} for all jobs"
            )
        known = [field.name for field in fields(cls)]
        for name in conditions:
            if name not in known:
                raise LunoraError("INVALID_INPUT", f"filter has no {shown(name)}; it has {', '.join(known)}")
        return cls(**conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What one call has changed, or would have.

    Args:
        ids: of the jobs, in the order in which they were met.
        targets: how many of them there are of each target.
        scanned: how many jobs were looked at.
        cursor: where to go on; None when all have been looked at.
        now: when, by the scheduler's clock, in epoch milliseconds.
    """

    ids: tuple[str, ...]
    targets: dict[str, int]
    scanned: int
    cursor: str | None
    now: int

    def to_dict(self) -> dict[str, Any]:
        """As it travels."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, answer: dict[str, Any]) -> Changed:
        """Read what the SchedulerDO answers. Fields of a newer release are passed over."""
        known = {field.name: answer[field.name] for field in fields(cls)}
        return cls(**{**known, "ids": tuple(known["ids"])})


def has_ended(state: State) -> bool:
    """Whether jobs in this state have come to rest.

    Example:
        >>> has_ended("running"), has_ended("canceled")
        (False, True)
    """
    return state not in _LIVE


def states_to_change(change: Change, wanted: JobFilter) -> tuple[State, ...]:
    """The states of the jobs that a change is to be done to, in the order in which they are gone through.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a change that there is not, or a state in which it cannot be done.

    Example:
        >>> states_to_change("cancel", JobFilter())
        ('pending', 'running')
    """
    states = CHANGEABLE.get(change)
    if states is None:
        raise LunoraError("INVALID_INPUT", f"change is {shown(change)}; it must be one of {', '.join(CHANGEABLE)}")
    for state in () if wanted.state is None else wanted.states:
        if state not in states:
            raise LunoraError(
                "INVALID_INPUT", f"state is {shown(state)}; to {change} them, jobs are {' or '.join(states)}"
            )
    return tuple(state for state in states if state in wanted.states)


def check_limit(limit: Any) -> int:
    """Return ``limit`` if one call may change so many jobs.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.

    Example:
        >>> check_limit(1_000)
        1000
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_CHANGED:
        raise LunoraError(
            "INVALID_INPUT", f"limit is {shown(limit)}; it must be a whole number from 1 to {MAX_CHANGED:,}"
        )
    return limit


def check_prefix(prefix: Any) -> str:
    """Return ``prefix`` if ids can begin so.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.

    Example:
        >>> check_prefix("u1-")
        'u1-'
    """
    try:
        return check_id(prefix)
    except LunoraError:
        raise LunoraError(
            "INVALID_INPUT", f"id_prefix is {shown(prefix)}; no id begins so: it must be the beginning of one"
        ) from None


def _state(given: Any) -> State | tuple[State, ...]:
    several = isinstance(given, list | tuple)
    states = tuple(given) if several else (given,)
    for state in states:
        if not isinstance(state, str) or state not in _STATES:
            raise LunoraError("INVALID_INPUT", f"state is {shown(state)}; it must be one of {', '.join(_STATES)}")
    if not states or len(set(states)) != len(states):
        raise LunoraError("INVALID_INPUT", f"state is {shown(given)}; name at least one, and none twice")
    return states if several else states[0]


def _tags(stored: Any) -> Sequence[Any]:
    """The tags of a record, or of a row, which has them as JSON."""
    tags = json.loads(stored) if isinstance(stored, str) else stored
    return tags if isinstance(tags, list | tuple) else ()


def _names(wanted: str, target: str) -> bool:
    if any(sign in wanted for sign in "*?["):
        return fnmatchcase(target, wanted)
    return target == wanted or (target.startswith(wanted) and target[len(wanted)] in ".:")


def _lies_in(instant: Any, first: int | None, end: int | None) -> bool:
    if first is None and end is None:
        return True
    if isinstance(instant, bool) or not isinstance(instant, int):
        return False
    return (first is None or instant >= first) and (end is None or instant < end)


def _instant(name: str, instant: Any) -> int | None:
    try:
        return None if instant is None else instant_ms(instant)
    except LunoraError as error:
        raise LunoraError("INVALID_INPUT", f"{name}: {error.message}") from None


def _check_text(name: str, text: Any) -> None:
    if text is not None and (not isinstance(text, str) or not 1 <= len(text) <= _MAX_TEXT):
        raise LunoraError(
            "INVALID_INPUT", f"{name} is {shown(text)}; it must be a string of 1 to {_MAX_TEXT} characters"
        )
