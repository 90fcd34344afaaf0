from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from lunorash.contexts import Auth, MutationContext
from lunorash.errors import LunoraError, SharedError, UnavailableError
from lunorash.functions import FunctionTable, register
from lunorash.retrying import NonRetryableError, RetryAfter
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.scheduler.job import Result
from lunorash.scheduler.protocol import ReceivedAttempt, Results, read_line
from lunorash.scheduler.receiver import Receiver
from lunorash.server.job_runner import JobRunner
from lunorash.server.running import FunctionRunner
from lunorash.shard.answers import UnexpectedError
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards
from lunorash.shard.gathering import Gathering

from .api_worker import FUNCTIONS
from .fake_time import in_fake_time
from .scheduler_object import NOW, environment
from .shard_core import job
from .shard_object import ShardNamespace


def tell(ctx: MutationContext[Any], text: str) -> str:
    ctx.db.execute("INSERT INTO notes VALUES (?)", text)
    return f"{text} was noted"


def tell_much(_ctx: MutationContext[Any], text: str) -> str:
    return text * 100_000


def give_up(_ctx: MutationContext[Any], text: str) -> None:
    raise NonRetryableError(text, code="NOTHING_LEFT")


def wait(_ctx: MutationContext[Any], text: str) -> None:
    raise RetryAfter(45, text)


def unexpected(_ctx: MutationContext[Any]) -> None:
    raise KeyError("hunter2")


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **FUNCTIONS,
    **{
        f"m:{function.__name__}": register(function, kind="mutation", internal=True)
        for function in (tell, tell_much, give_up, wait, unexpected)
    },
}


def _note(text: str, path: str = "m:note") -> ShardCall:
    return ShardCall(path=path, args=json.dumps({"text": text}), auth=Auth(), job=job(text))


def _namespace() -> ShardNamespace:
    return ShardNamespace(FunctionTable(_FUNCTIONS), environment())


# -- one call ------------------------------------------------------------------------------------------------


async def test_mutations_of_one_shard_that_start_together_reach_it_in_one_call() -> None:
    namespace = _namespace()
    gathering = Gathering(Shards(namespace))
    await asyncio.gather(
        *(gathering.mutate(_note(f"a{number}")) for number in range(50)),
        *(gathering.mutate(_note(f"b{number}"), "tenant") for number in range(3)),
    )
    assert (namespace.get("default").batches, namespace.get("tenant").batches) == ([50], [3])
    assert namespace.get("default").notes() == [f"a{number}" for number in range(50)]
    assert namespace.get("tenant").notes() == ["b0", "b1", "b2"]


async def test_only_those_get_their_result_that_want_it() -> None:
    gathering = Gathering(Shards(_namespace()))
    calls = [_note("a", "m:tell"), replace(_note("b", "m:tell"), wants_result=True), _note("c")]
    assert await asyncio.gather(*(gathering.mutate(call) for call in calls)) == [None, '"b was noted"', None]
    assert await gathering.mutate(replace(_note("d", "m:tell"), wants_result=True)) == '"d was noted"'
    assert await gathering.mutate(_note("e", "m:tell")) is None


async def test_a_result_that_is_too_large_stays_too_large_on_its_way() -> None:
    gathering = Gathering(Shards(_namespace()))
    calls = [replace(_note(text, "m:tell_much"), wants_result=True) for text in "ab"]
    for result in await asyncio.gather(*(gathering.mutate(call) for call in calls)):
        assert result is not None
        assert len(result) == MAX_RESULT_BYTES + 1


async def test_a_shard_of_the_release_before_tells_no_results() -> None:
    gathering = Gathering(Shards(_Scripted('{"ok": [{}, {}]}')))
    calls = [replace(_note(text), wants_result=True) for text in "ab"]
    assert await asyncio.gather(*(gathering.mutate(call) for call in calls)) == [None, None]


async def test_those_that_start_later_go_in_a_call_of_their_own_and_one_alone_as_it_always_did() -> None:
    namespace = _namespace()
    gathering = Gathering(Shards(namespace))
    await asyncio.gather(gathering.mutate(_note("a")), gathering.mutate(_note("b")))
    await gathering.mutate(_note("c"))
    await asyncio.gather(gathering.mutate(_note("d")), gathering.mutate(_note("e")), gathering.mutate(_note("f")))
    assert namespace.get("default").batches == [2, 3]
    assert namespace.get("default").notes() == ["a", "b", "c", "d", "e", "f"]


