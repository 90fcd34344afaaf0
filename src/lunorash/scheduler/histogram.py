"""How durations are spread: counts by bounds that are fixed, so that histograms can be added up and kept in a row."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Any, Final

__all__ = ["BOUNDS_MS", "Histogram"]

BOUNDS_MS: Final = (
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000,
)  # fmt: skip
"""The upper bounds of the buckets; what is above the last one has a bucket of its own."""


class Histogram:
    """Durations in milliseconds.

    Example:
        >>> histogram = Histogram()
        >>> for ms in (5, 7, 40, 40, 3_000):
        ...     histogram.observe(ms)
        >>> histogram.count, histogram.total_ms, histogram.summary()["max"]
        (5, 3092, 3000)
    """

    __slots__ = ("_buckets", "max_ms", "total_ms")

    def __init__(self) -> None:
        self._buckets = [0] * (len(BOUNDS_MS) + 1)
        self.total_ms = 0
        self.max_ms = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self._buckets)

    def observe(self, ms: int) -> None:
        """Add one."""
        self._buckets[bisect_left(BOUNDS_MS, ms)] += 1
        self.total_ms += ms
        self.max_ms = max(self.max_ms, ms)

    def add(self, other: Histogram) -> None:
        """Add all of another one."""
        self._buckets = [mine + theirs for mine, theirs in zip(self._buckets, other._buckets, strict=True)]
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)

    def cumulative(self) -> list[int]:
        """How many are at most each bound; the last number is all of them."""
        return list(accumulate(self._buckets))

    def quantile(self, q: float) -> int | None:
        """What a share of them does not exceed, estimated: within a bucket they are taken to be spread evenly.

        Args:
            q: the share, from 0 to 1.

        Returns:
            milliseconds; None if there are none.
        """
        rank, below = q * self.count, 0
        for bucket, inside in enumerate(self._buckets):
            if inside and below + inside >= rank:
                lower = BOUNDS_MS[bucket - 1] if bucket else 0
                upper = min(BOUNDS_MS[bucket], self.max_ms) if bucket < len(BOUNDS_MS) else self.max_ms
                return round(lower + max(0, upper - lower) * (rank - below) / inside)
            below += inside
        return None

    def summary(self) -> dict[str, int | None]:
        """Median, 99th percentile and the longest, in milliseconds; None of each if there are none."""
        return {"p50": self.quantile(0.5), "p99": self.quantile(0.99), "max": self.max_ms if self.count else None}

    def to_list(self) -> list[int]:
        """As it is stored: the sum, the longest, the buckets."""
        return [self.total_ms, self.max_ms, *self._buckets]

    @classmethod
    def from_list(cls, stored: list[Any]) -> Histogram:
        """Read what `to_list` wrote."""
        histogram = cls()
        histogram.total_ms, histogram.max_ms, *histogram._buckets = stored
        return histogram
