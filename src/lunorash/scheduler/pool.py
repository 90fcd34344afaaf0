"""A pool as its users see it: what it may be called, how many of its jobs may run at a time, how it is doing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from typing import Any, Final

from lunorash.errors import LunoraError, shown

__all__ = [
    "AGEING_MS",
    "DEFAULT_MAX_CONCURRENCY",
    "MAX_CONCURRENCY",
    "MAX_PRIORITY",
    "PoolPage",
    "PoolStatus",
    "change_of_pool",
    "check_max_concurrency",
    "check_pool_name",
    "check_priority",
]

DEFAULT_MAX_CONCURRENCY: Final = 1
"""The cap of a pool that nobody has given one: no job of it can ever run beside another by mistake."""

MAX_CONCURRENCY: Final = 1_000
"""The largest cap. Slots are counted anew at every change, so it bounds what a change costs; what needs more than
this at a time needs no pool."""

MAX_PRIORITY: Final = 10
"""Priorities go from -10 to 10. Each that is in use in a pool is one more place to look for its next job."""

AGEING_MS: Final = 60_000
"""What one step of priority is worth: a job of priority 1 goes before what fell due up to a minute earlier. Since
this is a head start and no rank, even the lowest priority is late by minutes, and never passed over for good."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)


def check_pool_name(value: Any) -> str:
    """Return ``value`` if a pool can be called that.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.

    Example:
        >>> check_pool_name("imports")
        'imports'
    """
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise LunoraError(
            "INVALID_INPUT",
            f"the pool {shown(value)} cannot be used: a pool's name is 1 to 64 of "
            "A-Z, a-z, 0-9, '_' and '-', and does not start with '-'",
        )
    return value


def check_max_concurrency(value: Any) -> int:
    """Return ``value`` if it can be a pool's cap.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.

    Example:
        >>> check_max_concurrency(3)
        3
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_CONCURRENCY:
        raise LunoraError(
            "INVALID_INPUT",
            f"max_concurrency is {shown(value)}; it must be a whole number from 1 to {MAX_CONCURRENCY:,}. "
            "To start nothing, pause the pool",
        )
    return value


def check_priority(value: Any) -> int:
    """Return ``value`` if it can be a job's priority.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule.

    Example:
        >>> check_priority(-10)
        -10
    """
    if isinstance(value, bool) or not isinstance(value, int) or not -MAX_PRIORITY <= value <= MAX_PRIORITY:
        raise LunoraError(
            "INVALID_INPUT",
            f"priority is {shown(value)}; it must be a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}, "
            "where a higher one goes first",
        )
    return value


def change_of_pool(name: Any, *, declared: int | None = None, paused: Any = None, max_concurrency: Any = None) -> str:
    """A change of a pool as it travels to the SchedulerDO, checked.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a name, a cap or a pause that cannot be.

    Example:
        >>> change_of_pool("imports", max_concurrency=5)
        '{"name": "imports", "max_concurrency": 5}'
    """
    if paused is not None and not isinstance(paused, bool):
        raise LunoraError("INVALID_INPUT", f"paused is {shown(paused)}; it must be True or False")
    change = {
        "name": check_pool_name(name),
        "declared": declared,
        "paused": paused,
        "max_concurrency": None if max_concurrency is None else check_max_concurrency(max_concurrency),
    }
    return json.dumps({field: value for field, value in change.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatus:
    """How a pool is doing.

    Args:
        name: its name.
        max_concurrency: how many of its jobs may run at a time.
        paused: whether it starts none.
        in_flight: how many run. More than ``max_concurrency`` for a while after that was lowered.
        queued: how many wait, for their time or for room; counted up to 10,000.
    """

    name: str
    max_concurrency: int
    paused: bool
    in_flight: int
    queued: int

    @classmethod
    def from_dict(cls, status: dict[str, Any]) -> PoolStatus:
        """Read a status as the SchedulerDO answers it. Fields of a newer release are passed over."""
        return cls(**{field.name: status[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPage:
    """A page of pools; ``cursor`` asks for the next one and is None on the last."""

    pools: tuple[PoolStatus, ...]
    cursor: str | None

    @classmethod
    def from_dict(cls, page: dict[str, Any]) -> PoolPage:
        """Read a page as the SchedulerDO answers it."""
        return cls(pools=tuple(PoolStatus.from_dict(pool) for pool in page["pools"]), cursor=page["cursor"])
