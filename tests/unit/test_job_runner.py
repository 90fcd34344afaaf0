from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lunorash.contexts import ActionContext, QueryContext
from lunorash.errors import LunoraError, UnavailableError
from lunorash.functions import FunctionTable, register
from lunorash.refs import FunctionReference
from lunorash.scheduler.job import Result
from lunorash.scheduler.protocol import ReceivedAttempt, Results, read_line
from lunorash.scheduler.receiver import Receiver
from lunorash.server.job_runner import JobRunner, instance_id
from lunorash.server.running import FunctionRunner
from lunorash.shard.client import Shards

from .api_worker import FUNCTIONS
from .instances import Agents, Workflow
from .scheduler_object import NOW, ORIGIN, Namespace, environment
from .shard_object import ShardNamespace


def _attempt(target: str = "m:note", args: Any = None, **more: Any) -> ReceivedAttempt:
    fields = {"job": "j", "incarnation": "i", "number": 1, "scheduled_for": NOW, "timeout_ms": 60_000, **more}
    return ReceivedAttempt(target=target, args={} if args is None else args, **fields)


class _Worker:
    """What runs the jobs of an app, and what it runs them with."""

    def __init__(self, functions: dict[str, Callable[..., Any]] | None = None) -> None:
        self.env = environment(ONBOARDING=Workflow(), SUPPORT=Agents())
        self.scheduler = Namespace(self.env)
        table = FunctionTable(FUNCTIONS | (functions or {}))
        self.shards = ShardNamespace(table, self.env)

        async def fetch(*_args: object, **_options: object) -> None:
            raise AssertionError("nothing here goes out")

        scheduler: Any = None
        self.runner = JobRunner(
            table,
            FunctionRunner(table, env=self.env, shards=Shards(self.shards), scheduler=scheduler, fetch=fetch),
            env=self.env,
            workflows={"onboarding": "ONBOARDING", "unbound": "MISSING"},
            agents={"support": "SUPPORT", "unbound": "MISSING"},
        )

    async def run(self, attempt: ReceivedAttempt) -> None:
        """Run the target of an attempt; what it raises comes through."""
        await self.runner.bind(attempt.target, attempt.args)(attempt)

    async def outcome(self, attempt: ReceivedAttempt) -> Result:
        """What the receiver says of an attempt."""
        lines: list[bytes] = []

        async def write(line: bytes) -> None:
            lines.append(line)

        receiver: Receiver[ReceivedAttempt] = Receiver(self.runner, context=lambda one: one, log=print)
        await receiver.answer([attempt], write)
        told = read_line(lines[0].decode().splitlines()[0])
        assert isinstance(told, Results)
        (result,) = told.as_results()
        return result


# -- functions -----------------------------------------------------------------------------------------------


async def test_a_mutation_runs_on_the_shard_that_the_job_names() -> None:
    worker = _Worker()
    await worker.run(_attempt("m:note", {"text": "a"}))
    await worker.run(_attempt("m:note", {"text": "b"}, shard_key="tenant"))
    await worker.run(_attempt("m:secret_note", {"text": "c"}, job="internal"))
    assert worker.shards.get("default").notes() == ["a", "c"]
    assert worker.shards.get("tenant").notes() == ["b"]


async def test_a_job_runs_as_nobody_and_says_which_job_it_is() -> None:
    worker = _Worker()
    await worker.run(_attempt("m:note", {"text": "a"}, job="j7", incarnation="i7", number=3))
    (call,) = worker.shards.get("default").calls
    assert (call.auth.user_id, dict(call.auth.claims)) == (None, {})
    assert call.job is not None
    assert (call.job.id, call.job.incarnation, call.job.attempt, call.job.scheduled_for) == ("j7", "i7", 3, NOW)


async def test_a_mutation_that_is_delivered_twice_has_its_effect_once() -> None:
    worker = _Worker()
    for number, incarnation in ((1, "i"), (2, "i"), (3, "redriven")):
        assert (
            await worker.outcome(_attempt(args={"text": "a"}, number=number, incarnation=incarnation))
        ).outcome == "ok"
    assert worker.shards.get("default").notes() == ["a", "a"]