async def test_one_that_fails_is_undone_and_disturbs_no_other() -> None:
    namespace = _namespace()
    gathering = Gathering(Shards(namespace))
    answers = await asyncio.gather(
        gathering.mutate(_note("a")),
        gathering.mutate(_note("b", path="m:gone")),
        gathering.mutate(ShardCall(path="m:bad_sql", args="{}", auth=Auth(), job=job("c"))),
        gathering.mutate(_note("d")),
        return_exceptions=True,
    )
    assert answers[0] is answers[3] is None
    assert isinstance(answers[1], UnavailableError)
    assert isinstance(answers[2], LunoraError)
    assert not isinstance(answers[2], SharedError)
    assert namespace.get("default").notes() == ["a", "d"]


async def test_a_job_that_comes_again_has_no_second_effect() -> None:
    namespace = _namespace()
    for _ in range(2):
        gathering = Gathering(Shards(namespace))
        await asyncio.gather(gathering.mutate(_note("a")), gathering.mutate(_note("b")))
    assert namespace.get("default").notes() == ["a", "b"]


# -- answers -------------------------------------------------------------------------------------------------


class _Scripted:
    """A namespace with one shard, whose answers are written in advance."""

    def __init__(self, many: Any, one: Any = '{"ok": "null"}') -> None:
        self._many, self._one = many, one
        self.asked: list[tuple[str, int]] = []
        self.cancelled = 0

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        return name

    def get(self, _name: str) -> _Scripted:
        return self

    async def mutate(self, text: str) -> Any:
        ShardCall.from_text(text)
        return await self._tell("mutate", 1, self._one)

    async def mutate_many(self, text: str) -> Any:
        return await self._tell("mutate_many", len(ShardCall.many_from_text(text)), self._many)

    async def _tell(self, method: str, calls: int, answer: Any) -> Any:
        self.asked.append((method, calls))
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return answer


async def _three(namespace: _Scripted) -> list[BaseException | str | None]:
    gathering = Gathering(Shards(namespace))
    return list(await asyncio.gather(*(gathering.mutate(_note(text)) for text in "abc"), return_exceptions=True))


async def test_one_that_asks_is_run_by_a_call_of_its_own() -> None:
    namespace = _Scripted('{"ok": [{}, {"asks": true}, {"error": {"code": "X", "message": "no"}, "status": 500, '
                          '"unavailable": false}]}')  # fmt: skip
    first, second, third = await _three(namespace)
    assert first is second is None
    assert isinstance(third, LunoraError)
    assert third.code == "X"
    assert namespace.asked == [("mutate_many", 3), ("mutate", 1)]


async def test_what_one_that_asks_raises_is_its_own() -> None:
    told = {"error": {"code": "INTERNAL", "message": "incident 12"}, "detail": "KeyError"}
    first, second, third = await _three(_Scripted('{"ok": [{}, {"asks": true}, {}]}', json.dumps(told)))
    assert first is third is None
    assert isinstance(second, UnexpectedError)


@pytest.mark.parametrize("many", [OSError("reset"), '{"ok": [{}]}', '{"ok": [{}, {}, {}, {}]}'])
async def test_a_call_that_breaks_is_shared_by_all_of_it(many: Any) -> None:
    answers = await _three(_Scripted(many))
    assert [type(answer) for answer in answers] == [SharedError] * 3
    assert [getattr(answer, "code", None) for answer in answers] == ["SHARD_UNAVAILABLE"] * 3
    assert len({id(answer) for answer in answers}) == 3


async def test_a_call_that_breaks_alone_is_shared_with_nobody() -> None:
    gathering = Gathering(Shards(_Scripted("", OSError("reset"))))
    with pytest.raises(LunoraError) as raised:
        await gathering.mutate(_note("a"))
    assert type(raised.value) is LunoraError
    assert raised.value.code == "SHARD_UNAVAILABLE"


async def test_what_is_wrong_with_the_shard_itself_is_told_to_each_and_blames_nobody() -> None:
    told = {"error": {"code": "MIGRATION_FAILED", "message": "0001"}, "status": 500, "unavailable": False}
    answers = await _three(_Scripted(json.dumps(told)))
    assert [(type(answer), getattr(answer, "code", None)) for answer in answers] == [
        (LunoraError, "MIGRATION_FAILED")
    ] * 3


@pytest.mark.parametrize("many", ["no JSON", '{"ok": 5}', '{"ok": [1, 2, 3]}', '{"ok": null}', '{"none": 1}'])
async def test_nobody_is_left_waiting_for_an_answer_that_is_none(many: str) -> None:
    async with asyncio.timeout(5):
        answers = await _three(_Scripted(many))
    assert all(isinstance(answer, Exception) for answer in answers)


# -- time ----------------------------------------------------------------------------------------------------


