"""What the jobs of a soak are to do: drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Literal

__all__ = ["ALWAYS", "CAPS", "SHARDS", "TIMEOUT_MS", "Plan", "draw"]

CAPS: Final[Mapping[str, int]] = {"one": 1, "three": 3, "eight": 8}
"""The pools, and how many of their jobs may run at a time."""
SHARDS: Final = ("soak-0", "soak-1", "soak-2", "soak-3")
TIMEOUT_MS: Final = 5_000
ALWAYS: Final = 1_000_000
"""Up to this attempt: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One job.

    Args:
        id: its id.
        kind: what it is.
        shard: where it runs, if it is a mutation.
        pool: its pool, if any.
        delay_ms: when it is due.
        ms: how long an attempt takes, if it is an action.
        hang: its attempts up to this number hang until their time is up.
        fail: its attempts up to this number fail.
        retries: how many attempts may follow the first.
        base_ms: the wait before the first of them.
        cancel_ms: how long after it was scheduled it is cancelled; None if it is not.
    """

    id: str
    kind: Literal["action", "mutation"]
    shard: str | None = None
    pool: str | None = None
    delay_ms: int = 0
    ms: int = 0
    hang: int = 0
    fail: int = 0
    retries: int = 3
    base_ms: int = 100
    cancel_ms: int | None = None

    @property
    def doomed(self) -> bool:
        """Whether no attempt of it can succeed."""
        return ALWAYS in (self.hang, self.fail)

    def to_call(self) -> dict[str, Any]:
        """As ``soak:enqueue`` and ``soak:book`` take it."""
        args = {"ms": self.ms, "hang": self.hang, "fail": self.fail} if self.kind == "action" else {"fail": self.fail}
        return {
            "id": self.id,
            "target": "soak:work" if self.kind == "action" else "soak:effect",
            "args": args,
            "retry": {"max_attempts": self.retries, "base_ms": self.base_ms, "jitter": 0.2},
            "timeout_ms": TIMEOUT_MS,
            "shard": self.shard,
            "pool": self.pool,
            "delay_ms": self.delay_ms,
        }


def draw(random: Random, number: int) -> Plan:
    """Draw the plan of the next job: 5 % fail, most of them only at first, and 1 % hang."""
    kind: Literal["action", "mutation"] = random.choice(("action", "mutation"))
    fate = random.random()
    hang = fail = 0
    if fate < 0.01:
        hang, kind = random.choice((1, ALWAYS)), "action"
    elif fate < 0.05:
        fail = random.choice((1, 2))
    elif fate < 0.06:
        fail = ALWAYS
    canceled = random.random() < 0.04
    return Plan(
        id=f"soak-{number}",
        kind=kind,
        shard=random.choice(SHARDS) if kind == "mutation" else None,
        pool=random.choice([*CAPS]) if random.random() < 0.25 else None,
        delay_ms=random.choice((0, 0, 0, random.randrange(2_000))),
        ms=random.choice((0, 0, 0, random.randrange(400))) if kind == "action" else 0,
        hang=hang,
        fail=fail,
        retries=1 if hang else random.randint(2, 5),
        base_ms=random.randint(50, 400),
        cancel_ms=random.randrange(2_000) if canceled else None,
    )
