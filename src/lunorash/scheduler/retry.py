"""When a failed attempt is tried again: a value and a pure function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from lunorash.errors import LunoraError, shown
from lunorash.retrying import MAX_RETRY_AFTER_MS

__all__ = ["DEFAULT_RETRY", "MAX_DELAY_MS", "MAX_HORIZON_MS", "Backoff", "RetryPolicy"]

Backoff = Literal["exponential", "linear"]

MAX_HORIZON_MS: Final = 180 * 24 * 60 * 60 * 1000
"""What all waits of a policy may take together. A shard remembers twice as long that a job has had its effect."""

MAX_DELAY_MS: Final = MAX_HORIZON_MS
"""No retry waits longer, whatever the policy multiplies up to."""

_MAX_ATTEMPTS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a failing job is tried again, and how long it waits in between.

    Args:
        max_attempts: RETRIES after the first attempt, 1 to 1000: 5 retries are 6 attempts in all.
        backoff: ``"exponential"`` waits base, 2 x base, 4 x base, ...; ``"linear"`` base, 2 x base, 3 x base, ...
        base_ms: the first wait, in whole milliseconds, at least 1. A base of 0 would burn every attempt
            within one second, so it is refused (akash-network/console#3727).
        max_ms: the longest wait, in whole milliseconds, at least ``base_ms``; None for 180 days.
        jitter: the share of each wait that is random, 0 to 1: with 0.2 a wait of 30 s becomes 24 to 30 s.

    Raises:
        LunoraError: ``INVALID_INPUT`` naming the field and its range, or when all waits together take more than
            180 days.

    Example:
        >>> policy = RetryPolicy(max_attempts=3, base_ms=1000)
        >>> [policy.delay_ms(retry, random=lambda: 0.0) for retry in (1, 2, 3)]
        [1000, 2000, 4000]
    """

    max_attempts: int = 5
    backoff: Backoff = "exponential"
    base_ms: int = 30_000
    max_ms: int | None = None
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _check_int("max_attempts", self.max_attempts, 1, _MAX_ATTEMPTS)
        if self.backoff not in get_args(Backoff):
            raise _refused("backoff", self.backoff, 'must be "exponential" or "linear"')
        _check_int("base_ms", self.base_ms, 1, MAX_DELAY_MS)
        if self.max_ms is not None:
            _check_int("max_ms", self.max_ms, self.base_ms, MAX_DELAY_MS)
        if isinstance(self.jitter, bool) or not isinstance(self.jitter, int | float) or not 0 <= self.jitter <= 1:
            raise _refused("jitter", self.jitter, "must be a number from 0 to 1")
        horizon = sum(self.delay_ms(retry, random=lambda: 0.0) for retry in range(1, self.max_attempts + 1))
        if horizon > MAX_HORIZON_MS:
            raise LunoraError(
                "INVALID_INPUT",
                f"the waits of this retry policy add up to {horizon // 86_400_000:,} days; they may take "
                f"{MAX_HORIZON_MS // 86_400_000}. Set max_ms, or fewer max_attempts",
            )

    def delay_ms(self, retry: int, *, random: Callable[[], float]) -> int:
        """The wait before the ``retry``-th retry (from 1), in milliseconds, at least 1.

        Args:
            retry: which retry this is, from 1.
            random: a source of numbers in [0, 1).
        """
        cap = MAX_DELAY_MS if self.max_ms is None else self.max_ms
        if self.backoff == "linear":
            delay = self.base_ms * retry
        else:
            # 2**n is cut off where it has surely passed the cap: a thousand retries stay cheap
            delay = self.base_ms * 2 ** min(retry - 1, cap.bit_length())
        delay = min(delay, cap)
        return max(1, delay - int(delay * self.jitter * random()))

    def delay_after_ms(self, retry: int, retry_after_ms: int | None, *, random: Callable[[], float]) -> int:
        """The same, but no less than was asked for: jitter then only adds to it.

        Args:
            retry: which retry this is, from 1.
            retry_after_ms: what was asked for, of which at most `MAX_RETRY_AFTER_MS` count; None for nothing.
            random: a source of numbers in [0, 1).

        Example:
            >>> RetryPolicy(base_ms=1_000, jitter=0.5).delay_after_ms(1, 60_000, random=lambda: 0.5)
            75000
        """
        delay = self.delay_ms(retry, random=random)
        if retry_after_ms is None:
            return delay
        asked = max(0, min(retry_after_ms, MAX_RETRY_AFTER_MS))
        return max(delay, asked + int(asked * self.jitter * random()))

    def to_dict(self) -> dict[str, Any]:
        """The policy as it is stored and sent."""
        return {
            "max_attempts": self.max_attempts,
            "backoff": self.backoff,
            "base_ms": self.base_ms,
            "max_ms": self.max_ms,
            "jitter": self.jitter,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> RetryPolicy:
        """Read what `to_dict` wrote, or a caller's JSON; unknown fields are refused.

        Raises:
            LunoraError: ``INVALID_INPUT`` naming the field.
        """
        unknown = sorted(set(fields) - set(cls.__slots__))
        if unknown:
            raise LunoraError(
                "INVALID_INPUT",
                f"retry has no field {shown(unknown[0])}; it has {', '.join(sorted(cls.__slots__))}",
            )
        return cls(**fields)


def _check_int(field: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _refused(field, value, f"must be a whole number from {low:,} to {high:,}")


def _refused(field: str, value: object, rule: str) -> LunoraError:
    return LunoraError("INVALID_INPUT", f"retry.{field} is {shown(value)}; it {rule}")


DEFAULT_RETRY: Final = RetryPolicy()
"""Five retries, 30 s, 60 s, 120 s, 240 s and 480 s after the failure before each."""
