from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lunorash.contexts import Auth
from lunorash.errors import LunoraError, UnavailableError
from lunorash.refs import FunctionReference
from lunorash.scheduler.ids import mint_id
from lunorash.shard.applied import APPLIED_RETENTION_MS
from lunorash.shard.calls import ShardCall
from lunorash.shard.shard import MAX_NESTED, Round

from .scheduler_object import NOW
from .shard_core import Mutation, Query, ShardCore, job


def _refused(code: str, call: Callable[[], object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        call()
    assert raised.value.code == code
    return raised.value


async def note(ctx: Mutation, text: str) -> str:
    ctx.db.execute("INSERT INTO notes VALUES (?)", text)
    await ctx.scheduler.run_after(0, "m:note", {"text": f"after {text}"})
    return text.upper()


def plain(ctx: Mutation, text: str) -> None:
    ctx.db.execute("INSERT INTO notes VALUES (?)", text)


def count(ctx: Query) -> int:
    row = ctx.db.fetch_one("SELECT count(*) AS n FROM notes")
    return row["n"] if row else -1


# -- commit and rollback -------------------------------------------------------------------------------------


def test_a_mutation_keeps_what_it_wrote_and_scheduled_and_sees_to_it_that_it_is_sent() -> None:
    core = ShardCore(note, plain, queries=[count])
    assert core.call(note, {"text": "a"}) == "A"
    assert core.call(plain, {"text": "b"}) is None
    assert core.notes() == ["a", "b"]
    assert [kind for kind, _ in core.rows()] == ["schedule"]
    assert core.wakes == [NOW], "only the one that schedules wakes anybody"
    assert core.call(count) == 2


async def _raises(ctx: Mutation) -> None:
    await note(ctx, "a")
    raise LunoraError("MINE", "no", data={"why": 1})


async def _breaks(ctx: Mutation) -> None:
    await note(ctx, "a")
    raise ZeroDivisionError


async def _yields(ctx: Mutation) -> None:
    await note(ctx, "a")
    await asyncio.sleep(0)


async def _swallows(ctx: Mutation) -> str:
    await note(ctx, "a")
    try:
        await asyncio.sleep(0)
    except BaseException:  # noqa: BLE001 - an app may do so
        await note(ctx, "b")
    return "fine"


def _starts_a_task(ctx: Mutation) -> str:
    ctx.db.execute("INSERT INTO notes VALUES ('a')")
    asyncio.get_running_loop().create_task(asyncio.sleep(0))
    return "fine"


async def _returns_a_set(ctx: Mutation) -> Any:
    await note(ctx, "a")
    return {1, 2}


async def _returns_something_else(ctx: Mutation) -> int:
    return await note(ctx, "a")  # type: ignore[return-value]


async def _schedules_badly(ctx: Mutation) -> None:
    await note(ctx, "a")
    await ctx.scheduler.run_after(-1, "m:note", {"text": "b"})


async def _writes_badly(ctx: Mutation) -> None:
    await note(ctx, "a")
    ctx.db.execute("INSERT INTO elsewhere VALUES (1)")


@pytest.mark.parametrize(
    ("function", "raised"),
    [
        (_raises, "MINE"),
        (_breaks, ZeroDivisionError),
        (_yields, "MUTATION_YIELDED"),
        (_swallows, "MUTATION_YIELDED"),
        (_starts_a_task, "MUTATION_YIELDED"),
        (_returns_a_set, "RESULT_INVALID"),
        (_returns_something_else, "RESULT_INVALID"),
        (_schedules_badly, "INVALID_INPUT"),
        (_writes_badly, "SQL_FAILED"),
    ],
)
@pytest.mark.parametrize("running", [None, job()])
async def test_a_mutation_that_fails_in_any_way_leaves_nothing_behind(
    function: Callable[..., Any], raised: Any, running: Any
) -> None:
    core = ShardCore(note, function)
    with pytest.raises(LunoraError if isinstance(raised, str) else raised) as told:
        core.call(function, running=running)
    if isinstance(told.value, LunoraError):
        assert told.value.code == raised
        assert not isinstance(told.value, UnavailableError), "it has begun, so it is a failure"
    assert core.nothing_happened()
    assert core.call(note, {"text": "next"}) == "NEXT"
    assert core.notes() == ["next"]
    await asyncio.sleep(0)


def test_an_error_that_was_caught_undoes_nothing() -> None:
    def body(ctx: Mutation) -> str:
        ctx.db.execute("INSERT INTO notes VALUES ('a')")
        with pytest.raises(LunoraError):
            ctx.db.execute("INSERT INTO notes VALUES (NULL)")
        return "fine"

    core = ShardCore(body)
    assert core.call(body) == "fine"
    assert core.notes() == ["a"]


def test_the_line_that_waited_is_named() -> None:
    core = ShardCore(note, _yields)
    assert f"{__file__}:" in _refused("MUTATION_YIELDED", lambda: core.call(_yields)).message


# -- what cannot be called -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "args", "code"),
    [
        ("m:gone", {}, "FUNCTION_NOT_FOUND"),
        ("m:note", {}, "INVALID_INPUT"),
        ("m:note", {"text": 5}, "INVALID_INPUT"),
        ("m:note", {"text": "a", "more": 1}, "INVALID_INPUT"),
    ],
)
def test_what_this_deployment_does_not_know_or_take_may_be_a_deploy_in_progress(
    path: str, args: Any, code: str
) -> None:
    core = ShardCore(note)
    with pytest.raises(UnavailableError) as raised:
        core.call(path, args, running=job())
    assert raised.value.code == code
    assert core.nothing_happened()


def test_a_query_is_no_mutation_and_a_mutation_is_no_query() -> None:
    core = ShardCore(plain, queries=[count])
    this = Round(now=NOW, seed=1, answers={})
    for run, path in ((core.shard.mutate, "m:count"), (core.shard.query, "m:plain")):
        with pytest.raises(UnavailableError, match="FUNCTION_NOT_FOUND"):
            run(ShardCall(path=path, args='{"text": "a"}', auth=Auth()), this)
    assert core.nothing_happened()


# -- queries -------------------------------------------------------------------------------------------------


def test_a_query_cannot_write_even_if_it_swallows_the_refusal() -> None:
    def writes(ctx: Query) -> None:
        ctx.db.execute("INSERT INTO notes VALUES ('a')")

    def swallows(ctx: Query) -> str:
        for sql in ("INSERT INTO notes VALUES ('a')", "WITH x AS (SELECT 'b' AS t) INSERT INTO notes SELECT t FROM x"):
            with pytest.raises(LunoraError, match="QUERY_WROTE"):
                ctx.db.execute(sql)
        return "fine"

    core = ShardCore(queries=[writes, swallows])
    for function in (writes, swallows):
        assert "make it a mutation" in _refused("QUERY_WROTE", lambda function=function: core.call(function)).message  # type: ignore[misc]
    assert core.nothing_happened()


def test_a_query_has_no_scheduler_and_no_mutations() -> None:
    def schedules(ctx: Any) -> None:
        ctx.scheduler.run_after(0, "m:note", {"text": "a"})

    def mutates(ctx: Any) -> None:
        ctx.run_mutation("m:note", {"text": "a"})

    core = ShardCore(note, queries=[schedules, mutates])
    _refused("SCHEDULER_NOT_IN_QUERY", lambda: core.call(schedules))
    with pytest.raises(AttributeError):
        core.call(mutates)
    assert core.nothing_happened()


def test_a_query_may_be_asynchronous_and_must_not_wait() -> None:
    async def reads(ctx: Query) -> int:
        return count(ctx)

    async def waits(_ctx: Query) -> None:
        await asyncio.sleep(0)

    core = ShardCore(queries=[reads, waits])
    assert core.call(reads) == 0
    _refused("MUTATION_YIELDED", lambda: core.call(waits))


# -- the context ---------------------------------------------------------------------------------------------


async def _tells(ctx: Mutation) -> Any:
    ids = [await ctx.scheduler.run_after(0, "m:note", {"text": "a"}) for _ in range(3)]
    return {"now": ctx.now, "random": [ctx.random.random() for _ in range(3)], "ids": ids}


def test_time_randomness_and_ids_are_the_same_when_a_body_is_run_again() -> None:
    one, two, other = (ShardCore(note, _tells).call(_tells, seed=seed) for seed in (2**127, 2**127, 2**127 + 1))
    assert one == two
    assert one["random"] != other["random"]
    assert not set(one["ids"]) & set(other["ids"])
    assert len(set(one["ids"])) == 3
    assert one["now"] == "2027-01-15T08:00:00Z"


def test_ids_and_random_tell_nothing_of_each_other() -> None:
    async def both(ctx: Mutation) -> Any:
        job_id = await ctx.scheduler.run_after(0, "m:note", {"text": "a"})
        return [job_id, mint_id(ctx.random.randbytes), ctx.random.random()]

    def random_only(ctx: Mutation) -> Any:
        return [mint_id(ctx.random.randbytes), ctx.random.random()]

    core = ShardCore(note, both, random_only)
    job_id, *random = core.call(both)
    assert job_id != random[0]
    assert core.call(random_only) == random


@pytest.mark.parametrize("now", [0, 1, 999, NOW + 1, NOW + 999, 4_102_444_799_999])
def test_the_time_is_exact_to_the_millisecond(now: int) -> None:
    seen: list[datetime] = []

    def sees(ctx: Mutation) -> None:
        seen.append(ctx.now)

    ShardCore(sees).call(sees, now=now)
    assert seen == [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now)]


