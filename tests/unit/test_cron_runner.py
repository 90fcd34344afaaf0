from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lunorash.contexts import Job
from lunorash.crons.runs import CronRun
from lunorash.scheduler import RetryPolicy
from lunorash.server.cron_tick import Tick
from lunorash.server.cron_turn import RENEWAL_S
from lunorash.shard.cron_leases import LEASE_MS

from .cron_worker import CronWorker, cron_job
from .fake_time import in_fake_time
from .scheduler_object import NOW

_POLICY = RetryPolicy(max_attempts=2, base_ms=10_000)


async def _run(worker: CronWorker, *args: Any, at: int = NOW, **options: Any) -> CronRun:
    return await worker.runner.run(Tick.of_schedule(cron_job(*args, **options), at))


# -- targets -------------------------------------------------------------------------------------------------


@in_fake_time
async def test_an_action_runs_as_nobody_and_as_a_job() -> None:
    worker = CronWorker()
    run = await _run(worker, "sweep", "c:act", {"value": [1, None]})
    tick = Tick.of_schedule(cron_job("sweep"), NOW)
    assert worker.did == [(None, Job(id=tick.id, incarnation=tick.id, attempt=1, scheduled_for=NOW))]
    assert (run.outcome, run.result) == ("succeeded", "[1,null]")


@in_fake_time
async def test_a_mutation_runs_on_the_default_shard_and_once_for_a_tick() -> None:
    worker = CronWorker()
    runs = [await _run(worker, "sweep", "c:apply", {"text": "a"}, at=at) for at in (NOW, NOW, NOW + 60_000)]
    assert worker.shard.notes() == ["a", "a"]
    assert [run.result for run in runs] == ['"A"', '"A"', '"A"'], "the second delivery gets what the first had"
    (call, *_) = worker.shard.calls
    assert (call.auth.user_id, dict(call.auth.claims)) == (None, {})


@pytest.mark.parametrize(("target", "binding"), [("workflows.onboarding", "ONBOARDING"), ("agents.support", "SUPPORT")])
def test_a_workflow_and_an_agent_are_started_once_for_a_tick(target: str, binding: str) -> None:
    @in_fake_time
    async def test() -> None:
        worker = CronWorker()
        for at in (NOW, NOW, NOW + 60_000):
            run = await _run(worker, "sweep", target, {"a": 1}, at=at)
            assert (run.outcome, run.result) == ("succeeded", None)
        bound = getattr(worker.env, binding)
        started = bound.instances if binding == "ONBOARDING" else bound.started
        assert set(started) == {Tick.of_schedule(cron_job("sweep"), at).id for at in (NOW, NOW + 60_000)}

    test()


@in_fake_time
async def test_by_hand_it_is_always_another_run() -> None:
    worker = CronWorker()
    for _ in range(2):
        run = await worker.runner.run_by_hand(cron_job("sweep", "c:apply", {"text": "a"}))
        assert (run.outcome, run.trigger, run.scheduled_for) == ("succeeded", "manual", NOW)
    assert worker.shard.notes() == ["a", "a"]


