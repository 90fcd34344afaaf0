from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from lunorash.contexts import ActionContext
from lunorash.errors import LunoraError, UnavailableError
from lunorash.functions import FunctionTable
from lunorash.retrying import RetryAfter
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.scheduler.queue_message import encode_message
from lunorash.scheduler.receiver import STOP_S
from lunorash.server.queue_consumer import BACKOFF, TIME_LIMIT_S, Delivery, QueueConsumer

from .fake_time import in_fake_time
from .scheduler_object import NOW
from .test_job_runner import _Worker


class _Queue:
    """A queue on this side of the border: what became of each message, and when."""

    def __init__(self, runnable: Any, *, random: Callable[[], float] = lambda: 0.0) -> None:
        self.settled: dict[str, tuple[str, int | None]] = {}
        self.at: dict[str, float] = {}
        self.log: list[str] = []
        self.consumer = QueueConsumer("imports", runnable, log=self.log.append, random=random)

    async def deliver(self, *bodies: object, attempts: int = 1) -> _Queue:
        """Deliver a batch of messages, called m0, m1, ..."""
        await self.consumer.consume([self._delivery(f"m{n}", body, attempts) for n, body in enumerate(bodies)])
        return self

    def _delivery(self, message_id: str, body: object, attempts: int) -> Delivery:
        def settle(how: str, delay_s: int | None) -> None:
            assert message_id not in self.settled, "a message is settled once"
            self.settled[message_id] = (how, delay_s)
            self.at[message_id] = asyncio.get_running_loop().time()

        return Delivery(
            id=message_id,
            attempts=attempts,
            body=body,
            ack=lambda: settle("ack", None),
            retry=lambda delay_s: settle("retry", delay_s),
        )


def _functions(**functions: Callable[..., Any]) -> FunctionTable:
    return FunctionTable({f"m:{name}": function for name, function in functions.items()})


def _call(target: str = "m:f", shard_key: str | None = None, **args: Any) -> str:
    return encode_message(target=target, args=json.dumps(args), due=NOW, shard_key=shard_key)


# -- endings -------------------------------------------------------------------------------------------------


@in_fake_time
async def test_a_call_that_ends_well_is_acknowledged() -> None:
    seen: list[tuple[ReceivedAttempt, int]] = []

    async def f(attempt: ReceivedAttempt, n: int) -> str:
        seen.append((attempt, n))
        return "what it returns goes nowhere"

    queue = await _Queue(_functions(f=f)).deliver(_call(n=7, shard_key="tenant"), attempts=3)
    assert queue.settled == {"m0": ("ack", None)}
    assert queue.log == []
    ((attempt, n),) = seen
    assert n == 7
    assert (attempt.job, attempt.incarnation, attempt.number) == ("m0", "queue", 3)
    assert (attempt.scheduled_for, attempt.shard_key, attempt.redrives) == (NOW, "tenant", 0)


