"""Taking what is due: opens dispatches, and counts every attempt before it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.job import Attempt, Dispatch
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.settling import Settling
from lunorash.scheduler.store import Row, Store

__all__ = ["LEASE_MS", "UNCONFIGURED", "Claiming"]

LEASE_MS: Final = 60_000
UNCONFIGURED: Final = ""
"""The origin of an object that has none: its breaker is what keeps the alarm from spinning."""


class Claiming:
    """Claims jobs. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        breaker: says whether the origin may be called.
        pooling: says which jobs may start.
        settling: charges jobs that their origin refuses.
        mint_id: mints ids of dispatches.
        origin: where dispatches go; `UNCONFIGURED` if the deployment does not say.
        origin_problem: why there is none.
    """

    def __init__(
        self,
        store: Store,
        breaker: Breaker,
        pooling: Pooling,
        settling: Settling,
        *,
        mint_id: Callable[[], str],
        origin: str,
        origin_problem: str,
    ) -> None:
        self._store = store
        self._breaker = breaker
        self._pooling = pooling
        self._settling = settling
        self._mint_id = mint_id
        self._origin = origin
        self._origin_problem = origin_problem

    def claim(self, free: int, now: int) -> list[Dispatch]:
        """Claim what is due, as far as there is room, here and in its pool.

        Args:
            free: how many dispatches may be opened.
            now: epoch milliseconds.

        Returns:
            what is to be sent; while the origin's breaker is open at most its probe.
        """
        due = self._pooling.startable(free, now) if free > 0 else []
        if not due:
            return []
        origin = self._breaker.look(self._origin)
        if origin.probe_at is not None and origin.probe_at > now:
            return []
        if self._origin == UNCONFIGURED:
            self._breaker.failed(UNCONFIGURED, self._origin_problem, now)
            return []
        if origin.probe_at is not None:
            self._breaker.probing(self._origin, now + LEASE_MS)
            return [self._open((), now)]
        dispatches = []
        for row in due:
            # The first probe after the refusal came back: had there been an outage, it would have failed.
            if row["suspected"] and (origin.proved_at or 0) > row["refunded_at"] > (origin.failed_at or 0):
                self._settling.charge_refusal(row, now)
            else:
                dispatches.append(self._open((row,), now))
        return dispatches

    def _open(self, rows: tuple[Row, ...], now: int) -> Dispatch:
        dispatch_id = self._mint_id()
        self._store.execute(
            queries.OPEN_DISPATCH,
            dispatch_id,
            self._origin,
            now,
            now + LEASE_MS,
            json.dumps([row["id"] for row in rows]),
        )
        return Dispatch(id=dispatch_id, attempts=tuple(self._attempt(row, dispatch_id, now) for row in rows))

    def _attempt(self, row: Row, dispatch_id: str, now: int) -> Attempt:
        self._store.execute(queries.CLAIM, dispatch_id, now, row["id"])
        self._pooling.changed(row["pool"])
        return Attempt(
            job=row["id"],
            incarnation=row["incarnation"],
            number=row["attempt"] + 1,
            charged=row["charged"] + 1,
            max_attempts=json.loads(row["retry"])["max_attempts"],
            redrives=row["redrives"],
            target=row["target"],
            args=row["args"],
            scheduled_for=row["scheduled_for"],
            timeout_ms=row["timeout_ms"],
            shard_key=row["shard_key"],
        )