def test_a_function_sees_who_calls_and_the_job_it_runs_for() -> None:
    def sees(ctx: Mutation) -> Any:
        return [ctx.auth.user_id, dict(ctx.auth.claims), ctx.job.id if ctx.job else None]

    core = ShardCore(sees)
    assert core.call(sees) == [None, {}, None]
    assert core.call(sees, auth=Auth(user_id="u1", claims={"plan": "pro"})) == ["u1", {"plan": "pro"}, None]
    assert core.call(sees, running=job("j7")) == [None, {}, "j7"]


async def test_a_context_that_is_kept_is_of_no_use_when_the_call_is_over() -> None:
    kept: list[Mutation] = []

    def keeps(ctx: Mutation) -> None:
        kept.append(ctx)

    core = ShardCore(keeps, note)
    core.call(keeps)
    (ctx,) = kept
    with pytest.raises(LunoraError):
        ctx.db.execute("INSERT INTO notes VALUES ('a')")
    with pytest.raises(LunoraError):
        await ctx.scheduler.run_after(0, "m:note", {"text": "a"})
    with pytest.raises(LunoraError):
        await ctx.scheduler.cancel("a")
    with pytest.raises(LunoraError):
        await ctx.run_mutation("m:note", {"text": "a"})
    assert core.nothing_happened()


