"""Runs one cron job: in the Worker itself, at its time or by hand, and puts on record how that went."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, cast

from lunorash.crons import CronJob
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError, UnavailableError, shown
from lunorash.incident import code_of, describe, report
from lunorash.scheduler.attempting import attempt
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.ids import mint_id
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.scheduler.receiver import Runnable
from lunorash.server.cron_tick import Tick
from lunorash.server.cron_turn import take_turn
from lunorash.shard.client import Shards

__all__ = ["CronRunner"]

_DEADLINE_S: Final = 10
"""How long the scheduler and the record may take to answer."""


class CronRunner:
    """Runs cron jobs, as nobody.

    Args:
        runnable: what can be run.
        shards: where runs are recorded and leases kept, in the default shard; None for an app without shards, of whose
            runs there is then no record.
        scheduler: takes over what failed and is to be tried again.
        clock: the time in epoch milliseconds.
        mint: mints ids.
        random: numbers in [0, 1).
        log: takes one line about what goes wrong beside the job itself.
    """

    def __init__(
        self,
        runnable: Runnable[ReceivedAttempt],
        *,
        shards: Shards | None,
        scheduler: Scheduler,
        clock: Callable[[], int] = lambda: int(time.time() * 1000),
        mint: Callable[[], str] = mint_id,
        random: Callable[[], float] = random.random,
        log: Callable[[str], None] = print,
    ) -> None:
        self._runnable = runnable
        self._shards = shards
        self._scheduler = scheduler
        self._clock = clock
        self._mint = mint
        self._random = random
        self._log = log

    async def run_by_hand(self, job: CronJob) -> CronRun:
        """Run a job now, as its time would; it is always another run, though it may be skipped as one is."""
        return await self.run(Tick.by_hand(job, self._clock(), self._mint))

    async def run(self, tick: Tick) -> CronRun:
        """Run a job for a tick.

        The record is best effort: it neither delays the job nor makes it fail.

        Returns:
            how it ended; it raises nothing that the job has raised.
        """
        begun = CronRun(
            id=self._mint(),
            name=tick.job.name,
            scheduled_for=tick.scheduled_for,
            trigger=tick.trigger,
            started=self._clock(),
        )
        async with asyncio.TaskGroup() as beside:
            beside.create_task(self._note(begun))
            ended = await self._outcome(tick, begun)
        await self._note(ended)
        return ended

    async def _outcome(self, tick: Tick, begun: CronRun) -> CronRun:
        try:
            async with self._turn(tick, begun.id) as free:
                if not free:
                    self._log(f"lunora: the cron job {_name(tick)} is skipped: the run before is still under way")
                    return replace(begun, outcome="skipped", ended=self._clock())
                result = await self._attempt(tick)
                return replace(begun, outcome="succeeded", ended=self._clock(), result=result)
        except LunoraError as error:
            failed = replace(
                begun, outcome="failed", ended=self._clock(), error_code=error.code, error_message=error.message
            )
            return replace(failed, job=await self._hand_over(tick, error))

    @asynccontextmanager
    async def _turn(self, tick: Tick, run_id: str) -> AsyncIterator[bool]:
        if tick.job.overlap == "allow":
            yield True
            return
        if self._shards is None:
            raise LunoraError("SHARD_NOT_CONFIGURED", _NO_SHARD.format(tick.job.name))
        async with take_turn(self._shards, tick.job.name, run_id, self._log) as free:
            yield free

    async def _attempt(self, tick: Tick) -> str | None:
        def call() -> object:
            try:
                run = self._runnable.bind(tick.job.target, tick.job.args)
            except LunoraError as error:
                raise UnavailableError.of(error) from None
            return run(tick.attempt())

        def unexpected(error: BaseException) -> LunoraError:
            report(f"the cron job {_name(tick)}", error)
            return LunoraError("ATTEMPT_FAILED", describe(error))

        return cast("str | None", await attempt(call, tick.job.timeout_ms, unexpected=unexpected))

    async def _hand_over(self, tick: Tick, error: LunoraError) -> str | None:
        """Let the scheduler try it again; returns the id of the job, None if there is none."""
        job = tick.again(error, self._clock(), self._random)
        if job is None:
            return None
        try:
            async with asyncio.timeout(_DEADLINE_S):
                await self._scheduler.take_over(job)
        except (LunoraError, TimeoutError) as problem:
            self._log(f"lunora: the cron job {_name(tick)} failed and is not tried again: {code_of(problem)}")
            return None
        return job.id

    async def _note(self, run: CronRun) -> None:
        if self._shards is None:
            return
        try:
            async with asyncio.timeout(_DEADLINE_S):
                await self._shards.note_cron_run(run)
        except (LunoraError, TimeoutError) as problem:
            self._log(f"lunora: a run of the cron job {shown(run.name)} was not recorded: {code_of(problem)}")


_NO_SHARD: Final = (
    'the cron job {!r} has overlap="skip", which needs a shard to keep its lease; build the app with '
    ".shard(lambda env: env.SHARD)"
)


def _name(tick: Tick) -> str:
    return shown(tick.job.name)
