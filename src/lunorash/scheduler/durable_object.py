"""SchedulerDO: the shell around the engine. RPC methods, the alarm, and nothing that decides."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from typing import Any

import js
from workers import DurableObject, Response

from lunorash.codec import decode_json
from lunorash.errors import LunoraError
from lunorash.incident import report
from lunorash.scheduler import finding, listing
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.dispatching import Dispatcher
from lunorash.scheduler.durable_store import DurableStore
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.fetch_transport import FetchTransport
from lunorash.scheduler.history import Retention
from lunorash.scheduler.ids import mint_id
from lunorash.scheduler.job import NewJob, OutboxRow
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.journal import Journal, Level
from lunorash.scheduler.live import MAX_WATCHERS, Live
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.settings import (
    check_settings,
    read_batch_sizes,
    read_log,
    read_loopback,
    read_origin,
    read_retention,
    read_secrets,
)
from lunorash.scheduler.statistics import FLUSH_S, Statistics
from lunorash.scheduler.web_sockets import WebSockets

__all__ = ["SchedulerDO"]


class SchedulerDO(DurableObject):  # type: ignore[misc]
    """Keeps jobs, wakes by its alarm, and calls the Worker back.

    Export it from your Worker's entry and list it under ``new_sqlite_classes``. Apps talk to it through
    `create_scheduler`; its methods take and return JSON text, so that numbers arrive as they were sent, and
    answer ``{"ok": ...}`` or ``{"error": {"code", "message"}}``, since exception types do not cross RPC.
    """

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        self._store = DurableStore(ctx.storage)
        migrate(self._store)
        self._statistics = Statistics(self._store, self._flush_soon)
        level: Level
        try:
            self._origin, key, loopback, problem = read_origin(env), read_secrets(env)[0], read_loopback(env), ""
            sizes, retention, level = read_batch_sizes(env), read_retention(env), read_log(env)
        except LunoraError as error:
            self._origin, key, loopback, problem = "", b"", False, error.message
            sizes, retention, level = BatchSizes(), Retention(), "all"
        self._misconfigured = bool(problem)
        # Called, not awaited: the alarm then belongs to the transaction that is open. Closing the wrapper's
        # coroutine says that nobody means to await it.
        self._alarm = Alarm(lambda at: ctx.storage.setAlarm(at).close(), lambda: ctx.storage.deleteAlarm().close())
        self._engine = Engine(
            self._store,
            self._alarm,
            origin=self._origin or None,
            origin_problem=problem,
            room=lambda: self._dispatcher.room(),  # noqa: PLW0108 - the dispatcher comes after the engine
            random=random.random,
            mint_id=mint_id,
            # a line each by console.log: by print, which Pyodide cuts into lines first, it takes half as long again
            journal=Journal(level=level, write=js.console.log, counting=self._statistics),
            sizes=sizes,
            retention=retention,
            changed=lambda: self._live.changed(),  # noqa: PLW0108 - it comes after the engine
        )
        self._web_sockets = WebSockets(ctx)
        self._live = Live(self._web_sockets.all, _now)
        fetch = ctx.exports.default.fetch if loopback else None
        transport = FetchTransport(origin=self._origin, instance=ctx.id.toString(), key=key, clock=_now, fetch=fetch)
        self._dispatcher = Dispatcher(self._engine, transport, clock=_now, log=print)
        self._engine.resume(_now())
        self._live.look()

    async def alarm(self, alarm_info: Any = None) -> None:  # noqa: ARG002 - the platform passes it
        """One bounded pass. It never raises because of a job: the platform gives up on an alarm that does."""
        self._alarm.fired()
        try:
            self._dispatcher.run_pass()
        except Exception as error:  # noqa: BLE001
            report("the alarm's pass", error)
            self._engine.rearm(_now())

    async def fetch(self, request: Any) -> Any:
        """Somebody wants to watch: ``x-lunora-until`` says when their session ends. Only the Worker can ask."""
        if len(self._web_sockets.all()) >= MAX_WATCHERS:
            return Response("there are too many watchers", status=503)
        answer = self._web_sockets.accept(int(request.headers["x-lunora-until"]))
        self._live.look()
        return answer

    async def webSocketMessage(self, *_: Any) -> None:  # noqa: N802 - as the platform calls it
        """Nobody has anything to say here; pings are answered by the platform."""

    async def webSocketClose(self, *_: Any) -> None:  # noqa: N802
        """Somebody has gone."""
        self._live.look()

    async def webSocketError(self, *_: Any) -> None:  # noqa: N802
        """A connection broke: whoever it was comes back by a new one."""
        self._live.look()

    async def begin(self, dispatch_id: str) -> bool:
        """Asked by the receiver before it runs anything."""
        return self._engine.begin(dispatch_id, _now())

    async def schedule(self, text: str) -> str:
        """Store jobs, a JSON list of them; answers their ids."""

        def work() -> list[str]:
            self._check_settings()
            return self._engine.schedule([NewJob(**job) for job in decode_json(text)], _now())

        return self._answer(work)

    async def schedule_many(self, text: str) -> str:
        """Store those of many jobs that can be, a JSON list of them; answers for each null or its error."""

        def work() -> list[dict[str, Any] | None]:
            self._check_settings()
            refusals = self._engine.schedule_many([NewJob(**job) for job in decode_json(text)], _now())
            return [None if refusal is None else refusal.to_dict() for refusal in refusals]

        return self._answer(work)

    async def enqueue(self, text: str) -> str:
        """Store jobs of a pool, ``{"pool", "max_concurrency", "jobs"}``; answers their ids."""

        def work() -> list[str]:
            self._check_settings()
            handed = decode_json(text)
            jobs = [NewJob(**job) for job in handed["jobs"]]
            return self._engine.enqueue(handed["pool"], handed["max_concurrency"], jobs, _now())

        return self._answer(work)

    async def accept(self, text: str) -> str:
        """Take rows of a shard's outbox, ``{"shard", "rows"}``; answers the number of the last one accepted."""

        def work() -> int:
            handed = decode_json(text)
            rows = [OutboxRow.from_dict(row) for row in handed["rows"]]
            return self._engine.accept(handed["shard"], rows, _now())

        return self._answer(work)

    async def cancel(self, job_id: str) -> str:
        """Cancel a job; answers whether there was one to cancel."""
        return self._answer(lambda: self._engine.cancel(job_id, _now()))

    async def run_now(self, job_id: str) -> str:
        """Make a job that waits due now; answers whether there was one."""
        return self._answer(lambda: self._engine.run_now(job_id, _now()))

    async def redrive(self, job_id: str) -> str:
        """Retry a dead letter; answers whether it was one."""
        return self._answer(lambda: self._engine.redrive(job_id, _now()))

    async def drop_dead(self, job_id: str) -> str:
        """Delete a dead letter; answers whether it was one."""
        return self._answer(lambda: self._engine.drop_dead(job_id, _now()))

    async def change_many(self, text: str) -> str:
        """Changes jobs that a filter chooses, ``{"change", "filter", "cursor", "limit", "dry_run"}``; answers which."""

        def work() -> dict[str, Any]:
            asked = decode_json(text)
            wanted = JobFilter.from_dict(asked.pop("filter"))
            return self._engine.change_many(wanted=wanted, now=_now(), **asked).to_dict()

        return self._answer(work)

    async def get(self, job_id: str) -> str:
        """Answers a job, or null."""
        return self._answer(lambda: listing.find(self._store, job_id))

    async def list(self, text: str) -> str:
        """Answers a page of jobs; takes ``{"states", "cursor", "limit"}``."""
        return self._answer(lambda: listing.page(self._store, **decode_json(text)))

    async def jobs(self, text: str) -> str:
        """Answers a page of the jobs that a filter chooses; takes ``{"filter", "order", "cursor", "limit"}``."""

        def work() -> dict[str, Any]:
            asked = decode_json(text)
            return finding.jobs(self._store, JobFilter.from_dict(asked.pop("filter")), **asked)

        return self._answer(work)

    async def count(self, text: str) -> str:
        """Answers how many jobs a filter chooses, given the filter."""
        return self._answer(lambda: finding.count(self._store, JobFilter.from_dict(decode_json(text))))

    async def dead_groups(self) -> str:
        """Answers what dead letters died of."""
        return self._answer(lambda: finding.dead_groups(self._store))

    async def status(self) -> str:
        """Answers how the scheduler is doing."""
        return self._answer(self._status)

    async def metrics(self, text: str) -> str:  # noqa: ARG002 - there is nothing to say yet
        """Answers what there was since the scheduler came to be, by pool, and how it is doing: ``{"pools", "status"}``.

        What is told has been written before.
        """

        def work() -> dict[str, Any]:
            return {"pools": self._statistics.totals(_now()), "status": self._status()}

        return self._answer(work)

    async def statistics(self, text: str) -> str:
        """Answers numbers for each of the last minutes; takes ``{"minutes"}``."""
        return self._answer(lambda: self._statistics.minutes(now=_now(), **decode_json(text)))

    async def pool(self, text: str) -> str:
        """Changes a pool, ``{"name"}`` and perhaps ``"declared", "paused", "max_concurrency"``; answers how it is."""

        def work() -> dict[str, Any] | None:
            change = decode_json(text)
            self._engine.set_pool(now=_now(), **change)
            return listing.pool(self._store, change["name"])

        return self._answer(work)

    async def pools(self, text: str) -> str:
        """Answers a page of pools; takes ``{"cursor", "limit"}``."""
        return self._answer(lambda: listing.pools(self._store, **decode_json(text)))

    def _check_settings(self) -> None:
        """Refuse to store what could never be sent. An object has the same settings for as long as it lives."""
        if self._misconfigured:
            check_settings(self.env)

    def _status(self) -> dict[str, Any]:
        return listing.status(self._store, self._engine.breaker, self._origin, now=_now(), alarm=self._alarm.armed)

    def _flush_soon(self) -> None:
        asyncio.get_running_loop().call_later(FLUSH_S, self._flush)

    def _flush(self) -> None:
        """Write the statistics. Whatever goes wrong, they are kept, and written with the next ones."""
        try:
            self._statistics.flush(_now())
        except Exception as error:  # noqa: BLE001
            report("the statistics", error)

    def _answer(self, work: Callable[[], Any]) -> str:
        try:
            if self._alarm.lost(_now()):
                # cloudflare/cloudflare-docs#18324: whoever asks for anything wakes a scheduler that overslept
                self._engine.rearm(_now())
            return json.dumps({"ok": work()})
        except LunoraError as error:
            return json.dumps({"error": error.to_dict()})
        except Exception as error:  # noqa: BLE001
            return json.dumps({"error": report("the scheduler", error).to_dict()})


def _now() -> int:
    return int(time.time() * 1000)
