"""How long jobs are kept that have come to rest, and how many of them there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.store import Store

__all__ = ["DEAD_RETENTION_MS", "HISTORY_LIMIT", "HISTORY_MS", "KNOWN_MS", "History", "Retention"]

HISTORY_MS: Final = 7 * 24 * 60 * 60 * 1000
HISTORY_LIMIT: Final = 100_000
DEAD_RETENTION_MS: Final = 90 * 24 * 60 * 60 * 1000

KNOWN_MS: Final = 10 * 60 * 1000
"""How long a call to schedule is known again without history, should it be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long jobs are kept that have come to rest. Times are milliseconds.

    Args:
        history_ms: those that have succeeded, were canceled or have expired; 0 to delete those that have succeeded at
            once, but for what is needed to know a repeated call again, and to keep the others for a week.
        history_limit: how many of them; of more the oldest go, but none within ten minutes.
        dead_ms: dead letters.
    """

    history_ms: int = HISTORY_MS
    history_limit: int = HISTORY_LIMIT
    dead_ms: int = DEAD_RETENTION_MS

    @property
    def succeeded_ms(self) -> int:
        """How long a job is kept that has succeeded and has a row."""
        return self.history_ms or KNOWN_MS

    @property
    def unsuccessful_ms(self) -> int:
        """How long a job is kept that was canceled, or has expired."""
        return self.history_ms or HISTORY_MS


class History:
    """The number of jobs that are kept as history: all that have come to rest but dead letters.

    It is written with the rows it counts, once for each operation of the engine. To count them when it matters would
    cost the more the more there are.

    Args:
        store: where the rows are.
        retention: how long they are kept.
    """

    def __init__(self, store: Store, retention: Retention) -> None:
        self._store = store
        self._change = 0
        self.retention = retention

    def add(self, jobs: int) -> None:
        """So many have come to rest; a negative number was deleted."""
        self._change += jobs

    def write(self) -> None:
        """The operation is about to be committed."""
        if self._change:
            self._store.execute(queries.ADD_TO_HISTORY, self._change)
            self._change = 0

    def forget(self) -> None:
        """The operation is over. If it was undone, so is what it counted."""
        self._change = 0

    def excess(self) -> int:
        """How many there are beyond the limit, this operation's included; 0 or less if there are none."""
        kept: int = self._store.execute(queries.HISTORY)[0]["kept"]
        return kept + self._change - self.retention.history_limit
