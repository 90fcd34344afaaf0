"""Watches what is on record of attempts that failed: each was sent, and ended as is said."""

from __future__ import annotations

from collections import Counter
from typing import Final

from lunorash.scheduler.store import Row

from .durable import CountedStore
from .journal import Journal
from .network import Network

__all__ = ["Records"]

_RAN: Final = {
    "ATTEMPT_FAILED": ("failed", "canceled"),  # canceled: the function cancelled itself
    "CARD_REFUSED": ("failed",),
    "ATTEMPT_TIMED_OUT": ("canceled", "failed", "ok"),
}
"""What must have become of an attempt that was recorded with this code."""


class Records:
    """The watcher of recorded attempts.

    Args:
        store: where they are.
        journal: what really ran.
        network: what was really sent.
    """

    def __init__(self, store: CountedStore, journal: Journal, network: Network) -> None:
        self._store = store
        self._journal = journal
        self._network = network
        self._refunds: Counter[tuple[str, str]] = Counter()
        """Refunds of a job in a row."""

    def refunded(self, key: tuple[str, str]) -> None:
        """An attempt of a job and incarnation was refunded."""
        self._refunds[key] += 1

    def accounted(self, row: Row) -> None:
        """What was charged is what was recorded, and the attempt that runs."""
        recorded = self._store.execute(
            "SELECT count(*) AS n FROM attempts WHERE job = ? AND incarnation = ?", row["id"], row["incarnation"]
        )[0]["n"]
        unrecorded = row["charged"] - recorded
        expected = {"pending": (0,), "dead": (0,), "running": (1,)}.get(row["state"], (0, 1))
        if unrecorded not in expected:
            self._journal.violate(
                "what is charged is accounted for",
                "%s is %s and charged %d, with %d attempts recorded", row["id"], row["state"], row["charged"], recorded,
            )  # fmt: skip

    def recorded(self, row: Row, now: int) -> None:
        """The attempt that was charged was sent, and ended as is said."""
        recorded = self._store.execute(
            "SELECT dispatch, ended FROM attempts WHERE job = ? AND number = ?", row["id"], row["attempt"]
        )
        code = row["error_code"]
        if not recorded or recorded[0]["ended"] != now:
            self._journal.violate("what is charged is recorded", "%s #%d is not", row["id"], row["attempt"])
        key = row["id"], row["incarnation"]
        if code == "NEVER_BEGAN":
            # It was refused twice, with a good origin around it, or brings the scheduler down before it is sent.
            if self._refunds[key] < 2:
                self._journal.violate("the first refusal is refunded", "%s #%d was charged", row["id"], row["attempt"])
            return
        self._refunds.pop(key, None)
        if recorded and recorded[0]["dispatch"] not in self._network.opened:
            self._journal.violate("only what was sent is charged", "%s #%d was not", row["id"], row["attempt"])
        outcome = self._journal.outcome(row["id"], row["incarnation"], row["attempt"])
        if code in _RAN and outcome not in _RAN[code]:
            self._journal.violate(
                "what is recorded happened",
                "%s #%d is recorded as %s, but %s",
                row["id"],
                row["attempt"],
                code,
                outcome,
            )
