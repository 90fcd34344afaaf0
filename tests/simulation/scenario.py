"""What is simulated: a seed, and how much of what it would bring; and the smallest part that still breaks."""

from __future__ import annotations

from dataclasses import dataclass

from .faults import Kind

__all__ = ["Scenario"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens in a world.

    Args:
        seed: decides everything.
        jobs: only so many of the jobs that its clients would schedule; None for all of them.
        without: kinds of faults that do not happen.
        calm_after: no fault happens after so many seconds; None if they go on to the end.
    """

    seed: int
    jobs: int | None = None
    without: frozenset[Kind] = frozenset()
    calm_after: float | None = None

    def command(self) -> str:
        """What to type to see it."""
        parts = [f"python -m tests.simulation --seed {self.seed}"]
        if self.jobs is not None:
            parts.append(f"--jobs {self.jobs}")
        if self.calm_after is not None:
            parts.append(f"--calm-after {self.calm_after:g}")
        if self.without:
            parts.append("--without " + " ".join(sorted(self.without)))
        return " ".join(parts)
