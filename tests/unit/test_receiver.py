from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lunorash.contexts import Job
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.retrying import NonRetryableError, RetryAfter, raise_for_retry
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.scheduler.job import Result
from lunorash.scheduler.protocol import End, Heartbeat, ReceivedAttempt, Results, read_line
from lunorash.scheduler.receiver import HEARTBEAT_S, STOP_S, WRITE_TIMEOUT_S, Receiver

from .action_context import Context, context_of
from .fake_time import in_fake_time


class _Answer:
    """Runs attempts and keeps what was written, with the time of each line."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self._functions = FunctionTable({f"m:{name}": function for name, function in functions.items()})
        self.written: list[tuple[float, Results | Heartbeat | End]] = []
        self.log: list[str] = []
        self.contexts: list[Context] = []
        self.readers_gone_at = float("inf")

    async def write(self, line: bytes) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self.readers_gone_at:
            await asyncio.Event().wait()  # neither fails nor completes
        assert line.endswith(b"\n")
        self.written += [(now, read_line(part)) for part in line.decode().splitlines()]

    def _context(self, attempt: ReceivedAttempt) -> Context:
        context = context_of(attempt, env=SimpleNamespace(NAME="value"))
        self.contexts.append(context)
        return context

    async def run(self, *attempts: ReceivedAttempt) -> _Answer:
        receiver = Receiver(self._functions, context=self._context, log=self.log.append)
        await receiver.answer(attempts, self.write)
        return self

    @property
    def results(self) -> list[Result]:
        return [result for _, line in self.written if isinstance(line, Results) for result in line.as_results()]

    @property
    def result(self) -> Result:
        assert len(self.results) == 1
        return self.results[0]

    @property
    def ended(self) -> bool:
        return isinstance(self.written[-1][1], End)

    def times(self, kind: type[Results | Heartbeat | End]) -> list[float]:
        return [at for at, line in self.written if isinstance(line, kind)]


def _attempt(function: str = "f", *, job: str = "j", timeout_ms: int = 600_000, **args: Any) -> ReceivedAttempt:
    return ReceivedAttempt(
        job=job, incarnation="i", number=4, target=f"m:{function}", args=args, scheduled_for=7, timeout_ms=timeout_ms
    )


# -- good endings --------------------------------------------------------------------------------------------


@in_fake_time
async def test_a_function_gets_its_context_and_its_arguments_by_name() -> None:
    seen: list[tuple[Context, Any, Any]] = []

    async def f(ctx: Context, name: str, times: int = 1) -> str:
        seen.append((ctx, name, times))
        return "what it returns goes nowhere"

    answer = await _Answer(f=f).run(_attempt(name="Ada"))
    assert seen == [(answer.contexts[0], "Ada", 1)]
    assert answer.contexts[0].job == Job(id="j", incarnation="i", attempt=4, scheduled_for=7)
    assert answer.contexts[0].env.NAME == "value"
    assert answer.contexts[0].auth.user_id is None
    assert answer.result == Result(job="j", attempt=4, outcome="ok")
    assert answer.ended


@in_fake_time
async def test_an_ordinary_function_runs_too() -> None:
    answer = await _Answer(f=lambda _ctx, a: a + 1).run(_attempt(a=1))
    assert answer.result.outcome == "ok"


@in_fake_time
async def test_an_ordinary_function_may_return_something_to_await() -> None:
    waited: list[float] = []

    async def later() -> None:
        await asyncio.sleep(3)
        waited.append(asyncio.get_running_loop().time())

    answer = await _Answer(f=lambda _ctx: later()).run(_attempt())
    assert answer.result.outcome == "ok"
    assert waited == [3]


@in_fake_time
async def test_a_probe_is_answered_with_the_end_line_at_once() -> None:
    answer = await _Answer().run()
    assert [type(line) for _, line in answer.written] == [End]


@in_fake_time
async def test_an_error_value_that_is_returned_is_a_success() -> None:
    answer = await _Answer(f=lambda _ctx: LunoraError("BOOM", "returned, not raised")).run(_attempt())
    assert answer.result.outcome == "ok"


# -- results that somebody wants -----------------------------------------------------------------------------


def _wanting(function: str = "f", **args: Any) -> ReceivedAttempt:
    return _attempt(function, **args).model_copy(update={"wants_result": True})


@in_fake_time
async def test_a_result_travels_for_the_attempt_that_wants_it_and_for_no_other() -> None:
    answer = await _Answer(f=lambda _ctx: '{"receipt": 7}').run(_wanting(), _attempt(job="other"))
    assert [(result.result, result.result_omitted) for result in answer.results] == [
        ('{"receipt": 7}', False),
        (None, False),
    ]


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ('"' + "x" * (MAX_RESULT_BYTES - 2) + '"', False),
        ('"' + "x" * (MAX_RESULT_BYTES - 1) + '"', True),
        ('"' + "é" * (MAX_RESULT_BYTES // 2) + '"', True),
        ("\udc80" * MAX_RESULT_BYTES, True),
    ],
)
@in_fake_time
async def test_a_result_that_is_too_large_is_left_out_and_that_is_said(returned: str, told: bool) -> None:
    answer = await _Answer(f=lambda _ctx: returned).run(_wanting())
    assert answer.result.outcome == "ok"
    assert answer.result.result_omitted is told
    assert answer.result.result == (None if told else returned)


@in_fake_time
async def test_what_only_begins_has_no_result() -> None:
    """A workflow and an agent."""
    for returned in (None, 5, object()):
        answer = await _Answer(f=lambda _ctx, value=returned: value).run(_wanting())
        assert (answer.result.outcome, answer.result.result, answer.result.result_omitted) == ("ok", None, False)


# -- what is tried again -------------------------------------------------------------------------------------


@in_fake_time
async def test_what_a_function_raises_says_whether_and_when_it_is_tried_again() -> None:
    def f(_ctx: Context, how: str) -> None:
        match how:
            case "never":
                raise NonRetryableError("the card was stolen", code="CARD_STOLEN")
            case "later":
                raise RetryAfter(90, "busy")
            case "upstream":
                raise_for_retry(SimpleNamespace(status=503, headers={"retry-after": "2"}))
            case _:
                raise LunoraError("BOOM", "as usual")

    for how, expected in {
        "never": (False, None, "CARD_STOLEN"),
        "later": (True, 90_000, "RETRY_AFTER"),
        "upstream": (True, 2_000, "RETRY_AFTER"),
        "else": (True, None, "BOOM"),
    }.items():
        result = (await _Answer(f=f).run(_attempt(how=how))).result
        assert (result.outcome, result.retryable, result.retry_after_ms, result.code) == ("failed", *expected)


@in_fake_time
async def test_where_a_function_failed_is_told_without_any_values() -> None:
    def inner(secret: str) -> None:
        raise ValueError(f"no {secret}")

    async def f(_ctx: Context, secret: str) -> None:
        try:
            inner(secret)
        except ValueError as error:
            raise LunoraError("BOOM", "no") from error

    trace = (await _Answer(f=f).run(_attempt(secret="hunter2"))).result.traceback
    assert trace is not None
    own, after, *causes = trace.splitlines()
    assert own.endswith(".f")
    assert after == "after ValueError at"
    assert [line.rpartition(".")[2] for line in causes] == ["f", "inner"]
    assert all("test_receiver.py:" in line for line in (own, *causes))
    assert "hunter2" not in trace


@in_fake_time
async def test_where_it_waited_is_told_of_a_function_whose_time_was_up() -> None:
    async def f(_ctx: Context) -> None:
        await asyncio.sleep(60)

    result = (await _Answer(f=f).run(_attempt(timeout_ms=1_000))).result
    assert result.code == "ATTEMPT_TIMED_OUT"
    assert result.traceback is not None
    assert "test_receiver.py" in result.traceback


# -- lines ---------------------------------------------------------------------------------------------------


@in_fake_time
async def test_attempts_run_side_by_side_and_results_come_as_they_are_ready() -> None:
    async def f(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)

    attempts = [_attempt(job=job, seconds=seconds) for job, seconds in (("slow", 3), ("fast", 1), ("middle", 2))]
    answer = await _Answer(f=f).run(*attempts)
    assert [result.job for result in answer.results] == ["fast", "middle", "slow"]
    assert answer.times(Results) == [1, 2, 3]
    assert answer.times(End) == [3]


@in_fake_time
async def test_all_results_that_are_ready_go_in_one_write() -> None:
    async def f(ctx: Context) -> None:
        await asyncio.sleep(1)

    answer = await _Answer(f=f).run(*(_attempt(job=f"j{number}") for number in range(50)))
    assert answer.times(Results) == [1]
    assert {result.job for result in answer.results} == {f"j{number}" for number in range(50)}


@in_fake_time
async def test_a_heartbeat_comes_every_five_seconds_while_anything_runs() -> None:
    async def f(ctx: Context) -> None:
        await asyncio.sleep(21)

    answer = await _Answer(f=f).run(_attempt())
    assert answer.times(Heartbeat) == [5, 10, 15, 20]
    assert HEARTBEAT_S == 5


@in_fake_time
async def test_results_do_not_delay_the_heartbeat() -> None:
    async def f(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)

    answer = await _Answer(f=f).run(*(_attempt(job=f"j{number}", seconds=number * 0.9) for number in range(1, 20)))
    assert answer.times(Heartbeat) == pytest.approx([5, 10, 15])


# -- bad endings ---------------------------------------------------------------------------------------------


class _MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("I cannot say")


class _Strange(BaseException):
    """Not even an Exception."""


def _raising(error: BaseException) -> Callable[..., None]:
    def f(ctx: Context) -> None:
        raise error

    return f


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LunoraError("CARD_DECLINED", "no funds"), "CARD_DECLINED", "no funds"),
        (LunoraError("EMPTY", ""), "EMPTY", ""),
        (ValueError("bad"), "ATTEMPT_FAILED", "ValueError: bad"),
        (ValueError(), "ATTEMPT_FAILED", "ValueError: "),
        (_MuteError(), "ATTEMPT_FAILED", "_MuteError: "),
        (SystemExit(3), "ATTEMPT_FAILED", "SystemExit: 3"),
        (KeyboardInterrupt(), "ATTEMPT_FAILED", "KeyboardInterrupt: "),
        (GeneratorExit(), "ATTEMPT_FAILED", "GeneratorExit: "),
        (_Strange("odd"), "ATTEMPT_FAILED", "_Strange: odd"),
        (BaseExceptionGroup("several", [_Strange()]), "ATTEMPT_FAILED", "BaseExceptionGroup: several"),
        (TimeoutError("its own"), "ATTEMPT_FAILED", "TimeoutError: its own"),
        (asyncio.CancelledError("its own"), "ATTEMPT_FAILED", "CancelledError: its own"),
        (StopIteration(), "ATTEMPT_FAILED", "StopIteration"),
        (RecursionError(), "ATTEMPT_FAILED", "RecursionError: "),
        (MemoryError(), "ATTEMPT_FAILED", "MemoryError: "),
        (OSError("file \udcff"), "ATTEMPT_FAILED", "OSError: file "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
@pytest.mark.parametrize("how", ["sync", "async"])
@in_fake_time
async def test_whatever_a_function_raises_ends_its_attempt_and_no_other(
    error: BaseException, code: str, message: str, how: str
) -> None:
    async def later(ctx: Context) -> None:
        await asyncio.sleep(1)
        raise error

    async def neighbour(ctx: Context) -> None:
        await asyncio.sleep(2)

    if how == "async" and isinstance(error, StopIteration):
        message = "RuntimeError: coroutine raised StopIteration"  # as Python has it
    function = _raising(error) if how == "sync" else later
    answer = await _Answer(f=function, neighbour=neighbour).run(_attempt(), _attempt("neighbour", job="n"))
    failed, good = answer.results
    assert (failed.job, failed.outcome, failed.code, failed.retryable) == ("j", "failed", code, True)
    assert failed.message is not None
    assert failed.message.startswith(message)
    assert (good.job, good.outcome) == ("n", "ok")
    assert answer.ended


@pytest.mark.parametrize(
    ("code", "message"), [("X", ValueError("not a text")), (5, "y"), ("X", None), ("X" * 10**6, "y")]
)
@in_fake_time
async def test_an_error_that_carries_nonsense_ends_one_attempt_and_no_other(code: Any, message: Any) -> None:
    answer = await _Answer(f=_raising(LunoraError(code, message)), g=lambda _ctx: None).run(
        _attempt(), _attempt("g", job="n")
    )
    assert {result.job: result.outcome for result in answer.results} == {"j": "failed", "n": "ok"}
    assert answer.ended


@in_fake_time
async def test_a_function_that_cancels_its_own_task_has_failed() -> None:
    async def f(ctx: Context) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    answer = await _Answer(f=f, g=lambda _ctx: None).run(_attempt(), _attempt("g", job="n"))
    assert {result.job: result.outcome for result in answer.results} == {"j": "failed", "n": "ok"}
    assert answer.ended


@in_fake_time
async def test_a_context_that_cannot_be_made_ends_its_attempt() -> None:
    answer = _Answer(f=lambda _ctx: None)

    def broken(_attempt: ReceivedAttempt) -> Context:
        raise LunoraError("SCHEDULER_NOT_CONFIGURED", "no binding")

    receiver = Receiver(FunctionTable({"m:f": lambda _ctx: None}), context=broken, log=answer.log.append)
    await receiver.answer([_attempt()], answer.write)
    assert answer.result.code == "SCHEDULER_NOT_CONFIGURED"


# -- what may be a deploy in progress ------------------------------------------------------------------------


@in_fake_time
async def test_an_unknown_function_is_unavailable() -> None:
    answer = await _Answer(f=lambda _ctx: None).run(_attempt("gone"))
    assert (answer.result.outcome, answer.result.code) == ("unavailable", "FUNCTION_NOT_FOUND")
    assert answer.result.message is not None
    assert "'m:gone'" in answer.result.message


@pytest.mark.parametrize("args", [{}, {"name": 1, "more": 2}, {"ctx": 1, "name": 1}, {"Name": 1}])
@in_fake_time
async def test_arguments_that_do_not_fit_are_unavailable_and_nothing_runs(args: dict[str, Any]) -> None:
    ran: list[str] = []

    def f(ctx: Context, name: str) -> None:
        ran.append(name)

    answer = await _Answer(f=f).run(_attempt().model_copy(update={"args": args}))
    assert (answer.result.outcome, answer.result.code) == ("unavailable", "INVALID_INPUT")
    assert ran == []


@in_fake_time
async def test_a_function_that_does_not_say_what_it_takes_is_unavailable() -> None:
    answer = await _Answer(f=max, g=lambda _ctx: None).run(_attempt(), _attempt("g", job="n"))
    assert {result.job: result.outcome for result in answer.results} == {"j": "unavailable", "n": "ok"}


@in_fake_time
async def test_a_type_error_inside_a_function_is_a_failure_and_not_unavailable() -> None:
    answer = await _Answer(f=lambda _ctx: len(5)).run(_attempt())  # type: ignore[arg-type]
    assert (answer.result.outcome, answer.result.code) == ("failed", "ATTEMPT_FAILED")


# -- time ----------------------------------------------------------------------------------------------------


@in_fake_time
async def test_an_attempt_is_cancelled_at_its_timeout_and_says_so() -> None:
    cleaned: list[float] = []

    async def f(ctx: Context) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cleaned.append(asyncio.get_running_loop().time())

    answer = await _Answer(f=f).run(_attempt(timeout_ms=1_500))
    assert (answer.result.outcome, answer.result.code) == ("failed", "ATTEMPT_TIMED_OUT")
    assert answer.result.message == "it took longer than its 1,500 ms"
    assert answer.result.retryable
    assert cleaned == [1.5]


@in_fake_time
async def test_each_attempt_has_its_own_timeout() -> None:
    async def f(ctx: Context) -> None:
        await asyncio.sleep(2)

    answer = await _Answer(f=f).run(_attempt(job="short", timeout_ms=1_000), _attempt(job="long", timeout_ms=3_000))
    assert [(result.job, result.outcome) for result in answer.results] == [("short", "failed"), ("long", "ok")]


@in_fake_time
async def test_the_functions_own_timeout_is_told_apart_from_ours() -> None:
    async def f(ctx: Context) -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(3600)

    answer = await _Answer(f=f).run(_attempt(timeout_ms=2_000))
    assert answer.result.code == "ATTEMPT_FAILED"
    assert answer.times(Results) == [1]


@in_fake_time
async def test_a_function_that_survives_its_timeout_and_returns_has_succeeded() -> None:
    """It did its work: to run it again would do it twice."""

    async def f(ctx: Context) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)

    answer = await _Answer(f=f).run(_attempt(timeout_ms=1_000))
    assert answer.result.outcome == "ok"


@in_fake_time
async def test_a_function_that_ends_with_another_error_at_its_timeout_has_failed_with_that() -> None:
    async def f(ctx: Context) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise ValueError("while cleaning up") from None

    answer = await _Answer(f=f).run(_attempt(timeout_ms=1_000))
    assert (answer.result.code, answer.result.message) == ("ATTEMPT_FAILED", "ValueError: while cleaning up")


# -- readers that are gone -----------------------------------------------------------------------------------


@in_fake_time
async def test_when_a_write_does_not_complete_all_attempts_are_cancelled() -> None:
    """After a reader is gone a write neither fails nor completes: this is how the receiver learns."""
    cancelled: list[float] = []

    async def f(ctx: Context) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(asyncio.get_running_loop().time())
            raise

    answer = _Answer(f=f)
    answer.readers_gone_at = 7
    await answer.run(_attempt(job="a"), _attempt(job="b"))
    assert answer.times(Heartbeat) == [5]
    assert cancelled == [10 + WRITE_TIMEOUT_S] * 2
    assert not answer.ended
    assert answer.results == []
    assert ["2 calls are cancelled" in line for line in answer.log] == [True]


@in_fake_time
async def test_a_result_that_nobody_reads_ends_the_rest_too() -> None:
    async def f(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)

    answer = _Answer(f=f)
    answer.readers_gone_at = 0
    await answer.run(_attempt(job="a", seconds=1), _attempt(job="b", seconds=3600))
    assert answer.written == []
    assert asyncio.get_running_loop().time() == 1 + WRITE_TIMEOUT_S


@in_fake_time
async def test_a_function_that_will_not_stop_is_waited_for_a_while_and_then_left() -> None:
    stop = asyncio.Event()
    stubborn: list[asyncio.Task[Any]] = []

    async def f(ctx: Context) -> None:
        task = asyncio.current_task()
        assert task is not None
        stubborn.append(task)
        while not stop.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await stop.wait()

    answer = _Answer(f=f)
    answer.readers_gone_at = 0
    await answer.run(_attempt())
    assert asyncio.get_running_loop().time() == 5 + WRITE_TIMEOUT_S + STOP_S
    assert any("1 functions go on although they were cancelled" in line for line in answer.log)
    stop.set()
    await asyncio.wait(stubborn)


@in_fake_time
async def test_when_the_answer_itself_is_cancelled_its_attempts_are_too() -> None:
    cancelled: list[str] = []

    async def f(ctx: Context) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            assert ctx.job is not None
            cancelled.append(ctx.job.id)
            raise

    answering = asyncio.create_task(_Answer(f=f).run(_attempt(job="a"), _attempt(job="b")))
    await asyncio.sleep(1)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert sorted(cancelled) == ["a", "b"]


@in_fake_time
async def test_a_write_that_fails_stops_the_attempts_and_is_told() -> None:
    async def f(ctx: Context) -> None:
        await asyncio.sleep(3600)

    async def broken(_line: bytes) -> None:
        raise OSError("the pipe is broken")

    receiver = Receiver(FunctionTable({"m:f": f}), context=_Answer()._context, log=print)
    with pytest.raises(OSError, match="the pipe is broken"):
        await receiver.answer([_attempt()], broken)
