from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError, UnavailableError
from lunorash.retrying import NonRetryableError, RetryAfter
from lunorash.scheduler import RetryPolicy
from lunorash.scheduler.ids import check_id, mint_id
from lunorash.scheduler.options import MAX_INSTANT_MS
from lunorash.server.cron_tick import Tick

from .cron_worker import cron_job
from .scheduler_object import NOW

_NAMES = st.text(min_size=1, max_size=200)
_BROKEN = LunoraError("BOOM", "it broke")


def test_a_tick_is_known_by_its_jobs_name_and_its_time() -> None:
    ticks = [
        Tick.of_schedule(cron_job("sweep"), NOW),
        Tick.of_schedule(cron_job("sweep", "c:other", {"a": 1}), NOW),
        Tick.of_schedule(cron_job("sweep"), NOW + 60_000),
        Tick.of_schedule(cron_job("Sweep"), NOW),
    ]
    first, again, *others = [(tick.id, tick.incarnation) for tick in ticks]
    assert first == again, "whatever a deploy makes of it meanwhile"
    assert len({first, *others}) == 3


@given(_NAMES, st.integers(0, MAX_INSTANT_MS))
def test_whatever_a_job_is_called_its_ticks_can_be_jobs(name: str, at: int) -> None:
    tick = Tick.of_schedule(cron_job(name), at)
    assert check_id(tick.id) == tick.id
    assert check_id(tick.incarnation) == tick.incarnation
    by_hand = Tick.by_hand(cron_job(name), at, mint_id)
    assert check_id(by_hand.id) == by_hand.id
    assert tick.id.startswith("cron-")


@given(_NAMES, _NAMES)
def test_two_names_are_never_taken_for_one(one: str, other: str) -> None:
    same = Tick.of_schedule(cron_job(one), NOW).id == Tick.of_schedule(cron_job(other), NOW).id
    assert same is (one == other)


def test_a_tick_by_hand_is_always_another() -> None:
    minted = iter("abcd")
    ticks = [Tick.by_hand(cron_job("sweep"), NOW, lambda: next(minted)) for _ in range(2)]
    assert [(tick.id.rpartition("-")[2], tick.incarnation, tick.trigger) for tick in ticks] == [
        ("a", "b", "manual"),
        ("c", "d", "manual"),
    ]


def test_an_attempt_carries_what_the_job_says() -> None:
    tick = Tick.of_schedule(cron_job("sweep", "c:act", {"value": 1}, timeout_ms=5_000), NOW)
    attempt = tick.attempt()
    assert (attempt.job, attempt.incarnation, attempt.number) == (tick.id, tick.incarnation, 1)
    assert (attempt.target, attempt.args, attempt.timeout_ms) == ("c:act", {"value": 1}, 5_000)
    assert (attempt.scheduled_for, attempt.shard_key) == (NOW, None)


def test_a_job_without_a_policy_is_not_tried_again() -> None:
    assert Tick.of_schedule(cron_job(), NOW).again(_BROKEN, NOW, lambda: 0.0) is None


def test_the_job_that_tries_again_is_the_tick_with_one_attempt_behind_it() -> None:
    policy = RetryPolicy(max_attempts=3, base_ms=10_000, jitter=0.5)
    tick = Tick.of_schedule(cron_job("sweep", args={"value": "ä"}, retry=policy, timeout_ms=5_000), NOW)
    job = tick.again(_BROKEN, NOW + 7, lambda: 0.5)
    assert job is not None
    assert (job.id, job.incarnation) == (tick.id, tick.incarnation)
    assert (job.target, job.args, job.timeout_ms, job.shard_key) == ("c:act", '{"value":"ä"}', 5_000, None)
    assert (job.charged, job.due, job.retry) == (1, NOW + 7 + 7_500, policy.to_dict())
    assert job.scheduled_for == NOW, "the function is told the time that its tick was for"


def test_a_tick_whose_job_says_so_is_not_tried_again_or_no_sooner_than_it_asks() -> None:
    tick = Tick.of_schedule(cron_job(retry=RetryPolicy(max_attempts=2, base_ms=1_000, jitter=0.5)), NOW)
    assert tick.again(NonRetryableError("no"), NOW, lambda: 0.0) is None
    later = tick.again(RetryAfter(60), NOW, lambda: 0.5)
    assert later is not None
    assert later.due == NOW + 75_000


def test_an_attempt_that_could_not_be_made_is_not_counted() -> None:
    """As with any job: it may be a deploy in progress, and is tried every 30 s for a quarter of an hour."""
    tick = Tick.of_schedule(cron_job(retry=RetryPolicy(base_ms=1)), NOW)
    job = tick.again(UnavailableError("FUNCTION_NOT_FOUND", "gone"), NOW, lambda: 0.0)
    assert job is not None
    assert (job.charged, job.due) == (0, NOW + 30_000)
