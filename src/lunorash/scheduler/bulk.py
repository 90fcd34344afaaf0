"""Changes many jobs in one call: those that a filter chooses, of which each call meets a bounded number.

A filter is no access path: jobs are gone through in the order of the lists, by an index, and looked at one by one. A
call ends when it has changed as many as it may, or looked at `MAX_SCANNED`, and says where the next one goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from lunorash.scheduler import queries
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.job import State
from lunorash.scheduler.job_filter import Change, Changed, JobFilter, check_limit, states_to_change
from lunorash.scheduler.journal import Event, Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.store import Row, Store
from lunorash.scheduler.walking import Place, walk

__all__ = ["MAX_SCANNED", "Bulk"]

MAX_SCANNED: Final = 2_000
"""Jobs that one call looks at."""


class Bulk:
    """Cancels, redrives and drops. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        pooling: hears of jobs that have changed.
        endings: hears of those that are canceled.
        mint_id: mints incarnations.
        journal: hears of them too.
    """

    def __init__(
        self, store: Store, pooling: Pooling, endings: Endings, mint_id: Callable[[], str], journal: Journal
    ) -> None:
        self._store = store
        self._pooling = pooling
        self._endings = endings
        self._mint_id = mint_id
        self._journal = journal

    def change(
        self, change: Change, wanted: JobFilter, now: int, *, cursor: str | None, limit: int, dry_run: bool
    ) -> Changed:
        """Do to each job that is chosen what the engine's operation of that name does to one.

        Args:
            change: what to do.
            wanted: which jobs are meant.
            now: epoch milliseconds.
            cursor: what the call before returned; None for the first.
            limit: how many to change at most.
            dry_run: whether to change nothing, and only tell which.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a change, a state, a cursor or a limit that cannot be.
        """
        check_limit(limit)
        states = states_to_change(change, wanted)
        start = Place.before(states[0]) if cursor is None else Place.of_cursor(cursor, states)
        end: Place | None = None
        chosen: list[Row] = []
        scanned = 0
        for place, row in self._walk(states, start, wanted):
            scanned += 1
            if wanted.passes(row) and not _is_stopping(row):
                chosen.append(row)
            if len(chosen) == limit or scanned == MAX_SCANNED:
                end = place
                break
        if chosen and not dry_run:
            self._apply(change, chosen, now)
            for pool in {row["pool"] for row in chosen}:
                self._pooling.changed(pool)
        return Changed(
            ids=tuple(row["id"] for row in chosen),
            targets=dict(Counter(row["target"] for row in chosen)),
            scanned=scanned,
            cursor=None if end is None else end.cursor,
            now=now,
        )

    def _walk(self, states: Sequence[State], place: Place, wanted: JobFilter) -> Iterator[tuple[Place, Row]]:
        """The jobs behind a place, each with its own, as far as their times may still be meant."""
        for state in states[states.index(place.state) :]:
            here = place if place.state == state else Place.before(state)
            for row in walk(self._store, state, here.spot, wanted, "incarnation, cancel_requested, traceparent"):
                yield here.at(row), row

    def _apply(self, change: Change, chosen: Sequence[Row], now: int) -> None:
        ids = json.dumps([row["id"] for row in chosen])
        if change == "cancel":
            canceled = self._store.execute(queries.CANCEL_ALL_PENDING, now, ids)
            self._endings.ended(canceled, "canceled", now)
            self._store.execute(queries.REQUEST_ALL_CANCELS, ids)
            self._tell("canceled", (row for row in chosen if row["state"] == "pending"), now)
        elif change == "redrive":
            incarnations = {row["id"]: self._mint_id() for row in chosen}
            self._store.execute(queries.REDRIVE_ALL, json.dumps(incarnations), now)
            self._tell("redriven", ({**row, "incarnation": incarnations[row["id"]]} for row in chosen), now)
        else:
            self._store.execute(queries.DROP_ALL_DEAD, ids)
            self._store.execute(queries.DELETE_ATTEMPTS, ids)
            self._tell("dropped", chosen, now)

    def _tell(self, event: Event, jobs: Iterable[Row], now: int) -> None:
        for job in jobs:
            self._journal.happened(event, job, now)


def _is_stopping(row: Row) -> bool:
    """Whether its cancel has been asked for before: doing that again would be no change."""
    return bool(row["state"] == "running" and row["cancel_requested"])