@in_fake_time
async def test_a_function_that_is_not_async_is_run_too() -> None:
    seen: list[int] = []
    queue = await _Queue(_functions(f=lambda _ctx, n: seen.append(n))).deliver(_call(n=7))
    assert (seen, queue.settled) == ([7], {"m0": ("ack", None)})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LunoraError("IMPORT_FAILED", "sesame"), "'IMPORT_FAILED'"),
        (UnavailableError("FUNCTION_NOT_FOUND", "sesame"), "'FUNCTION_NOT_FOUND'"),
        (LunoraError("two\nlines " + "x" * 500, "sesame"), r"'two\\nlines x{65}\.\.\."),
        (LunoraError(None, "sesame"), "None"),  # type: ignore[arg-type]
        (ValueError("sesame"), "'INTERNAL'"),
        (TimeoutError("sesame"), "'INTERNAL'"),
        (asyncio.CancelledError("sesame"), "'INTERNAL'"),
        (SystemExit("sesame"), "'INTERNAL'"),
        (KeyboardInterrupt("sesame"), "'INTERNAL'"),
    ],
)
def test_a_call_that_fails_goes_back_and_the_log_says_with_which_code(
    error: BaseException, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    @in_fake_time
    async def test() -> None:
        async def f(ctx: Any, secret: str) -> None:
            await asyncio.sleep(1)
            raise error

        queue = await _Queue(_functions(f=f, g=lambda _ctx: None)).deliver(_call(secret="sesame"), _call("m:g"))
        assert queue.settled == {"m0": ("retry", 30), "m1": ("ack", None)}
        (line,) = queue.log
        assert re.fullmatch(
            "lunora: the message m0 of the queue imports goes back for 30 s, or to the dead letters: "
            f"'m:f' failed at attempt 1 with {code}",
            line,
        )
        assert "sesame" not in line

    test()
    printed = capsys.readouterr().out
    assert "sesame" not in printed
    if code == "'INTERNAL'":
        assert f"in 'm:f' of the message m0 of the queue imports: {type(error).__name__} at f line" in printed


@in_fake_time
async def test_it_waits_longer_after_each_failure() -> None:
    def f(ctx: Any) -> None:
        raise LunoraError("IMPORT_FAILED", "always")

    delays = []
    for attempts in (1, 2, 3, 7, 8, 9, 100, 101, 0):
        queue = await _Queue(_functions(f=f)).deliver(_call(), attempts=attempts)
        delays.append(queue.settled["m0"][1])
    assert delays == [30, 60, 120, 1920, 3600, 3600, 3600, 3600, 30]


@in_fake_time
async def test_what_failed_together_comes_back_apart() -> None:
    def f(ctx: Any) -> None:
        raise LunoraError("IMPORT_FAILED", "always")

    numbers = iter((0.0, 0.5, 0.999))
    queue = await _Queue(_functions(f=f), random=lambda: next(numbers)).deliver(_call(), _call(), _call())
    assert [delay for _, delay in queue.settled.values()] == [30, 27, 25]


@in_fake_time
async def test_who_asks_for_time_is_given_it_as_far_as_a_queue_can() -> None:
    def f(ctx: Any, seconds: float) -> None:
        raise RetryAfter(seconds)

    calls = [_call(seconds=seconds) for seconds in (1, 900.5, 10**9)]
    queue = await _Queue(_functions(f=f), random=lambda: 0.9).deliver(*calls)
    assert [queue.settled[f"m{number}"][1] for number in range(3)] == [25, 1063, 86_400]


def test_a_message_is_never_kept_back_for_longer_than_a_queue_can() -> None:
    assert max(BACKOFF.delay_ms(retry, random=lambda: 0.0) for retry in range(1, 1001)) <= 24 * 3_600_000


@pytest.mark.parametrize("body", [None, 7, {"hello": "sesame"}, b"sesame", "sesame", '{"version": "2"}', "[" * 8_000])
def test_what_is_none_of_ours_is_left_to_the_queue(body: object) -> None:
    @in_fake_time
    async def test() -> None:
        queue = await _Queue(_functions(f=lambda _ctx: None)).deliver(body, _call())
        assert queue.settled == {"m0": ("retry", None), "m1": ("ack", None)}
        (line,) = queue.log
        assert line.startswith(
            "lunora: the message m0 of the queue imports goes back, it is no call that can be run: its body is"
        )
        assert "sesame" not in line

    test()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (_call("m:nobody_knows", secret="sesame"), "FUNCTION_NOT_FOUND"),
        (_call("workflows.missing", secret="sesame"), "FUNCTION_NOT_FOUND"),
        (_call("m:note", secret="sesame"), "INVALID_INPUT"),
    ],
)
async def test_what_this_deployment_cannot_run_waits_for_one_that_can(body: str, code: str) -> None:
    queue = await _Queue(_Worker().runner).deliver(body)
    assert queue.settled == {"m0": ("retry", 30)}
    (line,) = queue.log
    assert line.endswith(f"failed at attempt 1 with '{code}'")
    assert "sesame" not in line


@in_fake_time
async def test_what_another_version_enqueued_waits_for_that_version() -> None:
    queue = await _Queue(_functions()).deliver('{"version": 2, "secret": "sesame"}', attempts=2)
    assert queue.settled == {"m0": ("retry", 60)}
    assert queue.log == [
        "lunora: the message m0 of the queue imports goes back, it is no call that can be run: "
        "it is of version 2; this Worker speaks 1"
    ]


@in_fake_time
async def test_an_empty_batch_is_no_work() -> None:
    assert (await _Queue(_functions()).deliver()).settled == {}


