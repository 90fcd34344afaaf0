"""What happened to jobs: collected during an operation, told once it has been committed, and never if it was undone.

A transition is told as one line of JSON, with ids and durations and no arguments, results or error texts, and it is
counted. The journal does neither itself: where lines go and who counts is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Protocol, cast

from lunorash.scheduler.job import NewJob
from lunorash.scheduler.store import Row
from lunorash.scheduler.verdict import Verdict
from lunorash.traceparent import trace_id_of

__all__ = ["LEVELS", "Counting", "Event", "Journal", "Level", "Transition"]

Level = Literal["all", "problems", "off"]
LEVELS: Final[tuple[Level, ...]] = ("all", "problems", "off")

Event = Literal[
    "scheduled",
    "started",
    "succeeded",
    "retrying",
    "refunded",
    "dead",
    "canceled",
    "expired",
    "redriven",
    "dropped",
]
"""What can happen to a job. ``retrying``: an attempt failed, or nobody knows how it ended, and another follows;
``refunded``: an attempt never began, or its function was not there, and does not count."""

PROBLEMS: Final[frozenset[Event]] = frozenset(("retrying", "refunded", "dead", "expired"))

Transition = dict[str, Any]
"""``event``, ``at`` and ``job``, and of ``incarnation``, ``target``, ``pool``, ``attempt``, ``dispatch``, ``code`` and
the durations in milliseconds those that there are."""

_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


class Counting(Protocol):
    """Whoever counts transitions."""

    def count(self, transition: Transition, /) -> None:
        """One that has been committed."""
        ...


class Journal:
    """The transitions of one operation after the other. Used by the engine, inside its transactions.

    Args:
        level: what is told: all, problems only, or nothing. Everything is counted.
        write: takes a line, without its end.
        counting: counts.

    Example:
        >>> journal = Journal(write=print)
        >>> journal.happened("dropped", {"id": "j1", "target": "m:f", "pool": None}, 1_800_000_000_000)
        >>> journal.tell()
        {"event":"job.dropped","at":1800000000000,"job":"j1","target":"m:f"}
    """

    def __init__(
        self, *, level: Level = "all", write: Callable[[str], object] | None = None, counting: Counting | None = None
    ) -> None:
        self._told: frozenset[Event] | None = PROBLEMS if level == "problems" else None
        self._write = None if level == "off" else write
        self._counting = counting
        self._idle = self._write is None and counting is None
        self._collected: list[Transition] = []

    # -- during an operation ---------------------------------------------------------------------------

    def scheduled(self, jobs: Iterable[NewJob], now: int) -> None:
        """Jobs were stored. ``wait_ms`` is how long they have until they are due."""
        if self._idle:
            return
        for job in jobs:
            self._collected.append(
                {
                    "event": "scheduled",
                    "at": now,
                    "job": job.id,
                    "incarnation": job.incarnation,
                    "target": job.target,
                    "pool": job.pool,
                    "wait_ms": max(0, job.due - now),
                    "trace_id": trace_id_of(job.traceparent),
                }
            )

    def started(self, jobs: Iterable[Row], dispatch: str, now: int) -> None:
        """Attempts were claimed, and are about to be sent. ``late_ms`` is how long they were due."""
        if self._idle:
            return
        for job in jobs:
            self._add("started", job, now, attempt=job["attempt"], dispatch=dispatch, late_ms=max(0, now - job["due"]))

    def ended(self, job: Row, verdict: Verdict, now: int, *, ran: bool) -> None:
        """An attempt ended. ``wait_ms`` is how long the job has until it is due again.

        Args:
            job: its row.
            verdict: what becomes of it.
            now: epoch milliseconds.
            ran: whether it is known how long its function ran, which is told as ``ran_ms``.
        """
        if self._idle:
            return
        again: Event = "retrying" if verdict.recorded else "refunded"
        self._add(
            # a verdict is never "running"
            again if verdict.state == "pending" else cast("Event", verdict.state),
            job,
            now,
            attempt=job["attempt"],
            dispatch=job["dispatch"],
            ran_ms=max(0, now - job["started"]) if ran and job["started"] is not None else None,
            wait_ms=max(0, verdict.due - now) if verdict.state == "pending" else None,
            code=verdict.code,
            failed=True if verdict.recorded else None,
        )

    def happened(self, event: Event, job: Row, now: int, *, code: str | None = None) -> None:
        """A job was cancelled, given another chance or dropped, or came to rest in another way without an attempt."""
        if not self._idle:
            self._add(event, job, now, code=code)

    def _add(self, event: Event, job: Row, now: int, **further: Any) -> None:
        self._collected.append(
            {
                "event": event,
                "at": now,
                "job": job["id"],
                "incarnation": job.get("incarnation"),
                "target": job.get("target"),
                "pool": job.get("pool"),
                **further,
                "trace_id": trace_id_of(job.get("traceparent")),
            }
        )

    # -- after it --------------------------------------------------------------------------------------

    def tell(self) -> None:
        """The operation was committed: count and tell what happened."""
        if not self._collected:
            return
        collected, self._collected = self._collected, []
        for transition in collected:
            if self._counting is not None:
                self._counting.count(transition)
            if self._write is not None and (self._told is None or transition["event"] in self._told):
                self._write(_line(transition))

    def forget(self) -> None:
        """The operation was undone: nothing of it has happened."""
        self._collected.clear()


def _line(transition: Transition) -> str:
    said = {name: value for name, value in transition.items() if value is not None and name != "failed"}
    return _ENCODE({**said, "event": f"job.{transition['event']}"})
