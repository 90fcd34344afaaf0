"""ShardDO: the shell around a shard. RPC methods, the alarm that repairs an outbox, and nothing that decides."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from workers import DurableObject

from lunorash.codec import decode_json
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.incident import describe, report
from lunorash.scheduler.client import Scheduler, create_scheduler
from lunorash.scheduler.deadlines import Deadlines
from lunorash.scheduler.durable_store import DurableStore
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.settings import check_settings
from lunorash.shard.answers import failure_answer, outcome_answer
from lunorash.shard.calls import ShardCall
from lunorash.shard.cron_leases import CronLeases
from lunorash.shard.cron_runs import CronRuns
from lunorash.shard.schema import Migration, migrate_shard
from lunorash.shard.shard import Round, Shard

__all__ = ["make_shard_class"]

_REPAIR_MS: Final = 2_000
"""When the alarm looks whether an outbox was sent. Usually it was, long before."""
_REPAIRS: Final = RetryPolicy(base_ms=1_000, max_ms=60_000, jitter=0.2)
_SEND_TIMEOUT_S: Final = 10


def make_shard_class(
    functions: FunctionTable, migrations: Sequence[Migration], scheduler_of: Callable[[Any], Any], instance_name: str
) -> type[Any]:
    """Make the class that a Worker exports as ``ShardDO``.

    Args:
        functions: the app's.
        migrations: of the shard's database.
        scheduler_of: finds the SchedulerDO binding in the environment.
        instance_name: which SchedulerDO the app uses.
    """

    class ShardDO(DurableObject):  # type: ignore[misc]
        """Application data, and the queries and mutations on it."""

        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            store = DurableStore(ctx.storage)
            self._broken: LunoraError | None = None
            try:
                migrate_shard(store, migrations)
            except LunoraError as error:
                # every call says why, and the next start tries again
                self._broken = error
            self._failures = 0
            self._sending = asyncio.Lock()
            self._deadlines = Deadlines()
            self._shard = Shard(
                store,
                functions,
                ready=self._check_ready,
                # Called, not awaited: the alarm belongs to the transaction that is open.
                wake=lambda now: ctx.storage.setAlarm(now + _REPAIR_MS).close(),
            )
            self._cron_leases = CronLeases(store)
            self._cron_runs = CronRuns(store)
            self._instance = ctx.id.toString()

        async def query(self, text: str) -> str:
            """Run a query; takes a `ShardCall`."""
            return await self._answer(lambda: self._query(ShardCall.from_text(text)))

        async def mutate(self, text: str) -> str:
            """Run a mutation; takes a `ShardCall`."""
            return await self._answer(lambda: self._mutate(ShardCall.from_text(text)))

        async def mutate_many(self, text: str) -> str:
            """Run mutations of jobs, of which one that fails is undone by itself; takes a list of `ShardCall`.

            Answers what became of each, with its result if that is wanted; ``{"asks": true}`` of one that nothing has
            become of, since it asks the SchedulerDO something: that is not for the others to wait for.
            """

            async def work() -> list[dict[str, Any]]:
                calls = ShardCall.many_from_text(text)
                outcomes = self._shard.mutate_many(calls, self._round)
                await self._hand_over()
                return [outcome_answer(call, outcome) for call, outcome in zip(calls, outcomes, strict=True)]

            return await self._answer(work)

        async def hold_cron(self, text: str) -> str:
            """Take or renew the lease of a cron job, ``{"name", "holder"}``; answers whether it is the holder's."""
            return self._answer_now(lambda: self._cron_leases.hold(**decode_json(text), now=_now()))

        async def release_cron(self, text: str) -> str:
            """Give the lease of a cron job back, ``{"name", "holder"}``."""
            return self._answer_now(lambda: self._cron_leases.release(**decode_json(text)))

        async def note_cron_run(self, text: str) -> str:
            """Record how a run of a cron job stands; takes the fields of a `CronRun`."""
            return self._answer_now(lambda: self._cron_runs.note(CronRun(**decode_json(text))))

        async def cron_runs(self, text: str) -> str:
            """Answers the newest runs of cron jobs; takes ``{"name", "limit"}``."""
            return self._answer_now(lambda: [asdict(run) for run in self._cron_runs.newest(**decode_json(text))])

        async def last_cron_runs(self, text: str) -> str:
            """Answers the newest run of each of some cron jobs, a list of names."""
            return self._answer_now(lambda: [asdict(run) for run in self._cron_runs.last_of_each(decode_json(text))])

        async def alarm(self, alarm_info: Any = None) -> None:  # noqa: ARG002 - the platform passes it
            """Send what a crash or an outage has left in the outbox. It never raises: the platform would give up."""
            try:
                await self._send_outbox()
            except Exception as error:  # noqa: BLE001
                self._failures += 1
                report("a shard's outbox", error)
            else:
                self._failures = 0
            if not self._shard.outbox.is_empty():
                delay = _REPAIRS.delay_ms(max(1, self._failures), random=secrets.SystemRandom().random)
                await self.ctx.storage.setAlarm(_now() + delay)

        async def _query(self, call: ShardCall) -> str:
            return self._shard.query(call, self._round())

        async def _mutate(self, call: ShardCall) -> str:
            # made when it is asked: an app without a scheduler has mutations too
            result = await self._shard.mutate_asking(
                call, self._round(), lambda method, argument: self._scheduler().ask(method, argument)
            )
            await self._hand_over()
            return result

        async def _hand_over(self) -> None:
            """Send what mutations have left in the outbox."""
            if not self._shard.outbox.is_empty():
                try:
                    await self._send_outbox()
                except Exception as error:  # noqa: BLE001 - it has committed; the alarm sends what is left
                    report("sending an outbox", error)

        async def _send_outbox(self) -> None:
            """Hand the rows to the SchedulerDO, in order, one sender at a time."""
            async with self._sending:
                while rows := self._shard.outbox.page():
                    async with self._deadlines.within(_SEND_TIMEOUT_S):
                        accepted = await self._scheduler().accept(self._instance, rows)
                    self._shard.outbox.forget(accepted)
                if self._shard.outbox.is_empty():
                    self.ctx.storage.deleteAlarm().close()

        def _round(self) -> Round:
            return Round(now=_now(), seed=secrets.randbits(128), answers={})

        def _check_ready(self) -> None:
            """Refuse to schedule what could not be handed over or run: the mutation is rolled back."""
            check_settings(self.env)
            self._scheduler()

        def _scheduler(self) -> Scheduler:
            return create_scheduler(namespace=scheduler_of(self.env), instance_name=instance_name)

        def _answer_now(self, work: Callable[[], Any]) -> str:
            try:
                self._check_whole()
                return json.dumps({"ok": work()})
            except LunoraError as error:
                return json.dumps({"error": error.to_dict(), "status": error.status, "unavailable": False})
            except Exception as error:  # noqa: BLE001
                return json.dumps({"error": report("a shard", error).to_dict(), "detail": describe(error)})

        def _check_whole(self) -> None:
            if self._broken is not None:
                raise self._broken

        async def _answer(self, work: Callable[[], Awaitable[Any]]) -> str:
            try:
                self._check_whole()
                return json.dumps({"ok": await work()})
            except Exception as error:  # noqa: BLE001
                return json.dumps(failure_answer(error))

    return ShardDO


def _now() -> int:
    return int(time.time() * 1000)