# -- what runs on shards, and instances ----------------------------------------------------------------------


async def test_a_mutation_whose_message_is_delivered_again_has_its_effect_once() -> None:
    worker = _Worker()
    for attempts in (1, 2, 3):
        queue = await _Queue(worker.runner).deliver(_call("m:note", text="a"), attempts=attempts)
        assert queue.settled == {"m0": ("ack", None)}
    assert worker.shards.get("default").notes() == ["a"]
    await _Queue(worker.runner).deliver("another m0", _call("m:note", text="a"))
    assert worker.shards.get("default").notes() == ["a", "a"], "another message is another effect"


async def test_a_call_has_no_identity() -> None:
    seen: list[Any] = []

    async def act(ctx: ActionContext[Any]) -> None:
        assert ctx.job is not None
        seen.append((ctx.auth.user_id, dict(ctx.auth.claims), ctx.job.id))

    await _Queue(_Worker({"m:act": act}).runner).deliver(_call("m:act"))
    assert seen == [(None, {}, "m0")]


async def test_a_workflow_and_an_agent_start_an_instance_named_after_the_message() -> None:
    worker = _Worker()
    for attempts in (1, 2):
        queue = await _Queue(worker.runner).deliver(
            _call("workflows.onboarding", tag="w"), _call("agents.support", tag="a"), attempts=attempts
        )
        assert set(queue.settled.values()) == {("ack", None)}
    assert worker.env.ONBOARDING.instances == {"m0": {"tag": "w"}}
    assert worker.env.SUPPORT.started == {"m1": '{"tag": "a"}'}


# -- time ----------------------------------------------------------------------------------------------------


@in_fake_time
async def test_calls_run_side_by_side_and_each_is_settled_as_it_ends() -> None:
    async def f(ctx: Any, seconds: float) -> None:
        await asyncio.sleep(seconds)

    queue = await _Queue(_functions(f=f)).deliver(_call(seconds=300), _call(seconds=10), _call(seconds=200))
    assert queue.at == {"m0": 300, "m1": 10, "m2": 200}


@in_fake_time
async def test_a_slow_call_is_cancelled_before_the_platform_forgets_its_neighbours() -> None:
    cleaned_up: list[float] = []

    async def slow(ctx: Any) -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(1)
            cleaned_up.append(asyncio.get_running_loop().time())

    queue = await _Queue(_functions(slow=slow, quick=lambda _ctx: None)).deliver(_call("m:slow"), _call("m:quick"))
    assert queue.settled == {"m0": ("retry", 30), "m1": ("ack", None)}
    assert queue.at == {"m0": TIME_LIMIT_S + 1, "m1": 0}
    assert cleaned_up == [TIME_LIMIT_S + 1]
    assert TIME_LIMIT_S + STOP_S < 15 * 60
    assert queue.log[0].endswith("'m:slow' failed at attempt 1 with 'ATTEMPT_TIMED_OUT'")


@in_fake_time
async def test_a_call_that_ends_well_although_it_is_cancelled_is_done() -> None:
    async def stoic(ctx: Any) -> None:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await asyncio.sleep(1)

    assert (await _Queue(_functions(stoic=stoic)).deliver(_call("m:stoic"))).settled == {"m0": ("ack", None)}


@in_fake_time
async def test_a_call_that_will_not_be_cancelled_goes_back_and_is_left_to_itself() -> None:
    over = asyncio.Event()

    async def stubborn(ctx: Any) -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    queue = await _Queue(_functions(stubborn=stubborn)).deliver(_call("m:stubborn"))
    assert queue.settled == {"m0": ("retry", 30)}
    assert queue.at == {"m0": TIME_LIMIT_S + STOP_S}
    assert "a function that goes on although it was cancelled" in queue.log[0]
    over.set()
    await asyncio.sleep(1)


@in_fake_time
async def test_when_the_batch_itself_is_cancelled_its_calls_are_too() -> None:
    ended: list[str] = []

    async def slow(ctx: Any) -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.append("slow")

    queue = _Queue(_functions(slow=slow))
    batch = asyncio.create_task(queue.deliver(_call("m:slow")))
    await asyncio.sleep(1)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    await asyncio.sleep(0)
    assert (ended, queue.settled) == (["slow"], {})