@in_fake_time
async def test_one_whose_time_is_up_leaves_and_the_others_go_on_waiting() -> None:
    namespace = _Scripted(None)
    gathering = Gathering(Shards(namespace))
    tasks = [asyncio.create_task(gathering.mutate(_note(text))) for text in "abc"]
    await asyncio.sleep(1)
    tasks[0].cancel()
    await asyncio.sleep(1)
    assert [task.done() for task in tasks] == [True, False, False]
    assert namespace.cancelled == 0
    for task in tasks[1:]:
        task.cancel()
    await asyncio.wait(tasks)
    await asyncio.sleep(1)
    assert namespace.cancelled == 1, "nobody waits any more, so the call is given up"


@in_fake_time
async def test_those_that_are_cancelled_before_the_call_is_made_leave_no_trace() -> None:
    namespace = _Scripted(None)
    gathering = Gathering(Shards(namespace))
    tasks = [asyncio.create_task(gathering.mutate(_note(text))) for text in "ab"]
    asyncio.get_running_loop().call_soon(lambda: [task.cancel() for task in tasks])
    await asyncio.sleep(1)
    assert namespace.asked == []


# -- in a dispatch -------------------------------------------------------------------------------------------


async def _outcomes(namespace: Any, *attempts: ReceivedAttempt) -> dict[str, Result]:
    env = environment()
    table, shards = FunctionTable(_FUNCTIONS), Shards(namespace)
    nobody: Any = None
    runner = FunctionRunner(table, env=env, shards=shards, scheduler=nobody, fetch=nobody)
    runnable = JobRunner(table, runner, env=env, workflows={}, agents={}, gathering=Gathering(shards))
    lines: list[bytes] = []

    async def write(line: bytes) -> None:
        lines.append(line)

    await Receiver[ReceivedAttempt](runnable, context=lambda one: one, log=print).answer(attempts, write)
    told = [read_line(line.decode()) for line in lines]
    return {result.job: result for results in told if isinstance(results, Results) for result in results.as_results()}


def _attempt(name: str, target: str = "m:note", **args: Any) -> ReceivedAttempt:
    return ReceivedAttempt(
        job=name, incarnation="i", number=1, target=target, args=args, scheduled_for=NOW, timeout_ms=60_000
    )


async def test_the_mutations_of_a_dispatch_make_one_call_and_what_is_none_runs_beside_them() -> None:
    """Whatever the scheduler took them for: a deploy may have changed what they are."""
    namespace = _namespace()
    outcomes = await _outcomes(
        namespace,
        _attempt("a", text="a"),
        _attempt("b", "m:act_fails", how="key"),
        _attempt("c", text="c"),
        _attempt("d", "m:notes"),
        _attempt("e", "m:bad_sql"),
        _attempt("f", "m:gone"),
        _attempt("g", wrong=1),
    )
    assert {name: result.outcome for name, result in outcomes.items()} == {
        "a": "ok", "b": "failed", "c": "ok", "d": "ok", "e": "failed", "f": "unavailable", "g": "unavailable",
    }  # fmt: skip
    assert not any(result.shared for result in outcomes.values())
    assert namespace.get("default").batches == [3]
    assert namespace.get("default").notes() == ["a", "c"]


async def test_the_receiver_says_who_failed_together() -> None:
    outcomes = await _outcomes(_Scripted(OSError("reset")), _attempt("a", text="a"), _attempt("b", text="b"))
    assert {(result.outcome, result.code, result.shared) for result in outcomes.values()} == {
        ("failed", "SHARD_UNAVAILABLE", True)
    }


async def test_the_receiver_hears_from_a_shard_whether_and_when_it_is_tried_again_and_where_it_failed() -> None:
    outcomes = await _outcomes(
        _namespace(),
        _attempt("never", "m:give_up", text="a"),
        _attempt("later", "m:wait", text="b"),
        _attempt("wants", "m:tell", text="c").model_copy(update={"wants_result": True}),
        _attempt("broken", "m:bad_sql"),
        _attempt("alone", "m:unexpected"),
    )
    told = {name: (result.retryable, result.retry_after_ms, result.result) for name, result in outcomes.items()}
    assert told == {
        "never": (False, None, None),
        "later": (True, 45_000, None),
        "wants": (True, None, '"c was noted"'),
        "broken": (True, None, None),
        "alone": (True, None, None),
    }
    for name, function in {"never": "give_up", "alone": "unexpected"}.items():
        trace = outcomes[name].traceback
        assert trace is not None
        assert trace.splitlines()[-1].endswith(f"in {function}"), trace
    assert outcomes["never"].code == "NOTHING_LEFT"
