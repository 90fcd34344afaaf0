"""What runs the cron jobs of an app, with its shards, its scheduler and its clock, which passes in fake time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any, Final

from lunorash.contexts import ActionContext, MutationContext
from lunorash.crons import CronJob
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable, register
from lunorash.scheduler import Scheduler
from lunorash.server.cron_runner import CronRunner
from lunorash.server.cron_trigger import fire
from lunorash.server.job_runner import JobRunner
from lunorash.server.running import FunctionRunner
from lunorash.shard.client import Shards

from .api_worker import FUNCTIONS
from .instances import Agents, Workflow
from .scheduler_object import NOW, Namespace, SchedulerObject, environment
from .shard_object import ShardNamespace, ShardObject

__all__ = ["EVERY_MINUTE", "CronWorker", "cron_job"]

EVERY_MINUTE: Final = "* * * * *"


def cron_job(name: str = "job", target: str = "c:act", args: dict[str, Any] | None = None, **options: Any) -> CronJob:
    return CronJob(name, options.pop("expression", EVERY_MINUTE), target, args or {}, **options)


class CronWorker:
    """The functions ``c:...`` and those of `FUNCTIONS`; what the former have done is in `did`."""

    def __init__(self, *, shards: bool = True) -> None:
        self.env = environment(ONBOARDING=Workflow(), SUPPORT=Agents())
        self.schedulers = Namespace(self.env)
        self.did: list[Any] = []
        self.log: list[str] = []
        numbers = count(1)
        table = FunctionTable(
            FUNCTIONS
            | {
                "c:act": register(self._act, kind="action", internal=True),
                "c:slow": register(self._slow, kind="action", internal=True),
                "c:fail": register(self._fail, kind="action", internal=True),
                "c:apply": register(self._apply, kind="mutation", internal=True),
            }
        )
        self._namespace = ShardNamespace(table, self.env)
        self.shard.clock = self.now
        self.scheduler = Scheduler(lambda: self.schedulers.default, now=self.now)
        runnable = JobRunner(
            table,
            FunctionRunner(
                table, env=self.env, shards=Shards(self._namespace), scheduler=self.scheduler, fetch=self._no_fetch
            ),
            env=self.env,
            workflows={"onboarding": "ONBOARDING"},
            agents={"support": "SUPPORT"},
        )
        self.runner = CronRunner(
            runnable,
            shards=Shards(self._namespace) if shards else None,
            scheduler=self.scheduler,
            clock=self.now,
            mint=lambda: f"minted{next(numbers)}",
            random=lambda: 0.0,
            log=self.log.append,
        )

    def now(self) -> int:
        try:
            return NOW + int(asyncio.get_running_loop().time() * 1000)
        except RuntimeError:
            return NOW

    @property
    def shard(self) -> ShardObject:
        return self._namespace.get("default")

    @property
    def scheduler_object(self) -> SchedulerObject:
        return self.schedulers.default

    async def fire(
        self, *jobs: CronJob, at: int = NOW, fired: str = EVERY_MINUTE, wake: Callable[[], Any] | None = None
    ) -> SimpleNamespace:
        """Let a trigger fire; returns the platform's controller."""
        crons: dict[str, list[CronJob]] = {}
        for job in jobs:
            crons.setdefault(job.expression, []).append(job)
        controller = SimpleNamespace(cron=fired, scheduledTime=at, no_retry=0)

        def no_retry() -> None:
            controller.no_retry += 1
            self.did.append("noRetry")

        controller.noRetry = no_retry
        await fire(controller, crons, run=self.runner.run, wake=wake, log=self.log.append)
        return controller

    async def error(self, *jobs: CronJob, **options: Any) -> BaseException:
        """What a trigger that fires raises."""
        try:
            await self.fire(*jobs, **options)
        except Exception as error:  # noqa: BLE001
            return error
        raise AssertionError("nothing was raised")

    def runs(self, name: str | None = None) -> list[CronRun]:
        """What is on record, the newest first."""
        return self.shard.cron_record.newest(name, 100)

    def jobs(self) -> list[dict[str, Any]]:
        """What the scheduler has."""
        return self.scheduler_object.store.execute("SELECT * FROM jobs ORDER BY id")

    async def _act(self, ctx: ActionContext[Any], value: Any = None) -> Any:
        self.did.append((ctx.auth.user_id, ctx.job))
        return value

    async def _slow(self, _ctx: ActionContext[Any], seconds: float) -> str:
        self.did.append(("began", self.now() - NOW))
        await asyncio.sleep(seconds)
        self.did.append(("ended", self.now() - NOW))
        return "at last"

    async def _fail(self, _ctx: ActionContext[Any], how: str = "expected") -> None:
        self.did.append(how)
        raise {
            "expected": LunoraError("CARD_DECLINED", "no funds of hunter2", status=402),
            "unexpected": KeyError("hunter2"),
            "exit": SystemExit(1),
            "cancel": asyncio.CancelledError(),
            "timeout": TimeoutError(),
        }[how]

    def _apply(self, ctx: MutationContext[Any], text: str) -> str:
        ctx.db.execute("INSERT INTO notes VALUES (?)", text)
        return text.upper()

    async def _no_fetch(self, *_args: object, **_options: object) -> None:
        raise AssertionError("nothing here goes out")
