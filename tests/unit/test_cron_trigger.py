from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError
from lunorash.scheduler import RetryPolicy
from lunorash.server.cron_tick import Tick

from .cron_worker import EVERY_MINUTE, CronWorker, cron_job
from .fake_time import in_fake_time
from .scheduler_object import NOW


def _good(name: str = "good", **options: Any) -> Any:
    return cron_job(name, "c:apply", {"text": name}, **options)


def _bad(name: str = "bad", how: str = "expected", **options: Any) -> Any:
    return cron_job(name, "c:fail", {"how": how}, **options)


# -- what runs -----------------------------------------------------------------------------------------------


@in_fake_time
async def test_exactly_the_jobs_of_the_expression_run_at_the_time_that_was_meant() -> None:
    worker = CronWorker()
    jobs = [_good("a"), _good("b"), _good("c", expression="*/1 * * * *"), _good("d", expression="0 8 * * MON")]
    await worker.fire(*jobs, at=NOW - 42)
    assert sorted(worker.shard.notes()) == ["a", "b"]
    assert {run.scheduled_for for run in worker.runs()} == {NOW - 42}


@in_fake_time
async def test_jobs_of_one_expression_run_side_by_side() -> None:
    worker = CronWorker()
    await worker.fire(*(cron_job(name, "c:slow", {"seconds": 5}) for name in "abc"))
    assert worker.did == ["noRetry", *[("began", 0)] * 3, *[("ended", 5_000)] * 3]


@in_fake_time
async def test_the_platform_is_asked_not_to_fire_again_before_anything_runs() -> None:
    worker = CronWorker()
    controller = await worker.fire(cron_job())
    assert controller.no_retry == 1
    assert worker.did[0] == "noRetry"
    await worker.error(_bad())
    assert worker.did[-2:] == ["noRetry", "expected"]


@in_fake_time
async def test_a_trigger_that_fires_twice_has_one_effect() -> None:
    worker = CronWorker()
    for _ in range(2):
        await worker.fire(_good(), cron_job("flow", "workflows.onboarding"))
    assert worker.shard.notes() == ["good"]
    assert set(worker.env.ONBOARDING.instances) == {Tick.of_schedule(cron_job("flow"), NOW).id}


# -- failures ------------------------------------------------------------------------------------------------


@in_fake_time
async def test_one_failure_stops_no_other_and_is_raised_when_all_have_ended() -> None:
    worker = CronWorker()
    error = await worker.error(_bad(), _good(), cron_job("slow", "c:slow", {"seconds": 5}))
    assert worker.shard.notes() == ["good"]
    assert worker.did[-1] == ("ended", 5_000)
    assert isinstance(error, LunoraError)
    assert (error.code, error.message) == ("CRON_JOB_FAILED", "the cron job 'bad' failed: CARD_DECLINED")


@in_fake_time
async def test_several_failures_are_raised_together() -> None:
    worker = CronWorker()
    error = await worker.error(_bad("a"), _good(), _bad("b", "unexpected"), _bad("c", "exit"))
    assert isinstance(error, ExceptionGroup)
    assert error.message == "3 of 4 cron jobs failed: 'a', 'b', 'c'"
    assert [str(one) for one in error.exceptions] == [
        "CRON_JOB_FAILED: the cron job 'a' failed: CARD_DECLINED",
        "CRON_JOB_FAILED: the cron job 'b' failed: ATTEMPT_FAILED",
        "CRON_JOB_FAILED: the cron job 'c' failed: ATTEMPT_FAILED",
    ]


@in_fake_time
async def test_what_is_raised_goes_to_the_log_and_says_nothing_of_texts_and_arguments() -> None:
    error = await CronWorker().error(*(_bad(name, how) for name, how in (("a", "expected"), ("b", "unexpected"))))
    assert isinstance(error, ExceptionGroup)
    seen = [error, *error.exceptions]
    assert "hunter2" not in "".join(map(str, seen))
    assert all(one.__cause__ is None and one.__context__ is None for one in error.exceptions)


