"""Does what shards hand over from their outboxes, each row once, and cancels, for them and for anybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lunorash.errors import LunoraError
from lunorash.scheduler import queries
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.inserting import Inserting
from lunorash.scheduler.job import NewJob, OutboxRow
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.store import Store

__all__ = ["Accepting"]


class Accepting:
    """Takes rows of outboxes. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        inserting: stores jobs.
        endings: hears of those that cannot be stored.
        journal: hears of them too.
        mint_id: mints their ids and incarnations.
    """

    def __init__(
        self, store: Store, inserting: Inserting, endings: Endings, journal: Journal, mint_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._inserting = inserting
        self._endings = endings
        self._journal = journal
        self._mint_id = mint_id

    def accept(self, shard: str, rows: Sequence[OutboxRow], now: int) -> int:
        """Do what rows say that were not accepted before, in their order; returns the number of the last one.

        A job that cannot be taken, because its id is, becomes a dead letter under an id of its own.
        """
        found = self._store.execute(queries.ACCEPTED, shard)
        accepted: int = found[0]["accepted"] if found else 0
        for row in rows:
            if row.number <= accepted:
                continue
            if row.job is None:
                self.cancel(row.id, now, row.called)
            else:
                self._insert_or_bury(row.job, now, row.called)
            accepted = row.number
        self._store.execute(queries.ACCEPT, shard, accepted)
        return accepted

    def cancel(self, job_id: str, now: int, called: int) -> bool:
        """Cancel a job, or remember the cancel if the job is not here; False if there was none to cancel.

        Args:
            job_id: its id.
            now: epoch milliseconds.
            called: when it was asked for; the cancel applies to a job that was asked for before.
        """
        if self._inserting.cancel(job_id, now):
            return True
        if self._store.execute(queries.REQUEST_CANCEL, job_id):
            return True
        if not self._store.execute(queries.HOLDER_OF_ID, job_id):
            self._store.execute(queries.BURY, job_id, called)
        return False

    def _insert_or_bury(self, job: NewJob, now: int, called: int) -> None:
        try:
            self._inserting.insert(job, now, called, numbered=True)
        except LunoraError as error:
            refused = replace(job, id=self._mint_id(), incarnation=self._mint_id())
            self._inserting.insert(refused, now, called, numbered=True)
            dead = self._store.execute(queries.REFUSE, now, error.code, error.message, refused.id)
            self._endings.ended(dead, "dead", now)
            self._journal.happened("dead", refused.to_dict(), now, code=error.code)
