"""Which jobs are meant when many are changed at once, and what a call says that has changed some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from lunorash.errors import LunoraError, shown
from lunorash.refs import Target, target_text
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.job import State
from lunorash.scheduler.options import Instant, instant_ms
from lunorash.scheduler.pool import check_pool_name

__all__ = ["MAX_CHANGED", "Change", "Changed", "JobFilter", "check_limit"]

Change = Literal["cancel", "redrive", "drop"]
"""What can be done to many jobs at once."""

MAX_CHANGED: Final = 1_000
"""Jobs that one call may change: that is one transaction, and the object answers nobody else meanwhile."""

_MAX_TEXT: Final = 256
_STATES: Final = ("pending", "running", "dead")
_INSTANTS: Final = ("created_from", "created_before", "due_from", "due_before", "ended_from", "ended_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs are meant; all conditions have to hold, and None is no condition.

    Args:
        state: ``"pending"``, ``"running"`` or ``"dead"``.
        target: a reference, or a path, or a module or folder of them, ``"billing"``, or a pattern with ``*``, ``?`` or
            ``[...]``, ``"billing:*"``; at most 256 characters.
        pool: the workpool that they run in.
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

    state: State | None = None
    target: Target | None = None
    pool: str | None = None
    error: str | None = None
    id_prefix: str | None = None
    created_from: Instant | None = None
    created_before: Instant | None = None
    due_from: Instant | None = None
    due_before: Instant | None = None
    ended_from: Instant | None = None
    ended_before: Instant | None = None

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in _STATES:
            raise LunoraError("INVALID_INPUT", f"state is {shown(self.state)}; it must be one of {', '.join(_STATES)}")
        if self.target is not None and not isinstance(self.target, str):
            object.__setattr__(self, "target", target_text(self.target))
        for name in ("target", "error"):
            _check_text(name, getattr(self, name))
        if self.pool is not None:
            check_pool_name(self.pool)
        if self.id_prefix is not None:
            _check_prefix(self.id_prefix)
        for name in _INSTANTS:
            object.__setattr__(self, name, _instant(name, getattr(self, name)))

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
            (self.state is None or job.get("state") == self.state)
            and (self.target is None or _names(str(self.target), str(job.get("target"))))
            and (self.pool is None or job.get("pool") == self.pool)
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


def _check_prefix(prefix: Any) -> None:
    try:
        check_id(prefix)
    except LunoraError:
        raise LunoraError(
            "INVALID_INPUT", f"id_prefix is {shown(prefix)}; no id begins so: it must be the beginning of one"
        ) from None