@in_fake_time
async def test_what_is_tried_again_is_raised_too_and_says_so() -> None:
    error = await CronWorker().error(_bad(retry=RetryPolicy()))
    job_id = Tick.of_schedule(_bad(), NOW).id
    expected = f"the cron job 'bad' failed: CARD_DECLINED; it is tried again as the job {job_id}"
    assert isinstance(error, LunoraError)
    assert error.message == expected


@in_fake_time
async def test_a_run_that_was_skipped_is_no_failure() -> None:
    worker = CronWorker()
    assert worker.shard.leases.hold("late", "another", worker.now())
    await worker.fire(cron_job("late", overlap="skip"))
    assert [run.outcome for run in worker.runs()] == ["skipped"]


@in_fake_time
async def test_even_a_failure_of_our_own_stops_no_other() -> None:
    worker = CronWorker()
    ordinary = worker.runner.run

    async def run(tick: Tick) -> CronRun:
        if tick.job.name == "bad":
            raise RuntimeError("hunter2")
        return await ordinary(tick)

    worker.runner.run = run  # type: ignore[method-assign]
    error = await worker.error(_bad(), _good())
    assert worker.shard.notes() == ["good"]
    assert isinstance(error, LunoraError)
    assert error.message.startswith("the cron job 'bad': something went wrong on our side")


@in_fake_time
async def test_a_long_list_of_failures_is_cut() -> None:
    error = await CronWorker().error(*(_bad(f"bad {number:03}") for number in range(100)))
    assert isinstance(error, ExceptionGroup)
    assert len(error.exceptions) == 100
    assert error.message.endswith("'bad 019' and 80 more")


# -- nobody there --------------------------------------------------------------------------------------------


@in_fake_time
async def test_an_expression_without_jobs_is_told_with_those_that_have_some() -> None:
    worker = CronWorker()
    jobs = [_good("a", expression="0 8 * * MON"), _good("b", expression="*/5 * * * *")]
    controller = await worker.fire(*jobs, fired="0 8 * * 2")
    assert controller.no_retry == 1
    assert worker.log == [
        "lunora: the trigger 0 8 * * 2 fired; no cron job is registered for it, there are '0 8 * * MON', '*/5 * * * *'"
    ]
    assert worker.shard.notes() == []


@in_fake_time
async def test_an_app_without_crons_says_so() -> None:
    worker = CronWorker()
    await worker.fire()
    assert worker.log == [f"lunora: the trigger {EVERY_MINUTE} fired; no cron job is registered for it, there are none"]


@in_fake_time
async def test_the_line_about_it_is_one_line_and_not_endless() -> None:
    worker = CronWorker()
    await worker.fire(*(_good(str(n), expression=f"{n} * * * *") for n in range(60)), fired="a\nb" + "*" * 1_000)
    (line,) = worker.log
    assert "\n" not in line
    assert len(line) < 700
    assert line.endswith("'19 * * * *' and 40 more")


# -- waking the scheduler ------------------------------------------------------------------------------------


@in_fake_time
async def test_the_scheduler_is_asked_beside_the_jobs_whoever_is_registered() -> None:
    worker = CronWorker()
    await worker.fire(wake=worker.scheduler.status)
    await worker.fire(cron_job("slow", "c:slow", {"seconds": 5}), wake=worker.scheduler.status)
    assert worker.scheduler_object.calls["status"] == 2


@pytest.mark.parametrize(
    ("fails_with", "told"),
    [
        (LunoraError("SCHEDULER_UNAVAILABLE", "no"), ["lunora: the scheduler was not woken: SCHEDULER_UNAVAILABLE"]),
        (None, ["lunora: the scheduler was not woken: TimeoutError"]),
        (RuntimeError("hunter2"), []),
    ],
)
def test_a_scheduler_that_does_not_wake_is_only_told(fails_with: Exception | None, told: list[str]) -> None:
    @in_fake_time
    async def test() -> None:
        async def wake() -> None:
            if fails_with is not None:
                raise fails_with
            await asyncio.Event().wait()

        worker = CronWorker()
        await worker.fire(_good(), wake=wake)
        assert worker.shard.notes() == ["good"]
        assert worker.log == told

    test()
