"""What was measured, and the numbers that sum it up. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Measurement", "gather", "percentile"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One quantity, measured once in each run.

    Args:
        unit: such as ``"jobs/s"``.
        runs: its values, in the order of the runs, at least one.

    Example:
        >>> Measurement("jobs/s", (310.0, 298.5, 305.0)).to_dict()
        {'unit': 'jobs/s', 'median': 305.0, 'lowest': 298.5, 'highest': 310.0, 'runs': [310.0, 298.5, 305.0]}
    """

    unit: str
    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.runs or not all(math.isfinite(value) for value in self.runs):
            raise ValueError(f"the runs are {self.runs}; there must be at least one, and all finite")

    @property
    def median(self) -> float:
        """The middle one; between the two middle ones if there is an even number."""
        return statistics.median(self.runs)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the document, rounded to a thousandth."""
        return {
            "unit": self.unit,
            "median": round(self.median, 3),
            "lowest": round(min(self.runs), 3),
            "highest": round(max(self.runs), 3),
            "runs": [round(value, 3) for value in self.runs],
        }


def gather(units: Mapping[str, str], runs: Sequence[Mapping[str, float]]) -> dict[str, Measurement]:
    """Turn what each run has measured into what was measured of each quantity.

    Args:
        units: the unit of each quantity, by its name.
        runs: a value for each of exactly these names, run by run.

    Raises:
        ValueError: a run has measured something else.

    Example:
        >>> gather({"rate": "jobs/s"}, [{"rate": 2.0}, {"rate": 4.0}])["rate"].median
        3.0
    """
    for run in runs:
        if set(run) != set(units):
            raise ValueError(f"a run has measured {sorted(run)}; it should have been {sorted(units)}")
    return {name: Measurement(unit, tuple(run[name] for run in runs)) for name, unit in units.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by at least a share of all: nothing is made up in between.

    Args:
        values: at least one, in any order.
        share: above 0, up to 1.

    Example:
        >>> percentile([4, 1, 3, 2], 0.5), percentile(range(1, 101), 0.99), percentile([7], 0.01)
        (2, 99, 7)
    """
    if not values or not 0 < share <= 1:
        raise ValueError(f"there is no percentile {share} of {len(values)} values")
    ordered = sorted(values)
    # in hundredths of a percent, so that 0.99 of 100 is 99 and not one more
    return ordered[-(-round(share * 10_000) * len(ordered) // 10_000) - 1]