async def test_queries_and_actions_run_too() -> None:
    seen: list[Any] = []

    def look(ctx: QueryContext) -> None:
        seen.append(("query", ctx.auth.user_id))

    async def act(ctx: ActionContext[Any], n: int) -> None:
        assert ctx.job is not None
        seen.append(("action", ctx.auth.user_id, ctx.job.id, ctx.job.attempt, n))

    def plain(_ctx: ActionContext[Any]) -> None:
        seen.append("plain")

    worker = _Worker(
        {
            "j:look": register(look, kind="query", internal=True),
            "j:act": register(act, kind="action", internal=True),
            "j:plain": plain,
        }
    )
    for target, args in (("j:look", {}), ("j:act", {"n": 5}), ("j:plain", {})):
        assert (await worker.outcome(_attempt(target, args))).outcome == "ok"
    assert seen == [("query", None), ("action", None, "j", 1, 5), "plain"]


# -- what cannot be run --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "args", "code"),
    [
        ("m:gone", {}, "FUNCTION_NOT_FOUND"),
        ("m:note", {}, "INVALID_INPUT"),
        ("m:note", {"text": 5}, "INVALID_INPUT"),
        ("workflows.gone", {}, "FUNCTION_NOT_FOUND"),
        ("workflows.unbound", {}, "FUNCTION_NOT_FOUND"),
        ("workflows.", {}, "FUNCTION_NOT_FOUND"),
        ("workflows", {}, "FUNCTION_NOT_FOUND"),
        ("workflows.onboarding:f", {}, "FUNCTION_NOT_FOUND"),
        ("agents.gone", {}, "FUNCTION_NOT_FOUND"),
        ("agents.unbound", {}, "FUNCTION_NOT_FOUND"),
        ("other.onboarding", {}, "FUNCTION_NOT_FOUND"),
        ("", {}, "FUNCTION_NOT_FOUND"),
    ],
)
async def test_a_target_that_is_not_there_or_takes_other_arguments_is_unavailable(
    target: str, args: Any, code: str
) -> None:
    worker = _Worker()
    result = await worker.outcome(_attempt(target, args))
    assert (result.outcome, result.code) == ("unavailable", code)
    assert worker.shards.objects == {}


async def test_what_only_the_shard_does_not_know_is_unavailable_too() -> None:
    worker = _Worker()
    worker.shards.functions = FunctionTable({})
    result = await worker.outcome(_attempt(args={"text": "a"}))
    assert (result.outcome, result.code) == ("unavailable", "FUNCTION_NOT_FOUND")


async def test_an_action_that_calls_what_is_not_there_has_failed_since_it_has_run() -> None:
    ran: list[str] = []

    async def act(ctx: ActionContext[Any], path: str, args: dict[str, Any]) -> None:
        ran.append(path)
        reference: FunctionReference[Any] = FunctionReference(path, kind="mutation", internal=True)
        await ctx.run_mutation(reference, args)

    for path, args in (("m:note", {"text": 5}), ("m:gone", {})):
        worker = _Worker({"j:act": register(act, kind="action", internal=True)})
        result = await worker.outcome(_attempt("j:act", {"path": path, "args": args}))
        assert result.outcome == "failed"
    worker.shards.functions = FunctionTable({})
    assert (await worker.outcome(_attempt("j:act", {"path": "m:note", "args": {"text": "a"}}))).outcome == "failed"
    assert ran == ["m:note", "m:gone", "m:note"]


# -- failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["m:fails", "m:act_fails"])
async def test_what_a_function_raises_is_kept_with_the_attempt(target: str) -> None:
    worker = _Worker()
    expected = await worker.outcome(_attempt(target, {"how": "expected"}))
    assert (expected.outcome, expected.code, expected.message) == ("failed", "CARD_DECLINED", "no funds")
    unexpected = await worker.outcome(_attempt(target, {"how": "unexpected"}))
    assert (unexpected.outcome, unexpected.code) == ("failed", "ATTEMPT_FAILED")
    assert unexpected.message == "KeyError: 'hunter2'", "operators see it, in the record of the attempt"


async def test_a_mutation_that_waits_has_failed() -> None:
    result = await _Worker().outcome(_attempt("m:waits"))
    assert (result.outcome, result.code) == ("failed", "MUTATION_YIELDED")


async def test_sql_that_fails_is_kept_with_the_attempt() -> None:
    result = await _Worker().outcome(_attempt("m:bad_sql"))
    assert (result.outcome, result.code) == ("failed", "SQL_FAILED")
    assert "elsewhere" in (result.message or "")