# -- mutations of jobs ---------------------------------------------------------------------------------------


def test_a_job_that_is_delivered_again_gets_the_result_it_had_and_has_no_second_effect() -> None:
    core = ShardCore(note)
    for attempt in (1, 2, 7):
        assert core.call(note, {"text": "a"}, running=job(attempt=attempt), seed=attempt, now=NOW + attempt) == "A"
    assert core.notes() == ["a"]
    assert len(core.rows()) == 1
    assert core.applied() == [("j", "i")]
    assert core.wakes == [NOW + 1]


def test_a_result_is_replayed_to_the_letter() -> None:
    values: Iterator[Any] = iter([[1.0, 2**70, "\u2028", None, {}], "something else"])

    def body(_ctx: Mutation) -> Any:
        return next(values)

    core = ShardCore(body)
    first = core.call(body, running=job())
    again = core.call(body, running=job(attempt=2))
    assert repr(again) == repr(first) == repr([1.0, 2**70, "\u2028", None, {}])


def test_a_redriven_job_runs_again_and_so_does_another() -> None:
    core = ShardCore(note)
    for seed, running in enumerate((job(), job(incarnation="i2"), job("j2"), job("i", "j"))):
        assert core.call(note, {"text": "a"}, running=running, seed=seed) == "A"
    assert core.notes() == ["a"] * 4
    assert core.applied() == [("i", "j"), ("j", "i"), ("j", "i2"), ("j2", "i")]


def test_a_call_that_is_no_job_has_its_effect_each_time() -> None:
    core = ShardCore(note)
    for _ in range(2):
        core.call(note, {"text": "a"}, seed=_)
    assert core.notes() == ["a", "a"]
    assert core.applied() == []


