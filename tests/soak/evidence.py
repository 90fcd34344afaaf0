"""What is left when a soak is over: what was asked, what was answered, what is recorded, and what really happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.soak.plans import Plan

__all__ = ["Cancel", "Evidence", "Kill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """A call that cancelled a job. Times are epoch milliseconds; ``answer`` is None if the call broke."""

    sent: float
    heard: float
    answer: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A `kill -9`: what ran at ``begun`` may have run on until ``done``, and no longer."""

    begun: float
    done: float


@dataclass(slots=True)
class Evidence:
    """All that an audit looks at.

    Args:
        plans: every job that was sent, by id.
        answered: the ids of those whose call was answered; of the others nobody knows whether they landed.
        booked: the ids of those that a mutation scheduled.
        cancels: by id.
        kills: in order.
        polls: pools as they were seen on the way: name, cap, how many ran.
        records: the scheduler's, by id.
        journal: what actions wrote down, in order: job, attempt, event, at.
        effects: what mutations left on their shards: job, incarnation, attempt.
    """

    plans: dict[str, Plan] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    booked: set[str] = field(default_factory=set)
    cancels: dict[str, Cancel] = field(default_factory=dict)
    kills: list[Kill] = field(default_factory=list)
    polls: list[tuple[str, int, int]] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    journal: list[dict[str, Any]] = field(default_factory=list)
    effects: list[dict[str, Any]] = field(default_factory=list)
