"""The one document that a run of the benchmark prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.measurement import Measurement

__all__ = ["FORMAT", "Failed", "Measured", "Outcome", "Skipped", "document"]

FORMAT: Final = 1
"""Counted up when the document's shape changes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure that was measured, by the names of its quantities."""

    measures: Mapping[str, Measurement]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A figure that this machine cannot show."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A figure that went wrong."""

    reason: str


Outcome = Measured | Skipped | Failed


def document(
    machine: Mapping[str, Any], settings: Mapping[str, Any], figures: Mapping[str, tuple[str, Outcome]]
) -> dict[str, Any]:
    """Put the document together.

    Args:
        machine: facts about where it was measured.
        settings: how much of what was measured.
        figures: what each figure is, in words, and what came of it, by name.

    Returns:
        what is printed as JSON; ``ok`` is false if a figure went wrong.
    """
    return {
        "format": FORMAT,
        "ok": not any(isinstance(outcome, Failed) for _, outcome in figures.values()),
        "machine": dict(machine),
        "settings": dict(settings),
        "figures": {name: {"what": what, **_shown(outcome)} for name, (what, outcome) in figures.items()},
    }


def _shown(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Measured(measures):
            return {"measures": {name: measurement.to_dict() for name, measurement in measures.items()}}
        case Skipped(reason):
            return {"skipped": reason}
        case Failed(reason):
            return {"failed": reason}
