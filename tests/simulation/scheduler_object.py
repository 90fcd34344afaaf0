"""SchedulerDO without Cloudflare: the same shell around the same engine and dispatch loop.

Line by line what `lunorash.scheduler.durable_object` does; that module can only be imported inside a Worker.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lunorash.codec import decode_json
from lunorash.errors import LunoraError
from lunorash.scheduler import listing
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.dispatching import Dispatcher, Transport
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.history import HISTORY_MS, Retention
from lunorash.scheduler.job import NewJob, OutboxRow
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.schema import migrate

from .durable import ObjectStore
from .journal import Journal

__all__ = ["SchedulerObject"]


class WatchedDispatcher(Dispatcher):
    """Says whether it is claiming: what it has claimed is not under way before the end of that."""

    claiming = False

    def run_pass(self) -> None:
        self.claiming = True
        try:
            super().run_pass()
        finally:
            self.claiming = False

    def _fill(self) -> None:
        self.claiming = True
        try:
            super()._fill()
        finally:
            self.claiming = False


class SchedulerObject:
    """One life of the object.

    Args:
        store: its rows.
        set_alarm: sets the platform's alarm.
        delete_alarm: takes it away.
        transport: sends dispatches.
        origin: where to; None if the deployment does not say.
        clock: now, in epoch milliseconds.
        random: numbers in [0, 1).
        mint: mints ids.
        journal: learns what it was asked, and what should never come up.
        sizes: the most that one dispatch carries.
        history: whether jobs that have succeeded are kept.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        set_alarm: Callable[[int], object],
        delete_alarm: Callable[[], object],
        transport: Transport,
        origin: str | None,
        clock: Callable[[], int],
        random: Callable[[], float],
        mint: Callable[[], str],
        journal: Journal,
        sizes: BatchSizes,
        history: bool,
    ) -> None:
        self._store = store
        migrate(store)
        self._alarm = Alarm(set_alarm, delete_alarm)
        self._origin = origin
        self._clock = clock
        self._journal = journal
        self.engine = Engine(
            store,
            self._alarm,
            origin=origin,
            room=lambda: self.dispatcher.room(),  # noqa: PLW0108 - the dispatcher comes after the engine
            random=random,
            mint_id=mint,
            sizes=sizes,
            retention=Retention(history_ms=HISTORY_MS if history else 0),
        )
        self.dispatcher = WatchedDispatcher(
            self.engine, transport, clock=clock, log=lambda text: journal.note("scheduler: %s", text)
        )
        self.asked: tuple[str, str] | None = None
        """The call that is being served, and its job."""
        self.wanted = JobFilter()
        """Which jobs are meant by the call that changes many."""
        self.engine.resume(clock())

    async def alarm(self) -> None:
        self._alarm.fired()
        try:
            self.dispatcher.run_pass()
        except Exception as error:  # noqa: BLE001
            self._journal.violate("no pass raises", "the alarm's pass raised %r", error)
            self.engine.rearm(self._clock())

    async def begin(self, dispatch_id: str) -> bool:
        return self.engine.begin(dispatch_id, self._clock())

    async def schedule(self, text: str) -> str:
        def work() -> list[str]:
            if self._origin is None:
                raise LunoraError("ORIGIN_NOT_CONFIGURED", "LUNORA_ORIGIN_URL is not set")
            return self.engine.schedule([NewJob(**job) for job in decode_json(text)], self._clock())

        return self._answer("schedule", "", work)

    async def schedule_many(self, text: str) -> str:
        def work() -> list[dict[str, Any] | None]:
            if self._origin is None:
                raise LunoraError("ORIGIN_NOT_CONFIGURED", "LUNORA_ORIGIN_URL is not set")
            refusals = self.engine.schedule_many([NewJob(**job) for job in decode_json(text)], self._clock())
            return [None if refusal is None else refusal.to_dict() for refusal in refusals]

        return self._answer("schedule_many", "", work)

    async def enqueue(self, text: str) -> str:
        def work() -> list[str]:
            if self._origin is None:
                raise LunoraError("ORIGIN_NOT_CONFIGURED", "LUNORA_ORIGIN_URL is not set")
            handed = decode_json(text)
            jobs = [NewJob(**job) for job in handed["jobs"]]
            return self.engine.enqueue(handed["pool"], handed["max_concurrency"], jobs, self._clock())

        return self._answer("enqueue", "", work)

    async def accept(self, text: str) -> str:
        def work() -> int:
            handed = decode_json(text)
            rows = [OutboxRow.from_dict(row) for row in handed["rows"]]
            return self.engine.accept(handed["shard"], rows, self._clock())

        return self._answer("accept", "", work)

    async def cancel(self, job_id: str) -> str:
        def work() -> bool:
            canceled = self.engine.cancel(job_id, self._clock())
            if canceled:
                self._journal.on_cancel(job_id)
            return canceled

        return self._answer("cancel", job_id, work)

    async def redrive(self, job_id: str) -> str:
        return self._answer("redrive", job_id, lambda: self.engine.redrive(job_id, self._clock()))

    async def drop_dead(self, job_id: str) -> str:
        return self._answer("drop_dead", job_id, lambda: self.engine.drop_dead(job_id, self._clock()))

    async def change_many(self, text: str) -> str:
        def work() -> dict[str, Any]:
            asked = decode_json(text)
            wanted = self.wanted = JobFilter.from_dict(asked.pop("filter"))
            changed = self.engine.change_many(wanted=wanted, now=self._clock(), **asked)
            if asked["change"] == "cancel" and not asked["dry_run"]:
                for job_id in changed.ids:
                    self._journal.on_cancel(job_id)
            return changed.to_dict()

        return self._answer("change_many", "", work)

    async def get(self, job_id: str) -> str:
        return self._answer("get", job_id, lambda: listing.find(self._store, job_id))

    async def list(self, text: str) -> str:
        return self._answer("list", "", lambda: listing.page(self._store, **decode_json(text)))

    async def status(self) -> str:
        def work() -> dict[str, Any]:
            return listing.status(
                self._store, self.engine.breaker, self._origin or "", now=self._clock(), alarm=self._alarm.armed
            )

        return self._answer("status", "", work)

    async def pool(self, text: str) -> str:
        def work() -> dict[str, Any] | None:
            change = decode_json(text)
            self.engine.set_pool(now=self._clock(), **change)
            return listing.pool(self._store, change["name"])

        return self._answer("pool", "", work)

    async def pools(self, text: str) -> str:
        return self._answer("pools", "", lambda: listing.pools(self._store, **decode_json(text)))

    def _answer(self, method: str, job_id: str, work: Callable[[], Any]) -> str:
        self.asked = method, job_id
        try:
            if self._alarm.lost(self._clock()):
                self.engine.rearm(self._clock())
            return json.dumps({"ok": work()})
        except LunoraError as error:
            return json.dumps({"error": error.to_dict()})
        except Exception as error:  # noqa: BLE001
            self._journal.violate("no call raises", "%s raised %r", method, error)
            return json.dumps({"error": LunoraError("INTERNAL", "unexpected").to_dict()})
        finally:
            self.asked = None
