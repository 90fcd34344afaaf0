"""Whose turn it is: the lease under which a cron job that must not overlap runs.

It is renewed while the run lasts. A run whose Worker is gone renews nothing, and soon the next one has its turn.
"""

from __future__ import annotations

from typing import Final

from lunorash.scheduler.store import Store

__all__ = ["LEASE_MS", "CronLeases"]

LEASE_MS: Final = 30_000
"""How long a lease stands without being renewed, in milliseconds."""

_HOLD: Final = """
INSERT INTO _lunora_cron_leases VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET holder = ?2, until = ?3 WHERE holder = ?2 OR until <= ?4
RETURNING name
"""

_RELEASE: Final = "DELETE FROM _lunora_cron_leases WHERE name = ? AND holder = ?"


class CronLeases:
    """The leases, in the default shard. Times are epoch milliseconds, by the shard's own clock.

    Args:
        store: the shard's.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def hold(self, name: str, holder: str, now: int) -> bool:
        """Take a lease, or renew it; False while another holds it.

        Args:
            name: the cron job's.
            holder: the id of the run.
            now: the time.
        """
        return bool(self._store.execute(_HOLD, name, holder, now + LEASE_MS, now))

    def release(self, name: str, holder: str) -> None:
        """Give a lease back, if it is still held."""
        self._store.execute(_RELEASE, name, holder)