def test_a_job_whose_mutation_failed_is_not_taken_for_done() -> None:
    outcomes = iter([ZeroDivisionError(), None])

    def body(ctx: Mutation) -> str:
        plain(ctx, "a")
        error = next(outcomes)
        if error:
            raise error
        return "done"

    core = ShardCore(body)
    with pytest.raises(ZeroDivisionError):
        core.call(body, running=job())
    assert core.call(body, running=job(attempt=2)) == "done"
    assert core.notes() == ["a"]


def test_a_record_is_kept_for_a_year_and_then_pruned_a_few_at_a_time() -> None:
    core = ShardCore(note)
    for number in range(30):
        core.call(note, {"text": "a"}, running=job(f"j{number:02}"), seed=number)
    core.call(note, {"text": "a"}, running=job("almost"), now=NOW + APPLIED_RETENTION_MS - 1, seed=100)
    assert len(core.applied()) == 31
    core.call(note, {"text": "a"}, running=job("later"), now=NOW + APPLIED_RETENTION_MS, seed=101)
    left = len(core.applied())
    assert 3 <= left < 32
    core.call(note, {"text": "a"}, running=job("last"), now=NOW + APPLIED_RETENTION_MS, seed=102)
    assert {job_id for job_id, _ in core.applied()} == {"almost", "later", "last"}
    assert timedelta(milliseconds=APPLIED_RETENTION_MS) == timedelta(days=365)


def test_a_record_that_was_just_made_is_never_pruned() -> None:
    core = ShardCore(note)
    for now in (NOW, NOW + 2 * APPLIED_RETENTION_MS):
        core.call(note, {"text": "a"}, running=job(f"j{now}"), now=now, seed=now)
        assert core.call(note, {"text": "b"}, running=job(f"j{now}"), now=now, seed=now + 1) == "A"
    assert core.notes() == ["a", "a"]


# -- mutations inside mutations ------------------------------------------------------------------------------


async def _bad_note(ctx: Mutation, text: str) -> None:
    await note(ctx, text)
    raise LunoraError("BAD_NOTE", "no")


def test_what_a_nested_mutation_did_is_kept_with_the_rest() -> None:
    async def outer(ctx: Mutation) -> Any:
        plain(ctx, "before")
        result = await ctx.run_mutation("m:note", {"text": "a"})
        reference: FunctionReference[Any] = FunctionReference("m:plain", kind="mutation", internal=True)
        return [result, await ctx.run_mutation(reference, {"text": "after"})]

    core = ShardCore(outer, note, plain)
    assert core.call(outer, running=job()) == ["A", None]
    assert core.notes() == ["before", "a", "after"]
    assert len(core.rows()) == 1
    assert core.applied() == [("j", "i")]
    assert core.wakes == [NOW]


def test_a_nested_mutation_that_raises_undoes_its_own_writes_and_calls_only() -> None:
    async def outer(ctx: Mutation) -> list[str]:
        ids = [await ctx.scheduler.run_after(0, "m:note", {"text": "outer"})]
        with pytest.raises(LunoraError, match="BAD_NOTE"):
            await ctx.run_mutation("m:_bad_note", {"text": "lost"})
        await ctx.run_mutation("m:plain", {"text": "kept"})
        return [*ids, await ctx.scheduler.run_after(0, "m:note", {"text": "outer"})]

    core = ShardCore(outer, note, plain, _bad_note)
    ids = core.call(outer)
    assert core.notes() == ["kept"]
    assert [job_id for _, job_id in core.rows()] == ids


def test_a_nested_mutation_that_cancels_and_raises_has_cancelled_nothing() -> None:
    async def cancels(ctx: Mutation, job_id: str) -> None:
        assert await ctx.scheduler.cancel(job_id) is True
        raise LunoraError("BAD_NOTE", "no")

    async def outer(ctx: Mutation) -> str:
        job_id = await ctx.scheduler.run_after(0, "m:note", {"text": "a"})
        with pytest.raises(LunoraError, match="BAD_NOTE"):
            await ctx.run_mutation("m:cancels", {"job_id": job_id})
        return job_id

    core = ShardCore(outer, cancels, note)
    job_id = core.call(outer)
    assert core.rows() == [("schedule", job_id)]


