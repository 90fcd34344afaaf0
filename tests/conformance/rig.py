"""An engine on a store, with everything around it fixed: the clock, the ids, the randomness, the alarm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.refs import Kind
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.history import Retention
from lunorash.scheduler.job import Dispatch, NewJob, Outcome, Result
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.statistics import Statistics
from lunorash.scheduler.store import Row, Store

START: Final = 1_800_000_000_000
"""The instant that all cases begin at. Their times are milliseconds after it."""

ORIGIN: Final = "https://app.example.com"
SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
DAY: Final = 24 * 60 * MINUTE

_JOB_INSTANTS: Final = (
    "due",
    "expires_at",
    "scheduled_for",
    "created",
    "started",
    "ended",
    "refunded_at",
    "unavailable_since",
)
_DISPATCH_INSTANTS: Final = ("opened", "lease", "began")
_BREAKER_INSTANTS: Final = ("since", "probe_at", "proved_at", "failed_at")
_TOMBSTONE_INSTANTS: Final = ("called",)
_POOL_INSTANTS: Final = ("ready_at",)
_INSTANTS: Final = frozenset(
    (*_JOB_INSTANTS, *_DISPATCH_INSTANTS, *_BREAKER_INSTANTS, *_TOMBSTONE_INSTANTS, *_POOL_INSTANTS)
)

POLICY: Final = RetryPolicy(max_attempts=5, base_ms=10 * SECOND)

NO_HISTORY: Final = Retention(history_ms=0)

ONE_BY_ONE: Final = BatchSizes(mutations=1, actions=1)
"""Of dispatches that carry one job each."""


@dataclass(frozen=True, kw_only=True)
class AlarmCall:
    """What the platform was told: the alarm's time, None to take it away."""

    at: int | None