async def test_a_shard_that_does_not_answer_is_a_failure_that_is_tried_again() -> None:
    worker = _Worker()
    worker.shards.get("default").broken = True
    result = await worker.outcome(_attempt(args={"text": "a"}))
    assert (result.outcome, result.code, result.retryable) == ("failed", "SHARD_UNAVAILABLE", True)


# -- workflows and agents ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("redrives", "name"), [(0, "j"), (1, "j-1"), (12, "j-12")])
def test_an_instance_is_named_after_its_job_and_a_redrive_has_a_name_of_its_own(redrives: int, name: str) -> None:
    names = {instance_id(_attempt(number=number, redrives=redrives)) for number in (1, 2, 9)}
    assert names == {name}, "the same however often it is delivered"


async def test_a_workflow_is_started_once_however_often_its_job_is_delivered() -> None:
    worker = _Worker()
    args = {"user_id": "u1", "n": 2**53 - 1}
    for number in (1, 2):
        result = await worker.outcome(_attempt("workflows.onboarding", args, number=number))
        assert result.outcome == "ok"
    assert worker.env.ONBOARDING.instances == {"j": args}
    await worker.run(_attempt("workflows.onboarding", args, number=3, incarnation="i2", redrives=1))
    assert set(worker.env.ONBOARDING.instances) == {"j", "j-1"}


async def test_a_workflow_whose_answer_was_lost_has_been_started() -> None:
    worker = _Worker()
    worker.env.ONBOARDING.fails = OSError("the connection broke")
    worker.env.ONBOARDING.fails_after_it_landed = True
    assert (await worker.outcome(_attempt("workflows.onboarding"))).outcome == "ok"
    assert worker.env.ONBOARDING.instances == {"j": {}}


async def test_a_workflow_that_cannot_be_started_is_a_failure_with_its_reason() -> None:
    worker = _Worker()
    worker.env.ONBOARDING.fails = OSError("too many instances")
    result = await worker.outcome(_attempt("workflows.onboarding"))
    assert (result.outcome, result.code, result.message) == ("failed", "ATTEMPT_FAILED", "OSError: too many instances")
    assert worker.env.ONBOARDING.instances == {}


async def test_an_agent_is_started_in_an_object_of_its_own() -> None:
    worker = _Worker()
    for attempt in (
        _attempt("agents.support", {"question": "why?"}),
        _attempt("agents.support", {"question": "why?"}, number=2),
        _attempt("agents.support", {"question": "how?"}, job="j2"),
        _attempt("agents.support", {"question": "why?"}, number=3, incarnation="i2", redrives=1),
    ):
        assert (await worker.outcome(attempt)).outcome == "ok"
    assert worker.env.SUPPORT.started == {
        "j": '{"question": "why?"}',
        "j2": '{"question": "how?"}',
        "j-1": '{"question": "why?"}',
    }


@pytest.mark.parametrize("target", ["workflows.unbound", "agents.unbound"])
def test_a_binding_that_is_missing_is_named(target: str) -> None:
    with pytest.raises(LunoraError, match=f"no {target}, or no binding for it") as raised:
        _Worker().runner.bind(target, {})
    assert raised.value.code == "FUNCTION_NOT_FOUND"
    assert not isinstance(raised.value, UnavailableError)


def test_a_target_is_bound_without_running_anything() -> None:
    worker = _Worker()
    bound: Callable[[ReceivedAttempt], Awaitable[object]] = worker.runner.bind("m:note", {"text": "a"})
    assert callable(bound)
    assert worker.shards.objects == {}


async def test_an_action_that_misses_a_binding_is_told_which() -> None:
    async def act(ctx: ActionContext[Any]) -> None:
        assert (ctx.env.LUNORA_ORIGIN_URL, getattr(ctx.env, "IMPORTS", None)) == (ORIGIN, None)
        assert not hasattr(ctx.env, "IMPORTS")
        _ = ctx.env.IMPORTS

    with pytest.raises(LunoraError, match=r"the environment has no IMPORTS: declare .* in wrangler\.jsonc") as raised:
        await _Worker({"m:act": act}).run(_attempt("m:act"))
    assert (raised.value.code, raised.value.status) == ("BINDING_MISSING", 500)
    assert isinstance(raised.value, AttributeError)
