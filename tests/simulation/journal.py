"""What really happened, written down outside of everything that can crash."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lunorash.scheduler.protocol import ReceivedAttempt

from .process import Process

__all__ = ["Journal", "Run", "Violation"]

_TRACE = 300


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken."""

    invariant: str
    what: str
    at: int


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """A function that ran for an attempt."""

    attempt: ReceivedAttempt
    isolate: Process
    started: int
    """What the object's clock showed."""
    since: int
    """When it was, by a clock that never jumps."""
    stubborn: bool
    """Its function does not stop when it is told to."""
    unheard: Callable[[], bool]
    """Whether its stream swallows what is written, so that its receiver cannot learn that nobody reads."""
    ended: int | None = None
    outcome: str | None = None


@dataclass(slots=True)
class Journal:
    """The journal of one simulation."""

    clock: Callable[[], int]
    """Of time that never jumps."""
    stop: Callable[[], None]
    violation: Violation | None = None
    runs: dict[str, list[Run]] = field(default_factory=dict)
    """By job."""
    counts: Counter[str] = field(default_factory=Counter)
    on_start: Callable[[Run], None] = lambda _: None
    """Told of every run before it is written down."""
    on_cancel: Callable[[str], None] = lambda _: None
    """Told of every job that the engine says it has canceled."""
    _trace: deque[tuple[int, str, tuple[Any, ...]]] = field(default_factory=lambda: deque(maxlen=_TRACE))

    def note(self, text: str, *args: Any) -> None:
        """Add a line to the trace; ``text`` is formatted only if it is shown."""
        self._trace.append((self.clock(), text, args))

    def count(self, what: str) -> None:
        """Count one of something."""
        self.counts[what] += 1

    def violate(self, invariant: str, text: str, *args: Any) -> None:
        """A promise was broken: the first one is kept, and ends the simulation."""
        if self.violation is None:
            self.violation = Violation(invariant, text % args, self.clock())
            self.note("VIOLATION of %s: " + text, invariant, *args)
            self.stop()

    def start(self, run: Run) -> None:
        """A function begins to run."""
        self.note(
            "  %s #%d of %s starts (%s)", run.attempt.job, run.attempt.number, run.attempt.target, run.isolate.name
        )
        self.count("starts")
        self.on_start(run)
        self.runs.setdefault(run.attempt.job, []).append(run)

    def end(self, run: Run, outcome: str) -> None:
        """A function has ended, or has been killed."""
        if run.ended is None:
            self.note("  %s #%d ends: %s", run.attempt.job, run.attempt.number, outcome)
            run.ended, run.outcome = self.clock(), outcome

    def outcome(self, job: str, incarnation: str, number: int) -> str | None:
        """How an attempt ended; None if it did not run, or still runs."""
        for run in self.runs.get(job, ()):
            if run.attempt.incarnation == incarnation and run.attempt.number == number:
                return run.outcome
        return None

    def started(self, job: str, incarnation: str, number: int) -> bool:
        """Whether an attempt ran."""
        return any(
            run.attempt.incarnation == incarnation and run.attempt.number == number for run in self.runs.get(job, ())
        )

    def trace(self, lines: int, start: int) -> list[str]:
        """The last lines, with times in seconds since ``start``."""
        return [f"{(at - start) / 1000:14.3f}  {text % args}" for at, text, args in [*self._trace][-lines:]]
