"""Takes jobs in: one at a time, or many in few statements, each of them answered by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from lunorash.errors import LunoraError
from lunorash.scheduler import queries
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.job import NewJob
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.store import Store, Value

__all__ = ["Inserting"]

_STATEMENT_BYTES: Final = 1_000_000
"""How much one statement carries: a Durable Object takes no text of more than 2 MB."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_Batch = list[tuple[NewJob, str]]


class Inserting:
    """Stores new jobs. Used by the engine, inside its transactions.

    Args:
        store: where the rows are.
        pooling: hears of jobs that come.
        endings: hears of those that are canceled at once.
        journal: hears of them too.
    """

    def __init__(self, store: Store, pooling: Pooling, endings: Endings, journal: Journal) -> None:
        self._store = store
        self._pooling = pooling
        self._endings = endings
        self._journal = journal

    def insert(self, job: NewJob, now: int, called: int, *, numbered: bool = False) -> None:
        """Store a job, unless it is here already.

        Args:
            job: to be stored.
            now: epoch milliseconds.
            called: when it was asked for: a cancel that was asked for later, and came earlier, applies to it.
            numbered: whether it came as a row of a shard's outbox.

        Raises:
            LunoraError: ``DUPLICATE_SCHEDULE_ID`` when another job holds the id, in whatever state.
        """
        held = self._store.execute(queries.HOLDER_OF_ID, job.id)
        if held:
            if held[0]["scheduled_as"] == job.incarnation:
                return
            raise _duplicate(job.id, held[0]["state"])
        self._store.execute(queries.INSERT, *_columns(job, now, numbered=numbered))
        self._pooling.join(job.pool)
        self._journal.scheduled([job], now)
        if self._store.execute(queries.BURIED_AFTER, job.id, called):
            self.cancel(job.id, now)

    def cancel(self, job_id: str, now: int) -> bool:
        """Cancel a job that waits; False if there is none."""
        canceled = self._store.execute(queries.CANCEL_PENDING, now, job_id)
        for row in canceled:
            self._pooling.changed(row["pool"])
            self._journal.happened("canceled", row, now)
        self._endings.ended(canceled, "canceled", now)
        return bool(canceled)

    def insert_all(self, jobs: Sequence[NewJob], now: int) -> list[LunoraError | None]:
        """Store jobs that are asked for now; what `insert` would raise for one is said of that one.

        Returns:
            for each job, in order, None or why it was refused.
        """
        said: list[LunoraError | None] = []
        for batch in _batches(jobs, now, numbered=False):
            if len(batch) == 1:
                said += [self._attempt(job, now) for job, _ in batch]
            else:
                said += self._insert_batch(batch, now)
        return said

    def insert_made(self, jobs: Sequence[NewJob], now: int) -> None:
        """Store jobs that are made by the engine itself, each of them once, whatever it was made twice for."""
        for batch in _batches(jobs, now, numbered=True):
            if len(batch) == 1:
                self.insert(batch[0][0], now, called=now, numbered=True)
            else:
                self._insert_batch(batch, now)

    def _attempt(self, job: NewJob, now: int) -> LunoraError | None:
        try:
            self.insert(job, now, called=now)
        except LunoraError as error:
            return error
        return None

    def _insert_batch(self, batch: _Batch, now: int) -> list[LunoraError | None]:
        ids = json.dumps([job.id for job, _ in batch])
        held = {row["id"]: row for row in self._store.execute(queries.HOLDERS_OF_IDS, ids)}
        said: list[LunoraError | None] = []
        fresh: _Batch = []
        for job, text in batch:
            if job.id not in held:
                fresh.append((job, text))
                held[job.id] = {"scheduled_as": job.incarnation, "state": "pending"}
            holder = held[job.id]
            said.append(None if holder["scheduled_as"] == job.incarnation else _duplicate(job.id, holder["state"]))
        self._store.execute(queries.INSERT_ALL, f"[{','.join(text for _, text in fresh)}]")
        for pool in {job.pool for job, _ in fresh}:
            self._pooling.join(pool)
        self._journal.scheduled([job for job, _ in fresh], now)
        for row in self._store.execute(queries.BURIED_AFTER_OF, json.dumps([job.id for job, _ in fresh]), now):
            self.cancel(row["id"], now)
        return said


def _batches(jobs: Sequence[NewJob], now: int, *, numbered: bool) -> Iterator[_Batch]:
    """Jobs in order with their columns as text, as many at a time as one statement carries.

    By itself is what is larger than that, and what may hold a null character: SQLite ends a text of JSON's there.
    """
    batch: _Batch = []
    size = 0
    for job in jobs:
        text = _ENCODER.encode(_columns(job, now, numbered=numbered))
        own = _STATEMENT_BYTES if "\\u0000" in text else len(text.encode()) + 1
        if batch and size + own > _STATEMENT_BYTES:
            yield batch
            batch, size = [], 0
        batch.append((job, text))
        size += own
    if batch:
        yield batch


def _columns(job: NewJob, now: int, *, numbered: bool) -> tuple[Value, ...]:
    """The parameters of ``INSERT``, in its order."""
    return (
        job.id,
        job.incarnation,
        job.target,
        job.args,
        job.due,
        now,
        json.dumps(job.retry),
        job.timeout_ms,
        job.shard_key,
        job.charged,
        job.scheduled_for,
        job.pool,
        job.priority,
        job.kind,
        len(job.args.encode()),
        int(numbered),
        job.traceparent,
        job.expires_at,
        job.tags,
        job.on_complete,
    )


def _duplicate(job_id: str, state: str) -> LunoraError:
    way_out = {
        "pending": "cancel it first, or choose another id",
        "running": "wait for it, or choose another id",
        "dead": "retry or drop the dead letter, or choose another id",
    }.get(state, "choose another id: finished jobs keep theirs as long as they are kept as history")
    return LunoraError("DUPLICATE_SCHEDULE_ID", f"the id {job_id!r} belongs to a job that is {state}; {way_out}")
