from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from lunorash.contexts import MutationContext
from lunorash.errors import LunoraError, SharedError, UnavailableError
from lunorash.functions import FunctionTable, register
from lunorash.retrying import NonRetryableError, RetryAfter
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.scheduler.job import Result
from lunorash.scheduler.protocol import ReceivedAttempt, Results, read_line
from lunorash.scheduler.receiver import Receiver
from lunorash.server.job_runner import JobRunner
from lunorash.server.running import FunctionRunner
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards
from lunorash.shard.gathering import Gathering

from .api_worker import FUNCTIONS
from .fake_time import in_fake_time
from .scheduler_object import NOW, environment
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


_TELLERS: Final = {"m:note", "m:tell", "m:tell_much", "m:give_up", "m:wait"}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **FUNCTIONS,
    **{
        f"m:{function.__name__}": register(function, kind="mutation", internal=True)
        for function in (tell, tell_much, give_up, wait, unexpected)
    },
}


def _note(name: str, target: str = "m:note", shard_key: str | None = None, **args: Any) -> ReceivedAttempt:
    return ReceivedAttempt(
        job=name,
        incarnation="i",
        number=1,
        target=target,
        args=args or ({"text": name} if target in _TELLERS else {}),
        scheduled_for=NOW,
        timeout_ms=60_000,
        shard_key=shard_key,
    )


def _namespace() -> ShardNamespace:
    return ShardNamespace(FunctionTable(_FUNCTIONS), environment())


def _gathering(namespace: Any) -> Gathering:
    return Gathering(FunctionTable(_FUNCTIONS), Shards(namespace))


# -- one call ------------------------------------------------------------------------------------------------


def test_mutations_of_one_shard_belong_together_and_nothing_else_does() -> None:
    gathering = _gathering(_namespace())
    assert gathering.key(_note("a")) == gathering.key(_note("b", "m:bad_sql"))
    assert gathering.key(_note("a")) != gathering.key(_note("a", shard_key="tenant"))
    for target in ("m:act_fails", "m:notes", "m:gone", "workflows.onboarding"):
        assert gathering.key(_note("a", target)) is None


async def test_mutations_reach_their_shard_in_one_call() -> None:
    namespace = _namespace()
    assert await _gathering(namespace).run([_note(f"a{number}") for number in range(50)]) == [None] * 50
    assert await _gathering(namespace).run([_note("b", shard_key="tenant")]) == [None]
    assert (namespace.get("default").batches, namespace.get("tenant").batches) == ([50], [])
    assert namespace.get("default").notes() == [f"a{number}" for number in range(50)]
    assert namespace.get("tenant").notes() == ["b"]


def _wanting(attempt: ReceivedAttempt) -> ReceivedAttempt:
    return attempt.model_copy(update={"wants_result": True})


async def test_only_those_get_their_result_that_want_it() -> None:
    gathering = _gathering(_namespace())
    attempts = [_note("a", "m:tell"), _wanting(_note("b", "m:tell")), _note("c")]
    for _ in range(2):
        assert await gathering.run(attempts) == [None, '"b was noted"', None], "once more it is as it was"
    assert await gathering.run([_wanting(_note("d", "m:tell"))]) == ['"d was noted"']
    assert await gathering.run([_note("e", "m:tell")]) == [None]


async def test_a_result_that_is_too_large_stays_too_large_on_its_way() -> None:
    for result in await _gathering(_namespace()).run([_wanting(_note(name, "m:tell_much")) for name in "ab"]):
        assert isinstance(result, str)
        assert len(result) == MAX_RESULT_BYTES + 1


async def test_a_shard_of_the_release_before_tells_no_results() -> None:
    gathering = _gathering(_Scripted('{"ok": [{}, {}]}'))
    assert await gathering.run([_wanting(_note("a")), _wanting(_note("b"))]) == [None, None]


async def test_one_that_fails_is_undone_and_disturbs_no_other() -> None:
    namespace = _namespace()
    answers = await _gathering(namespace).run([_note("a"), _note("b", wrong=1), _note("c", "m:bad_sql"), _note("d")])
    assert answers[0] is answers[3] is None
    assert isinstance(answers[1], UnavailableError)
    assert isinstance(answers[2], LunoraError)
    assert not isinstance(answers[2], SharedError)
    assert namespace.get("default").notes() == ["a", "d"]


async def test_a_job_that_comes_again_has_no_second_effect() -> None:
    namespace = _namespace()
    for attempts in ([_note("a"), _note("b")], [_note("b"), _note("c"), _note("a")]):
        assert await _gathering(namespace).run(attempts) == [None] * len(attempts)
    assert namespace.get("default").notes() == ["a", "b", "c"]


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


async def _three(namespace: _Scripted) -> list[LunoraError | str | None]:
    return [*await _gathering(namespace).run([_note(name) for name in "abc"])]


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
    assert isinstance(second, LunoraError)
    assert (second.code, second.message) == ("ATTEMPT_FAILED", "KeyError"), "operators see what it was"


@pytest.mark.parametrize("many", [OSError("reset"), '{"ok": [{}]}', '{"ok": [{}, {}, {}, {}]}'])
async def test_a_call_that_breaks_is_shared_by_all_of_it(many: Any) -> None:
    answers = await _three(_Scripted(many))
    assert [type(answer) for answer in answers] == [SharedError] * 3
    assert [getattr(answer, "code", None) for answer in answers] == ["SHARD_UNAVAILABLE"] * 3