class Rig:
    """An engine whose operations happen at ``now``, milliseconds after `START`.

    Dispatches are called d1, d2, ... in the order they are claimed; a redrive takes the next of these names too.
    """

    def __init__(
        self,
        store: Store,
        *,
        origin: str | None = ORIGIN,
        sizes: BatchSizes = BatchSizes(),  # noqa: B008 - it is immutable
        retention: Retention = Retention(),  # noqa: B008
    ) -> None:
        migrate(store)
        self.store = store
        self.sizes = sizes
        self.retention = retention
        self.now = 0
        self.room = 6
        self.random = 0.0
        self.pool: str | None = None
        """The pool of the jobs that do not name theirs."""
        self.alarm_calls: list[AlarmCall] = []
        self._numbers = count(1)
        self.told: list[dict[str, Any]] = []
        """The lines of the journal."""
        self.restart(origin=origin)

    def restart(self, *, origin: str | None = ORIGIN) -> None:
        """A new object on the same storage: what was in memory is gone. Does not call `resume`."""
        self.statistics = Statistics(self.store)
        self.alarm = Alarm(self._set_alarm, lambda: self.alarm_calls.append(AlarmCall(at=None)))
        self.engine = Engine(
            self.store,
            self.alarm,
            origin=origin,
            room=lambda: self.room,
            random=lambda: self.random,
            mint_id=lambda: f"d{next(self._numbers)}",
            mint_span=lambda: "00f067aa0ba902b7",
            journal=Journal(write=lambda line: self.told.append(json.loads(line)), counting=self.statistics),
            origin_problem="LUNORA_ORIGIN_URL is not set",
            sizes=self.sizes,
            retention=self.retention,
        )

    def _set_alarm(self, at: int) -> None:
        self.alarm_calls.append(AlarmCall(at=at - START))

    def at(self, now: int) -> Rig:
        """Move the clock; returns the rig, to be read as "at 5 s, claim"."""
        self.now = now
        return self

    # -- the engine's operations -----------------------------------------------------------------------

    def schedule(
        self,
        job_id: str = "j",
        due: int | None = None,
        *,
        incarnation: str | None = None,
        retry: RetryPolicy = POLICY,
        args: str = "{}",
        charged: int = 0,
        pool: str | None = None,
        priority: int = 0,
        kind: Kind | None = None,
        shard_key: str | None = None,
        expires_at: int | None = None,
        tags: str | None = None,
        on_complete: str | None = None,
    ) -> list[str]:
        """Schedule one job, due now unless it says when."""
        due = self.now if due is None else due
        job = new_job(job_id, due, incarnation=incarnation, retry=retry, args=args, charged=charged)
        job = replace(job, pool=pool or self.pool, priority=priority, kind=kind, shard_key=shard_key)
        expires_at = None if expires_at is None else START + expires_at
        job = replace(job, expires_at=expires_at, tags=tags, on_complete=on_complete)
        return self.engine.schedule([job], START + self.now)

    def claim(self) -> list[Dispatch]:
        """Take what is due."""
        return self.engine.claim(START + self.now)

    def claim_one(self) -> Dispatch:
        """Take the one dispatch that is due."""
        dispatches = self.claim()
        assert len(dispatches) == 1, f"claimed {dispatches}"
        return dispatches[0]

    def begin(self, dispatch: str) -> bool:
        """The receiver asks whether it may."""
        return self.engine.begin(dispatch, START + self.now)

    def settle(
        self,
        dispatch: str,
        outcome: Outcome = "ok",
        *,
        job: str = "j",
        attempt: int = 1,
        retryable: bool = True,
        code: str | None = None,
        message: str | None = None,
    ) -> None:
        """The receiver says how one attempt ended."""
        result = Result(job=job, attempt=attempt, outcome=outcome, retryable=retryable, code=code, message=message)
        self.engine.settle(dispatch, [result], START + self.now)

    def fail(self, dispatch: str, *, job: str = "j", attempt: int = 1, retryable: bool = True) -> None:
        """One attempt failed with BOOM."""
        self.settle(dispatch, "failed", job=job, attempt=attempt, retryable=retryable, code="BOOM", message="it broke")

    def renew(self, dispatch: str) -> None:
        """A heartbeat came."""
        self.engine.renew(dispatch, START + self.now)

    def complete(self, dispatch: str) -> None:
        """The end line came."""
        self.engine.complete(dispatch, START + self.now)

    def sever(self, dispatch: str) -> None:
        """No answer came, or it broke off."""
        self.engine.sever(dispatch, "connection refused", START + self.now)

    def rescue(self) -> int:
        """Close what has expired."""
        return self.engine.rescue(START + self.now)

    def resume(self) -> None:
        """The object starts."""
        self.engine.resume(START + self.now)

    def cancel(self, job_id: str = "j") -> bool:
        """Cancel a job."""
        return self.engine.cancel(job_id, START + self.now)

    def run_now(self, job_id: str = "j") -> bool:
        """Make a job that waits due now."""
        return self.engine.run_now(job_id, START + self.now)

    def redrive(self, job_id: str = "j") -> bool:
        """Retry a dead letter."""
        return self.engine.redrive(job_id, START + self.now)

    def drop_dead(self, job_id: str = "j") -> bool:
        """Delete a dead letter."""
        return self.engine.drop_dead(job_id, START + self.now)

    def set_pool(
        self,
        name: str,
        *,
        declared: int | None = None,
        paused: bool | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        """Change a pool."""
        self.engine.set_pool(name, START + self.now, declared=declared, paused=paused, max_concurrency=max_concurrency)

    def run_pass(self) -> list[Dispatch]:
        """The alarm goes off: rescue, prune, claim."""
        self.alarm.fired()
        return self.engine.run_pass(START + self.now)

    def prune(self) -> int:
        """Delete old history."""
        return self.engine.prune(START + self.now)

    # -- whole ways of a job ---------------------------------------------------------------------------

    def start(self, job_id: str = "j", *, retry: RetryPolicy = POLICY) -> str:
        """Schedule a job, claim it, begin; returns the id of its dispatch."""
        self.schedule(job_id, retry=retry)
        return self.claim_and_begin()

    def claim_and_begin(self) -> str:
        """Claim the one dispatch that is due, and begin it; returns its id."""
        dispatch = self.claim_one().id
        assert self.begin(dispatch)
        return dispatch

    def claimed(self) -> list[str]:
        """Claim what may start, and begin it; returns the jobs."""
        dispatches = self.claim()
        assert all(self.begin(dispatch.id) for dispatch in dispatches)
        return [attempt.job for dispatch in dispatches for attempt in dispatch.attempts]

    def finish(self, job_id: str = "j") -> None:
        """Schedule a job and let it succeed."""
        dispatch = self.start(job_id)
        self.settle(dispatch, job=job_id)
        self.complete(dispatch)

    def bury(self, job_id: str = "j") -> None:
        """Schedule a job and let it die."""
        dispatch = self.start(job_id)
        self.fail(dispatch, job=job_id, retryable=False)
        self.complete(dispatch)

    # -- what is stored --------------------------------------------------------------------------------

    def job(self, job_id: str = "j") -> Row:
        """A job's row, its instants relative to `START`."""
        rows = self.rows("SELECT * FROM jobs WHERE id = ?", job_id)
        assert len(rows) == 1, f"there is no job {job_id}"
        return rows[0]

    def state(self, job_id: str = "j") -> str | None:
        """A job's state; None if there is no such job."""
        rows = self.rows("SELECT state FROM jobs WHERE id = ?", job_id)
        return rows[0]["state"] if rows else None

    def attempts(self, job_id: str = "j") -> list[Row]:
        """The recorded attempts of a job, the first one first."""
        return self.rows("SELECT * FROM attempts WHERE job = ? ORDER BY number", job_id)

    def dispatches(self) -> list[Row]:
        """The open dispatches."""
        return self.rows("SELECT * FROM dispatches ORDER BY id")

    def breakers(self) -> list[Row]:
        """The rows of all origins."""
        return self.rows("SELECT * FROM origins ORDER BY origin")

    def pools(self) -> list[Row]:
        """All pools."""
        return self.rows("SELECT * FROM pools ORDER BY name")

    def running(self, pool: str) -> set[str]:
        """The jobs of a pool that run."""
        return {row["id"] for row in self.rows("SELECT id FROM jobs WHERE pool = ? AND state = 'running'", pool)}

    def rows(self, sql: str, *params: str) -> list[Row]:
        """Rows with their instants relative to `START`."""
        return [relative(row) for row in self.store.execute(sql, *params)]

    # -- the alarm -------------------------------------------------------------------------------------

    def alarm_set_by(self, work: Callable[[], object]) -> int | None:
        """Where ``work`` leaves the alarm of an object that knew nothing of it; None for taken away."""
        self.alarm.forget()
        before = len(self.alarm_calls)
        work()
        assert len(self.alarm_calls) > before, "the alarm was left as it was"
        return self.alarm_calls[-1].at


def pooled(store: Store, cap: int, jobs: str = "") -> Rig:
    """A rig with a pool of a cap, and jobs in it, each named by a letter and due now."""
    rig = Rig(store)
    rig.pool = "imports"
    rig.set_pool("imports", declared=cap)
    for job_id in jobs:
        rig.schedule(job_id)
    return rig


def new_job(
    job_id: str,
    due: int,
    *,
    incarnation: str | None = None,
    retry: RetryPolicy = POLICY,
    args: str = "{}",
    charged: int = 0,
) -> NewJob:
    """A call to schedule; its incarnation is named after its id unless it says otherwise."""
    return NewJob(
        id=job_id,
        incarnation=f"{job_id}-call" if incarnation is None else incarnation,
        target="billing:end_trial",
        args=args,
        due=START + due,
        retry=retry.to_dict(),
        timeout_ms=600_000,
        charged=charged,
    )


def new_mutation(job_id: str, due: int = 0) -> NewJob:
    """The same of a mutation on the shard s."""
    return replace(new_job(job_id, due), kind="mutation", shard_key="s")


def relative(row: Row) -> Row:
    """A row with its instants relative to `START`."""
    return {name: value - START if name in _INSTANTS and value is not None else value for name, value in row.items()}


@contextmanager
def refused(error: type[BaseException] = Exception, *, code: str | None = None) -> Iterator[list[BaseException]]:
    """The block must raise ``error``, or a `LunoraError` with ``code``; what it raised is in the list afterwards."""
    expected = error if code is None else LunoraError
    raised: list[BaseException] = []
    try:
        yield raised
    except expected as caught:
        raised.append(caught)
    assert raised, f"nothing was raised; expected {code or expected.__name__}"
    assert getattr(raised[0], "code", None) == code or code is None, f"raised {raised[0]!r} instead of {code}"


def relative_dispatch(dispatch: Dispatch) -> Dispatch:
    """A dispatch with the instants of its attempts relative to `START`."""
    return replace(
        dispatch,
        attempts=tuple(replace(attempt, scheduled_for=attempt.scheduled_for - START) for attempt in dispatch.attempts),
    )
