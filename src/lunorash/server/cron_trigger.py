"""What happens when a Cron Trigger fires: the jobs of its expression run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from lunorash.crons import CronJob
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError, shown
from lunorash.incident import code_of, report
from lunorash.scheduler.protocol import MAX_CODE, text_of
from lunorash.server.cron_tick import Tick

__all__ = ["Fired", "fire"]

_LISTED: Final = 20
_WAKING_S: Final = 10


class Fired(Protocol):
    """The platform's ``ScheduledController``: the expression, the time in epoch milliseconds, and a way to say no."""

    cron: str
    scheduledTime: int  # noqa: N815 - the platform's name

    def noRetry(self) -> object:  # noqa: N802 - likewise
        """Say that the platform is not to fire again if the handler raises."""
        ...


async def fire(
    fired: Fired,
    crons: Mapping[str, Sequence[CronJob]],
    *,
    run: Callable[[Tick], Awaitable[CronRun]],
    wake: Callable[[], Awaitable[object]] | None,
    log: Callable[[str], None],
) -> None:
    """Run the jobs of exactly the expression that fired, and wake a scheduler whose alarm was lost.

    A job that fails stops none of the others. When all have ended, the failures are raised together, so that Cloudflare
    shows the event as failed; that of a job which is tried again is too. The platform is asked beforehand not to fire
    again: those that succeeded would run twice.

    Args:
        fired: what fired.
        crons: the app's cron jobs, by expression.
        run: runs one job.
        wake: asks the scheduler anything; None for an app that has none.
        log: takes one line about an expression without jobs, or a scheduler that does not answer.

    Raises:
        LunoraError: ``CRON_JOB_FAILED``, naming the job and its error's code, if one has failed.
        ExceptionGroup: of such errors, if several have.
    """
    fired.noRetry()
    expression = str(fired.cron)
    ticks = [Tick.of_schedule(job, int(fired.scheduledTime)) for job in crons.get(expression, ())]
    if not ticks:
        log(_nobody(expression, crons))
    async with asyncio.TaskGroup() as all_of_it:
        if wake is not None:
            all_of_it.create_task(_wake(wake, log))
        running = [all_of_it.create_task(_failure(tick, run)) for tick in ticks]
    failures = {tick.job.name: error for tick, task in zip(ticks, running, strict=True) if (error := task.result())}
    if len(failures) == 1:
        raise next(iter(failures.values()))
    if failures:
        raise ExceptionGroup(
            f"{len(failures)} of {len(ticks)} cron jobs failed: {_listed(failures)}", [*failures.values()]
        )


async def _failure(tick: Tick, run: Callable[[Tick], Awaitable[CronRun]]) -> LunoraError | None:
    """Run a job; returns what is to be raised."""
    name = shown(tick.job.name)
    try:
        ended = await run(tick)
    except Exception as error:  # noqa: BLE001 - even if it is we who have failed, the others go on
        return LunoraError("CRON_JOB_FAILED", f"the cron job {name}: {report(f'the cron job {name}', error).message}")
    if ended.outcome != "failed":
        return None
    again = "" if ended.job is None else f"; it is tried again as the job {ended.job}"
    # without the error's text, which may be somebody's data: this goes to the log. The record of the run has it
    return LunoraError("CRON_JOB_FAILED", f"the cron job {name} failed: {text_of(ended.error_code, MAX_CODE)}{again}")


async def _wake(wake: Callable[[], Awaitable[object]], log: Callable[[str], None]) -> None:
    try:
        async with asyncio.timeout(_WAKING_S):
            await wake()
    except (LunoraError, TimeoutError) as error:
        log(f"lunora: the scheduler was not woken: {code_of(error)}")
    except Exception as error:  # noqa: BLE001 - it must not stop the jobs
        report("waking the scheduler", error)


def _nobody(expression: str, crons: Mapping[str, Sequence[CronJob]]) -> str:
    registered = f"there are {_listed(crons)}" if crons else "there are none"
    return f"lunora: the trigger {shown(expression)[1:-1]} fired; no cron job is registered for it, {registered}"


def _listed(names: Mapping[str, object]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(shown(name) for name in islice(names, _LISTED)) + more