def test_an_outer_mutation_that_raises_undoes_what_the_nested_one_did() -> None:
    async def outer(ctx: Mutation) -> None:
        await ctx.run_mutation("m:note", {"text": "a"})
        raise LunoraError("MINE", "no")

    core = ShardCore(outer, note)
    _refused("MINE", lambda: core.call(outer, running=job()))
    assert core.nothing_happened()


def test_mutations_nest_as_deep_as_one_likes() -> None:
    async def deeper(ctx: Mutation, level: int) -> None:
        plain(ctx, f"{level}")
        if level < 5:
            try:
                await ctx.run_mutation("m:deeper", {"level": level + 1})
            except LunoraError:
                plain(ctx, f"{level} caught")
        if level in (3, 5):
            raise LunoraError("MINE", f"{level}")

    core = ShardCore(deeper)
    core.call(deeper, {"level": 1})
    assert core.notes() == ["1", "2", "2 caught"]


async def test_a_nested_mutation_that_yields_is_undone_and_the_outer_may_go_on() -> None:
    async def waits(ctx: Mutation) -> None:
        plain(ctx, "lost")
        await asyncio.sleep(0)

    async def outer(ctx: Mutation) -> str:
        with pytest.raises(LunoraError, match="MUTATION_YIELDED"):
            await ctx.run_mutation("m:waits")
        plain(ctx, "kept")
        return "fine"

    core = ShardCore(outer, waits)
    assert core.call(outer) == "fine"
    assert core.notes() == ["kept"]


@pytest.mark.parametrize(
    ("path", "args", "code"),
    [
        ("m:gone", {}, "FUNCTION_NOT_FOUND"),
        ("m:count", {}, "FUNCTION_NOT_FOUND"),
        ("m:note", {"text": 5}, "INVALID_INPUT"),
        ("m:note", {"text": object()}, "INVALID_INPUT"),
        ("m:note", None, "INVALID_INPUT"),
    ],
)
def test_a_nested_call_that_cannot_be_is_an_error_of_the_outer(path: str, args: Any, code: str) -> None:
    async def outer(ctx: Mutation) -> None:
        await ctx.run_mutation(path, args)

    core = ShardCore(outer, note, queries=[count])
    error = _refused(code, lambda: core.call(outer))
    assert not isinstance(error, UnavailableError), "the outer has begun, so it is a failure"
    assert core.nothing_happened()


def test_a_nested_mutation_on_another_shard_is_refused() -> None:
    async def outer(ctx: Mutation) -> None:
        await ctx.run_mutation("m:note", {"text": "a"}, shard_key="other")

    core = ShardCore(outer, note)
    error = _refused("NESTED_ON_OTHER_SHARD", lambda: core.call(outer))
    assert "'other'" in error.message
    assert core.nothing_happened()


def test_a_nested_mutation_has_the_time_the_caller_and_the_randomness_of_the_outer() -> None:
    seen: list[Any] = []

    def inner(ctx: Mutation) -> None:
        seen.append((ctx.now, ctx.auth, ctx.job, ctx.random))

    async def outer(ctx: Mutation) -> None:
        inner(ctx)
        await ctx.run_mutation("m:inner")

    ShardCore(outer, inner).call(outer, auth=Auth(user_id="u1"), running=job())
    assert seen[0] == seen[1]


def test_a_mutation_that_is_called_and_not_awaited_does_not_run() -> None:
    async def outer(ctx: Mutation) -> str:
        pending: Any = ctx.run_mutation("m:note", {"text": "a"})
        pending.close()
        return "fine"

    core = ShardCore(outer, note)
    assert core.call(outer) == "fine"
    assert core.nothing_happened()


def test_mutations_that_never_stop_nesting_are_refused() -> None:
    """Each level is a stack frame of the runtime, which dies of too many."""

    async def endless(ctx: Mutation) -> None:
        await ctx.run_mutation("m:endless", {})

    core = ShardCore(endless)
    error = _refused("NESTED_TOO_DEEP", lambda: core.call(endless))
    assert f"more than {MAX_NESTED} deep" in error.message
    assert core.nothing_happened()
    assert _refused("NESTED_TOO_DEEP", lambda: core.call(endless)).message == error.message, "it counts from none again"
