"""The origin's breaker: while nobody answers there, no job is sent, and none is charged.

It opens when a dispatch provably never began. From then on only its own probes go out, signed dispatches
without attempts, so that no job's poison keeps it open. The first goes at once, the next with a backoff.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

__all__ = ["Breaker", "Origin"]

_PROBES: Final = RetryPolicy(base_ms=1_000, max_ms=60_000, jitter=0.2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is known of one origin. ``probe_at`` is None while its breaker is closed."""

    origin: str
    since: int | None = None
    probe_at: int | None = None
    failures: int = 0
    reason: str | None = None
    proved_at: int | None = None
    failed_at: int | None = None


class Breaker:
    """The breakers of a SchedulerDO, one row per origin.

    Args:
        store: where the rows are.
        random: numbers in [0, 1), for the jitter of the probes.
    """

    def __init__(self, store: Store, random: Callable[[], float]) -> None:
        self._store = store
        self._random = random

    def look(self, origin: str) -> Origin:
        """What is known of ``origin``."""
        rows = self._store.execute("SELECT * FROM origins WHERE origin = ?", origin)
        return Origin(**rows[0]) if rows else Origin(origin=origin)

    def trip(self, origin: str, reason: str, now: int) -> None:
        """A dispatch never began: open, with a probe due at once. An open breaker stays as it is."""
        self._store.execute(
            """
            INSERT INTO origins (origin, since, probe_at, failures, reason) VALUES (?1, ?2, ?2, 0, ?3)
            ON CONFLICT (origin) DO UPDATE SET since = ?2, probe_at = ?2, failures = 0, reason = ?3
            WHERE probe_at IS NULL
            """,
            origin,
            now,
            reason,
        )

    def probing(self, origin: str, until: int) -> None:
        """A probe is on its way: no other before ``until``."""
        self._store.execute("UPDATE origins SET probe_at = ? WHERE origin = ?", until, origin)

    def failed(self, origin: str, reason: str, now: int) -> None:
        """A probe failed, or there is nowhere to send one: open, and try again after a backoff."""
        failures = self.look(origin).failures + 1
        self._store.execute(
            """
            INSERT INTO origins (origin, since, probe_at, failures, reason, failed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?2)
            ON CONFLICT (origin) DO UPDATE
            SET since = coalesce(since, ?2), probe_at = ?3, failures = ?4, reason = ?5, failed_at = ?2
            """,
            origin,
            now,
            now + _PROBES.delay_ms(failures, random=self._random),
            failures,
            reason,
        )

    def proved(self, origin: str, now: int) -> None:
        """A probe came back: closed."""
        self._store.execute(
            """
            UPDATE origins SET since = NULL, probe_at = NULL, failures = 0, reason = NULL, proved_at = ?
            WHERE origin = ?
            """,
            now,
            origin,
        )

    def keep_only(self, origin: str) -> None:
        """Forget all origins but the one that is configured now."""
        self._store.execute("DELETE FROM origins WHERE origin <> ?", origin)
