"""The scheduler's core: synchronous, deterministic, knowing nothing of Cloudflare.

Every operation is one transaction on the store and ends by arming the alarm, so a row that waits always has
an alarm that wakes for it. Times are epoch milliseconds and are passed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from lunorash.errors import LunoraError
from lunorash.scheduler import queries
from lunorash.scheduler.accepting import Accepting
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.breaker import Breaker
from lunorash.scheduler.bulk import Bulk
from lunorash.scheduler.claiming import LEASE_MS, UNCONFIGURED, Claiming
from lunorash.scheduler.endings import Endings
from lunorash.scheduler.history import History, Retention
from lunorash.scheduler.ids import mint_span
from lunorash.scheduler.inserting import Inserting
from lunorash.scheduler.job import Dispatch, NewJob, OutboxRow, Result
from lunorash.scheduler.job_filter import MAX_CHANGED, Change, Changed, JobFilter
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.pooling import Pooling
from lunorash.scheduler.pruning import Pruning
from lunorash.scheduler.settling import PROBE, Settling
from lunorash.scheduler.store import Store
from lunorash.scheduler.verdict import Unknown

__all__ = ["Engine"]

T = TypeVar("T")

SEVERED_LEASE_MS: Final = 35_000
"""How long a receiver whose stream broke may need to notice and to stop its attempts."""
KEEP_AWAKE_MS: Final = 30_000
MAX_OPEN_DISPATCHES: Final = 100


class Engine:
    """A SchedulerDO's jobs and dispatches.

    Args:
        store: where the rows are; its tables are up to date.
        alarm: the object's alarm.
        origin: where dispatches go; None if the deployment does not say, and then nothing is claimed.
        origin_problem: why there is no origin.
        room: how many dispatches may be started now.
        random: numbers in [0, 1).
        mint_id: mints ids of dispatches and incarnations.
        mint_span: mints ids of spans, 16 hexadecimal digits.
        journal: hears what happens to jobs.
        sizes: the most that one dispatch carries.
        retention: how long what has come to rest is kept.
        changed: called after each change has been stored.
    """

    def __init__(
        self,
        store: Store,
        alarm: Alarm,
        *,
        origin: str | None,
        room: Callable[[], int],
        random: Callable[[], float],
        mint_id: Callable[[], str],
        mint_span: Callable[[], str] = mint_span,
        journal: Journal | None = None,
        origin_problem: str = "no origin is configured",
        sizes: BatchSizes = BatchSizes(),  # noqa: B008 - it is immutable
        retention: Retention = Retention(),  # noqa: B008
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._changed = changed
        self._alarm = alarm
        self._origin = UNCONFIGURED if origin is None else origin
        self._room = room
        self._random = random
        self._mint_id = mint_id
        self._changing = False
        self._starting = 0
        self.breaker = Breaker(store, random)
        self._pooling = Pooling(store)
        self._journal = Journal() if journal is None else journal
        self._history = History(store, retention)
        self._endings = Endings(store, self._history)
        self._inserting = Inserting(store, self._pooling, self._endings, self._journal)
        self._accepting = Accepting(store, self._inserting, self._endings, self._journal, mint_id)
        self._bulk = Bulk(store, self._pooling, self._endings, mint_id, self._journal)
        self._settling = Settling(
            store, self.breaker, self._pooling, self._endings, self._journal, random, retention=retention
        )
        self._pruning = Pruning(store, self._history)
        self._claiming = Claiming(
            store,
            self.breaker,
            self._pooling,
            self._settling,
            self._journal,
            mint_id=mint_id,
            mint_span=mint_span,
            origin=self._origin,
            origin_problem=origin_problem,
            sizes=sizes,
        )

    # -- asked by callers ------------------------------------------------------------------------------

    def schedule(self, jobs: Sequence[NewJob], now: int) -> list[str]:
        """Store jobs, all or none. A call that landed before is recognised by its incarnation.

        Raises:
            LunoraError: ``DUPLICATE_SCHEDULE_ID`` when another job holds the id, in whatever state.
        """

        def work() -> list[str]:
            for refusal in self._inserting.insert_all(jobs, now):
                if refusal is not None:
                    raise refusal
            return [job.id for job in jobs]

        return self._change(work, now)

    def schedule_many(self, jobs: Sequence[NewJob], now: int) -> list[LunoraError | None]:
        """Store those jobs that can be; for each, in order, None or why it was refused. See `schedule`."""
        return self._change(lambda: self._inserting.insert_all(jobs, now), now)

    def enqueue(self, pool: str, max_concurrency: int, jobs: Sequence[NewJob], now: int) -> list[str]:
        """Store jobs of a pool, all or none, and what code says its cap is; see `schedule`."""

        def work() -> list[str]:
            self._pooling.declare(pool, max_concurrency)
            return self.schedule(jobs, now)

        return self._change(work, now)

    def accept(self, shard: str, rows: Sequence[OutboxRow], now: int) -> int:
        """Do what a shard's mutations have asked for, in order; returns the number of the last row.

        A row that was accepted before, however long ago, is passed over. A job that cannot be taken, because its id
        is, becomes a dead letter under an id of its own, so that it is seen and does not hold up the rows behind it.
        """
        return self._change(lambda: self._accepting.accept(shard, rows, now), now)

    def cancel(self, job_id: str, now: int) -> bool:
        """Cancel a job that has not come to rest; False if there is none.

        A running attempt is not stopped, but nothing is retried. A job that is not here may be on its way from a
        shard: for a day the cancel is remembered, and applies to a call that was made before it.
        """
        return self._change(lambda: self._accepting.cancel(job_id, now, now), now)

    def run_now(self, job_id: str, now: int) -> bool:
        """Make a job that waits due now, if it is not due already; False if none waits by that id.

        It starts as soon as there is room for it: in its pool, and towards an origin that answers.
        """

        def work() -> bool:
            moved = self._store.execute(queries.RUN_NOW, now, job_id)
            for row in moved:
                self._pooling.changed(row["pool"])
            return bool(moved)

        return self._change(work, now)

    def redrive(self, job_id: str, now: int) -> bool:
        """Give a dead letter a new incarnation, due now, with all its attempts; False if it is not dead."""

        def work() -> bool:
            redriven = self._store.execute(queries.REDRIVE, self._mint_id(), now, job_id)
            for row in redriven:
                self._pooling.changed(row["pool"])
                self._journal.happened("redriven", row, now)
            return bool(redriven)

        return self._change(work, now)

    def drop_dead(self, job_id: str, now: int) -> bool:
        """Delete a dead letter for good; False if it is not dead."""

        def work() -> bool:
            dropped = self._store.execute(queries.DROP_DEAD, job_id)
            for row in dropped:
                self._journal.happened("dropped", row, now)
            if dropped:
                self._store.execute(queries.DELETE_ATTEMPTS, json.dumps([job_id]))
            return bool(dropped)

        return self._change(work, now)

    def change_many(
        self,
        change: Change,
        wanted: JobFilter,
        now: int,
        *,
        cursor: str | None = None,
        limit: int = MAX_CHANGED,
        dry_run: bool = False,
    ) -> Changed:
        """Cancel, redrive or drop jobs that a filter chooses, and say where to go on. See `Bulk.change`."""
        return self._change(
            lambda: self._bulk.change(change, wanted, now, cursor=cursor, limit=limit, dry_run=dry_run), now
        )

    def set_pool(
        self,
        name: str,
        now: int,
        *,
        declared: int | None = None,
        paused: bool | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        """Pause or resume a pool, or change its cap; what runs goes on. See `Pooling.set`."""
        self._change(
            lambda: self._pooling.set(name, declared=declared, paused=paused, max_concurrency=max_concurrency), now
        )

    # -- asked by the receiver -------------------------------------------------------------------------

    def begin(self, dispatch_id: str, now: int) -> bool:
        """Whether the receiver may run this dispatch: yes once, and never if it is closed or expired."""
        return self._change(
            lambda: bool(self._store.execute(queries.BEGIN, now, now + LEASE_MS, dispatch_id, now)), now
        )

    # -- done by the object itself ---------------------------------------------------------------------

    def resume(self, now: int) -> None:
        """The object has just started: the readers of its dispatches are gone.

        What never began is due again at once: should its request still be on the way, begin says no.
        """

        def work() -> None:
            self.breaker.keep_only(self._origin)
            for row in self._store.execute(queries.CLOSE_ALL_UNBEGUN):
                self._settling.cut_off(row, "the scheduler restarted before the dispatch began", now)
            self._store.execute(queries.SEVER_ALL, now + SEVERED_LEASE_MS)

        self._change(work, now)

    def run_pass(self, now: int) -> list[Dispatch]:
        """What an alarm does, in one transaction: rescue, prune, claim. Returns what is to be started."""

        def work() -> list[Dispatch]:
            self.rescue(now)
            self.prune(now)
            return self.claim(now)

        return self._change(work, now)

    def claim(self, now: int) -> list[Dispatch]:
        """Take what is due, as much as there is room for, and count each attempt before it is sent."""
        return self._change(lambda: self._claim(now), now)

    def settle(self, dispatch_id: str, results: Iterable[Result], now: int) -> None:
        """Record outcomes. A result of an older attempt, or of a job that has come to rest, changes nothing."""

        def work() -> None:
            self._settling.record(dispatch_id, list(results), now)

        self._change(work, now)

    def renew(self, dispatch_id: str, now: int) -> None:
        """The receiver is alive: its lease starts anew."""
        self._change(lambda: self._store.execute(queries.RENEW, now + LEASE_MS, dispatch_id), now)

    def complete(self, dispatch_id: str, now: int, results: Sequence[Result] = ()) -> None:
        """The stream came to its end line, with some last results: whatever it did not settle is unknown."""

        def work() -> None:
            settled = self._settling.record(dispatch_id, results, now) if results else 0
            for row in self._store.execute(queries.CLOSE_DISPATCH, dispatch_id):
                if row["began"] is None:
                    reason = "the answer came from somebody who had not asked whether to begin"
                    self._settling.never_began(row, reason, now)
                    continue
                if row["jobs"] == PROBE:
                    self.breaker.proved(row["origin"], now)
                if settled < len(json.loads(row["jobs"])):
                    self._settling.end_all(row, Unknown("the receiver ended without a word about this attempt"), now)

        self._change(work, now)

    def sever(self, dispatch_id: str, reason: str, now: int) -> None:
        """No answer came, or its stream broke.

        What never began is refunded and opens the breaker. What began may still be running: its receiver is
        given time to notice and stop, then it is unknown.
        """

        def work() -> None:
            rows = self._store.execute(queries.CLOSE_UNBEGUN, dispatch_id)
            for row in rows:
                self._settling.never_began(row, reason, now)
            if not rows:
                self._store.execute(queries.SEVER, now + SEVERED_LEASE_MS, dispatch_id)

        self._change(work, now)

    def rescue(self, now: int) -> int:
        """Close the dispatches whose lease has ended; returns how many there were."""

        def work() -> int:
            expired = self._store.execute(queries.CLOSE_EXPIRED, now)
            for row in expired:
                if row["began"] is None:
                    self._settling.cut_off(row, "its lease ended and it had not begun", now)
                elif row["jobs"] == PROBE:
                    self.breaker.failed(row["origin"], "the probe began and never ended", now)
                else:
                    self._settling.end_all(row, Unknown("the receiver was not heard of again"), now)
            return len(expired)

        return self._change(work, now)

    def prune(self, now: int) -> int:
        """Delete what has rested long enough, a bounded number of jobs; returns how many. See `Pruning.prune`."""
        return self._change(lambda: self._pruning.prune(now), now)

    def rearm(self, now: int) -> None:
        """Arm the alarm: something outside the rows has changed, such as the room."""
        self._change(lambda: None, now)

    def next_wake(self, now: int) -> int | None:
        """The earliest reason to wake, in epoch milliseconds; None if there is none."""
        seen = self._store.execute(queries.WHEN_TO_WAKE)[0]
        reasons: list[int] = []
        if seen["open"]:
            # keeps the object awake while attempts run, and notices dead streams
            reasons.append(min(seen["lease"], now + KEEP_AWAKE_MS))
        due = min((at for at in (seen["due"], seen["ready_at"]) if at is not None), default=None)
        if due is not None and self._free(seen["open"]) > 0:
            probe_at = self.breaker.look(self._origin).probe_at
            reasons.append(due if probe_at is None else max(due, probe_at))
        prune_at = self._pruning.next_due(seen)
        if prune_at is not None:
            reasons.append(prune_at)
        return min(reasons, default=None)

    # -- one transaction, then the alarm ---------------------------------------------------------------

    def _change(self, work: Callable[[], T], now: int) -> T:
        if self._changing:
            return work()  # part of a larger operation, which arms at its end

        def body() -> T:
            result = work()
            self._inserting.insert_made(self._endings.take(), now)
            self._history.write()
            self._pooling.refresh()
            self._alarm.arm(self.next_wake(now), now)
            return result

        self._changing = True
        try:
            result = self._store.transaction(body)
        except BaseException:
            self._alarm.forget()
            self._journal.forget()
            raise
        finally:
            self._changing, self._starting = False, 0
            self._endings.forget()
            self._history.forget()
            self._pooling.forget()
        self._changed()
        self._journal.tell()
        return result

    def _free(self, open_dispatches: int) -> int:
        """How many dispatches may still be opened; those of this operation have not reached the wire yet."""
        return min(self._room() - self._starting, MAX_OPEN_DISPATCHES - open_dispatches)

    def _claim(self, now: int) -> list[Dispatch]:
        open_dispatches: int = self._store.execute(queries.OPEN_DISPATCHES)[0]["open"]
        dispatches = self._claiming.claim(self._free(open_dispatches), now)
        self._starting += len(dispatches)
        return dispatches