async def test_a_call_that_breaks_alone_is_shared_with_nobody() -> None:
    (answer,) = await _gathering(_Scripted("", OSError("reset"))).run([_note("a")])
    assert type(answer) is LunoraError
    assert answer.code == "SHARD_UNAVAILABLE"


async def test_what_is_wrong_with_the_shard_itself_is_told_to_each_and_blames_nobody() -> None:
    told = {"error": {"code": "MIGRATION_FAILED", "message": "0001"}, "status": 500, "unavailable": False}
    answers = await _three(_Scripted(json.dumps(told)))
    assert [(type(answer), getattr(answer, "code", None)) for answer in answers] == [
        (LunoraError, "MIGRATION_FAILED")
    ] * 3


# -- in a dispatch -------------------------------------------------------------------------------------------


async def _outcomes(namespace: Any, *attempts: ReceivedAttempt) -> dict[str, Result]:
    env = environment()
    table, shards = FunctionTable(_FUNCTIONS), Shards(namespace)
    nobody: Any = None
    runner = FunctionRunner(table, env=env, shards=shards, scheduler=nobody, fetch=nobody)
    runnable = JobRunner(table, runner, env=env, workflows={}, agents={})
    lines: list[bytes] = []

    async def write(line: bytes) -> None:
        lines.append(line)

    receiver = Receiver[ReceivedAttempt](
        runnable, context=lambda one: one, log=print, together=Gathering(table, shards)
    )
    await receiver.answer(attempts, write)
    told = [read_line(line) for line in b"".join(lines).decode().splitlines()]
    return {result.job: result for results in told if isinstance(results, Results) for result in results.as_results()}


async def test_the_mutations_of_a_dispatch_make_one_call_and_what_is_none_runs_beside_them() -> None:
    """Whatever the scheduler took them for: a deploy may have changed what they are."""
    namespace = _namespace()
    outcomes = await _outcomes(
        namespace,
        _note("a"),
        _note("b", "m:act_fails", how="key"),
        _note("c"),
        _note("d", "m:notes"),
        _note("e", "m:bad_sql"),
        _note("f", "m:gone"),
        _note("g", wrong=1),
    )
    assert {name: result.outcome for name, result in outcomes.items()} == {
        "a": "ok", "b": "failed", "c": "ok", "d": "ok", "e": "failed", "f": "unavailable", "g": "unavailable",
    }  # fmt: skip
    assert not any(result.shared for result in outcomes.values())
    assert namespace.get("default").batches == [3]
    assert namespace.get("default").notes() == ["a", "c"]


async def test_the_receiver_says_who_failed_together() -> None:
    outcomes = await _outcomes(_Scripted(OSError("reset")), _note("a"), _note("b"))
    assert {(result.outcome, result.code, result.shared) for result in outcomes.values()} == {
        ("failed", "SHARD_UNAVAILABLE", True)
    }


@pytest.mark.parametrize("many", ["no JSON", '{"ok": 5}', '{"ok": [1, 2, 3]}', '{"ok": null}', '{"none": 1}'])
async def test_an_answer_that_is_none_is_told_to_all(many: str) -> None:
    outcomes = await _outcomes(_Scripted(many), _note("a"), _note("b"))
    assert {name: result.outcome for name, result in outcomes.items()} == {"a": "failed", "b": "failed"}


@in_fake_time
async def test_those_that_have_less_time_are_not_kept_waiting_by_the_others() -> None:
    hasty = _note("c").model_copy(update={"timeout_ms": 1_000})
    namespace = _Scripted(None, None)
    outcomes = await _outcomes(namespace, _note("a"), _note("b"), hasty)
    assert {(name, result.code, result.shared) for name, result in outcomes.items()} == {
        ("a", "ATTEMPT_TIMED_OUT", True),
        ("b", "ATTEMPT_TIMED_OUT", True),
        ("c", "ATTEMPT_TIMED_OUT", False),
    }
    assert asyncio.get_running_loop().time() == pytest.approx(60)
    assert namespace.asked == [("mutate_many", 2), ("mutate", 1)]
    assert namespace.cancelled == 2, "nobody waits any more, so the calls are given up"


async def test_the_receiver_hears_from_a_shard_whether_and_when_it_is_tried_again_and_where_it_failed() -> None:
    outcomes = await _outcomes(
        _namespace(),
        _note("never", "m:give_up"),
        _note("later", "m:wait"),
        _wanting(_note("wants", "m:tell")),
        _note("broken", "m:bad_sql"),
        _note("alone", "m:unexpected"),
    )
    told = {name: (result.retryable, result.retry_after_ms, result.result) for name, result in outcomes.items()}
    assert told == {
        "never": (False, None, None),
        "later": (True, 45_000, None),
        "wants": (True, None, '"wants was noted"'),
        "broken": (True, None, None),
        "alone": (True, None, None),
    }
    for name, function in {"never": "give_up", "alone": "unexpected"}.items():
        trace = outcomes[name].traceback
        assert trace is not None
        assert trace.splitlines()[-1].endswith(f"in {function}"), trace
    assert outcomes["never"].code == "NOTHING_LEFT"