# -- failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "args", "code", "message"),
    [
        ("c:fail", {"how": "expected"}, "CARD_DECLINED", "no funds of hunter2"),
        ("c:fail", {"how": "unexpected"}, "ATTEMPT_FAILED", "KeyError: 'hunter2'"),
        ("c:fail", {"how": "exit"}, "ATTEMPT_FAILED", "SystemExit: 1"),
        ("c:fail", {"how": "cancel"}, "ATTEMPT_FAILED", "CancelledError: "),
        ("c:fail", {"how": "timeout"}, "ATTEMPT_FAILED", "TimeoutError: "),
        ("m:fails", {"how": "unexpected"}, "ATTEMPT_FAILED", "KeyError: 'hunter2'"),
        ("c:gone", {}, "FUNCTION_NOT_FOUND", "there is no function 'c:gone'"),
        ("c:act", {"other": 1}, "INVALID_INPUT", None),
        ("workflows.gone", {}, "FUNCTION_NOT_FOUND", None),
    ],
)
def test_whatever_goes_wrong_is_the_runs_outcome(
    target: str, args: dict[str, Any], code: str, message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    @in_fake_time
    async def test() -> None:
        worker = CronWorker()
        run = await _run(worker, "sweep", target, args)
        assert (run.outcome, run.error_code, run.result, run.job) == ("failed", code, None, None)
        assert message in (None, run.error_message)
        assert worker.jobs() == []

    test()
    assert "hunter2" not in capsys.readouterr().out


def test_of_an_unexpected_error_the_log_has_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    @in_fake_time
    async def test() -> None:
        await _run(CronWorker(), "sweep\n", "c:fail", {"how": "unexpected"})

    test()
    logged = capsys.readouterr().out
    assert logged.count("\n") == 1
    assert r"in the cron job 'sweep\n': KeyError at _fail line" in logged


@in_fake_time
async def test_a_run_is_cut_off_when_its_time_is_up() -> None:
    worker = CronWorker()
    run = await _run(worker, "sweep", "c:slow", {"seconds": 60}, timeout_ms=5_000)
    assert (run.outcome, run.error_code) == ("failed", "ATTEMPT_TIMED_OUT")
    assert run.error_message == "it took longer than its 5,000 ms"
    assert run.ended == NOW + 5_000
    assert worker.did == [("began", 0)]


# -- trying again --------------------------------------------------------------------------------------------


@in_fake_time
async def test_what_failed_is_handed_to_the_scheduler_with_one_attempt_behind_it() -> None:
    worker = CronWorker()
    run = await _run(worker, "sweep", "c:fail", retry=_POLICY)
    tick = Tick.of_schedule(cron_job("sweep"), NOW)
    assert (run.outcome, run.job) == ("failed", tick.id)
    (job,) = worker.jobs()
    assert (job["id"], job["incarnation"], job["target"]) == (tick.id, tick.incarnation, "c:fail")
    assert (job["state"], job["due"], job["attempt"], job["charged"]) == ("pending", NOW + 10_000, 1, 1)


@in_fake_time
async def test_a_second_hand_over_of_the_same_tick_is_recognised() -> None:
    worker = CronWorker()
    for _ in range(2):
        assert (await _run(worker, "sweep", "c:fail", retry=_POLICY)).job
        await asyncio.sleep(5)
    (job,) = worker.jobs()
    assert job["due"] == NOW + 10_000


@in_fake_time
async def test_a_run_that_succeeded_is_not_handed_over() -> None:
    worker = CronWorker()
    assert (await _run(worker, retry=_POLICY)).job is None
    assert worker.jobs() == []


@in_fake_time
async def test_what_is_unknown_here_is_handed_over_without_a_charge() -> None:
    worker = CronWorker()
    await _run(worker, "sweep", "c:gone", retry=_POLICY)
    (job,) = worker.jobs()
    assert (job["due"], job["charged"]) == (NOW + 30_000, 0)


@in_fake_time
async def test_a_mutation_whose_outcome_was_unknown_is_applied_once() -> None:
    """The shard has committed, its answer was lost, and the job tries again."""
    worker = CronWorker()
    worker.shard.answers_lost = 1
    run = await _run(worker, "sweep", "c:apply", {"text": "a"}, retry=_POLICY)
    assert (run.outcome, run.error_code) == ("failed", "SHARD_UNAVAILABLE")
    (job,) = worker.jobs()
    again = worker.runner._runnable.bind(job["target"], {"text": "a"})
    received = Tick.of_schedule(cron_job("sweep", "c:apply", {"text": "a"}), NOW).attempt()
    await again(received.model_copy(update={"number": 2}))  # type: ignore[misc]
    assert worker.shard.notes() == ["a"]


@in_fake_time
async def test_a_scheduler_that_does_not_take_it_is_told_and_the_run_has_failed_all_the_same() -> None:
    worker = CronWorker()
    worker.scheduler_object.fail_next = 3
    run = await _run(worker, "sweep", "c:fail", retry=_POLICY)
    assert (run.outcome, run.error_code, run.job) == ("failed", "CARD_DECLINED", None)
    assert worker.log == [
        "lunora: the cron job 'sweep' failed and is not tried again: SCHEDULER_UNAVAILABLE",
    ]


# -- overlap -------------------------------------------------------------------------------------------------


@in_fake_time
async def test_a_run_is_skipped_while_the_one_before_is_under_way() -> None:
    worker = CronWorker()
    first = asyncio.create_task(_run(worker, "sweep", "c:slow", {"seconds": 120}, overlap="skip"))
    for minute in (1, 2):
        await asyncio.sleep(59)
        run = await _run(worker, "sweep", "c:slow", {"seconds": 120}, overlap="skip", at=NOW + minute * 60_000)
        assert (run.outcome, run.ended, run.error_code) == ("skipped", run.started, None)
    assert (await first).outcome == "succeeded"
    assert worker.did == [("began", 0), ("ended", 120_000)]
    assert worker.log == ["lunora: the cron job 'sweep' is skipped: the run before is still under way"] * 2
    assert (await _run(worker, "sweep", overlap="skip")).outcome == "succeeded", "it is free at once"


@in_fake_time
async def test_by_hand_it_is_skipped_too() -> None:
    worker = CronWorker()
    first = asyncio.create_task(_run(worker, "sweep", "c:slow", {"seconds": 5}, overlap="skip"))
    await asyncio.sleep(1)
    assert (await worker.runner.run_by_hand(cron_job("sweep", overlap="skip"))).outcome == "skipped"
    await first


@in_fake_time
async def test_runs_may_overlap_unless_the_job_says_otherwise() -> None:
    worker = CronWorker()
    await asyncio.gather(*(_run(worker, "sweep", "c:slow", {"seconds": 5}, at=NOW + at) for at in (0, 1)))
    assert worker.did == [("began", 0), ("began", 0), ("ended", 5_000), ("ended", 5_000)]
    assert "hold_cron" not in worker.shard.asked


@pytest.mark.parametrize("how", ["expected", "exit", "timeout"])
def test_a_run_that_failed_leaves_its_turn_to_the_next(how: str) -> None:
    @in_fake_time
    async def test() -> None:
        worker = CronWorker()
        assert (await _run(worker, "sweep", "c:fail", {"how": how}, overlap="skip")).outcome == "failed"
        assert (await _run(worker, "sweep", overlap="skip")).outcome == "succeeded"

    test()


@in_fake_time
async def test_a_lease_that_nobody_renews_is_free_after_its_time() -> None:
    """Whatever ran it is gone: nothing gives it back."""
    worker = CronWorker()
    assert worker.shard.leases.hold("sweep", "a run that crashed", worker.now())
    await asyncio.sleep(LEASE_MS / 1000 - 1)
    assert (await _run(worker, "sweep", overlap="skip")).outcome == "skipped"
    await asyncio.sleep(1)
    assert (await _run(worker, "sweep", overlap="skip")).outcome == "succeeded"


@in_fake_time
async def test_a_shard_that_cannot_say_whose_turn_it_is_makes_the_run_fail() -> None:
    worker = CronWorker()
    worker.shard.broken = True
    run = await _run(worker, "sweep", overlap="skip", retry=_POLICY)
    assert (run.outcome, run.error_code) == ("failed", "SHARD_UNAVAILABLE")
    assert worker.did == []
    assert run.job is not None


@in_fake_time
async def test_without_shards_nobody_can_say_whose_turn_it_is() -> None:
    worker = CronWorker(shards=False)
    run = await _run(worker, "sweep", overlap="skip")
    assert (run.outcome, run.error_code) == ("failed", "SHARD_NOT_CONFIGURED")
    assert worker.did == []


@in_fake_time
async def test_a_shard_that_is_silent_is_not_waited_for_for_ever() -> None:
    worker = CronWorker()
    worker.shard.silent = True
    run = await _run(worker, "sweep", overlap="skip")
    assert (run.outcome, run.error_code) == ("failed", "SHARD_UNAVAILABLE")
    assert (run.ended or 0) - NOW == 8_000


@in_fake_time
async def test_a_renewal_that_fails_once_loses_nothing() -> None:
    worker = CronWorker()
    first = asyncio.create_task(_run(worker, "sweep", "c:slow", {"seconds": 60}, overlap="skip"))
    await asyncio.sleep(RENEWAL_S - 1)
    worker.shard.broken = True
    await asyncio.sleep(2)
    worker.shard.broken = False
    await asyncio.sleep(30)
    assert (await _run(worker, "sweep", overlap="skip")).outcome == "skipped"
    assert (await first).outcome == "succeeded"
    assert worker.log[0] == "lunora: the lease of the cron job 'sweep' was not renewed: SHARD_UNAVAILABLE"


@in_fake_time
async def test_a_lease_that_was_lost_is_told_and_not_taken_back() -> None:
    worker = CronWorker()
    first = asyncio.create_task(_run(worker, "sweep", "c:slow", {"seconds": 60}, overlap="skip"))
    await asyncio.sleep(1)
    worker.shard.store.execute("UPDATE _lunora_cron_leases SET holder = 'another'")
    assert (await first).outcome == "succeeded"
    lost = "lunora: the lease of the cron job 'sweep' is lost: another run has begun beside this one"
    assert worker.log == [lost]
    assert worker.shard.store.execute("SELECT holder FROM _lunora_cron_leases") == [{"holder": "another"}]


# -- the record ----------------------------------------------------------------------------------------------


@in_fake_time
async def test_a_run_is_on_record_while_it_is_under_way_and_when_it_has_ended() -> None:
    worker = CronWorker()
    first = asyncio.create_task(_run(worker, "sweep", "c:slow", {"seconds": 5}))
    await asyncio.sleep(1)
    (begun,) = worker.runs()
    assert (begun.name, begun.outcome, begun.started, begun.ended) == ("sweep", "running", NOW, None)
    ended = await first
    assert worker.runs() == [ended]
    assert (ended.outcome, ended.result, ended.ended) == ("succeeded", '"at last"', NOW + 5_000)


@in_fake_time
async def test_each_outcome_is_on_record() -> None:
    worker = CronWorker()
    await _run(worker, "good", args={"value": 5})
    await _run(worker, "bad", "c:fail", retry=_POLICY)
    assert worker.shard.leases.hold("late", "another", worker.now())
    await _run(worker, "late", overlap="skip")
    await worker.runner.run_by_hand(cron_job("good"))
    told = {(run.name, run.trigger): (run.outcome, run.result, run.error_code, run.job) for run in worker.runs()}
    assert told == {
        ("good", "cron"): ("succeeded", "5", None, None),
        ("bad", "cron"): ("failed", None, "CARD_DECLINED", Tick.of_schedule(cron_job("bad"), NOW).id),
        ("late", "cron"): ("skipped", None, None, None),
        ("good", "manual"): ("succeeded", "null", None, None),
    }


@in_fake_time
async def test_a_tick_that_is_delivered_twice_is_two_runs() -> None:
    worker = CronWorker()
    for _ in range(2):
        await _run(worker)
    assert [run.scheduled_for for run in worker.runs()] == [NOW, NOW]


@pytest.mark.parametrize("how", ["broken", "silent"])
def test_a_shard_that_is_down_stops_no_action(how: str) -> None:
    @in_fake_time
    async def test() -> None:
        worker = CronWorker()
        setattr(worker.shard, how, True)
        run = await _run(worker, "sweep", "c:slow", {"seconds": 1})
        assert (run.outcome, run.ended) == ("succeeded", NOW + 1_000)
        assert worker.did == [("began", 0), ("ended", 1_000)], "it was not delayed either"
        why = "SHARD_UNAVAILABLE" if how == "broken" else "TimeoutError"
        assert worker.log == [f"lunora: a run of the cron job 'sweep' was not recorded: {why}"] * 2

    test()


@in_fake_time
async def test_an_app_without_shards_has_crons_and_no_record() -> None:
    worker = CronWorker(shards=False)
    assert (await _run(worker)).outcome == "succeeded"
    assert worker.shard.asked == []
    assert worker.log == []
