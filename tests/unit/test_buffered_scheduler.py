from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.refs import AgentReference, FunctionReference, WorkflowReference
from lunorash.scheduler import JobCall, JobFilter, JobRecord, RetryPolicy, RunOptions
from lunorash.shard.shard import MAX_ROUNDS

from .scheduler_object import NOW
from .shard_core import Mutation, ShardCore, job

TARGET = "m:plain"


def plain(ctx: Mutation, text: str = "") -> None:
    ctx.db.execute("INSERT INTO notes VALUES (?)", text)


async def schedule(ctx: Mutation, text: str = "", job_id: str | None = None) -> str:
    plain(ctx, text)
    return await ctx.scheduler.run_after(0, TARGET, {"text": text}, RunOptions(id=job_id))


def _core(*functions: Callable[..., Any], **variables: Any) -> ShardCore:
    return ShardCore(plain, schedule, *functions, **variables)


async def _job(core: ShardCore, job_id: str) -> JobRecord:
    record = await core.scheduler.get(job_id)
    assert record is not None
    return record


# -- scheduling ----------------------------------------------------------------------------------------------


async def test_an_id_is_final_at_once_and_is_the_one_the_scheduler_gets() -> None:
    async def body(ctx: Mutation) -> str:
        job_id = await ctx.scheduler.run_after(timedelta(days=14), TARGET, {"text": "later"})
        ctx.db.execute("INSERT INTO notes VALUES (?)", job_id)
        return job_id

    core = _core(body)
    job_id = await core.mutate(body)
    assert core.notes() == [job_id]
    assert len(job_id) == 16
    assert await core.scheduler.get(job_id) is None, "it is not sent before the mutation has committed"
    await core.send()
    record = await _job(core, job_id)
    assert (record.target, record.args, record.due) == (TARGET, {"text": "later"}, NOW + 14 * 86_400_000)
    assert core.rows() == []


async def test_everything_a_call_says_arrives() -> None:
    target: FunctionReference[Any] = FunctionReference(TARGET, kind="mutation", internal=True)

    async def body(ctx: Mutation) -> None:
        await ctx.scheduler.run_at(
            datetime(2030, 1, 1, tzinfo=UTC),
            target,
            {"text": "Zoë 🎉"},
            RunOptions(id="own", retry=RetryPolicy(max_attempts=2), timeout=5, shard_key="tenant"),
        )

    core = _core(body)
    await core.mutate(body)
    await core.send()
    record = await _job(core, "own")
    assert (record.due, record.args, record.retry.max_attempts) == (1_893_456_000_000, {"text": "Zoë 🎉"}, 2)
    assert (record.timeout_ms, record.shard_key, record.state) == (5, "tenant", "pending")
    assert record.created == NOW


async def test_a_job_may_be_put_into_a_pool() -> None:
    async def body(ctx: Mutation) -> list[Any]:
        options = RunOptions(id="own", pool="imports", priority=3)
        await ctx.scheduler.run_after(0, TARGET, {"text": "a"}, options)
        found = await ctx.scheduler.get("own")
        return [found.pool, found.priority] if found else []

    core = _core(body)
    assert await core.mutate(body) == ["imports", 3]
    await core.send()
    record = await _job(core, "own")
    assert (record.pool, record.priority) == ("imports", 3)
    assert [(pool.name, pool.queued) for pool in (await core.scheduler.pools()).pools] == [("imports", 1)]


async def test_many_jobs_are_answered_each_for_itself_and_belong_to_the_transaction() -> None:
    async def body(ctx: Mutation, fail: bool = False) -> list[Any]:
        answers = await ctx.scheduler.schedule_many(
            [
                JobCall("m:plain", delay=5),
                JobCall("m:nobody"),
                JobCall("m:plain", options=RunOptions(id="own")),
                JobCall("m:plain", options=RunOptions(id="own")),
            ]
        )
        if fail:
            raise LunoraError("IN_VAIN", "no")
        return [answer.code if isinstance(answer, LunoraError) else answer for answer in answers]

    core = _core(body, plain)
    with pytest.raises(LunoraError, match="IN_VAIN"):
        await core.mutate(body, {"fail": True})
    assert core.nothing_happened()
    first, *others = await core.mutate(body)
    assert others == ["FUNCTION_NOT_FOUND", "own", "DUPLICATE_SCHEDULE_ID"]
    assert core.rows() == [("schedule", first), ("schedule", "own")]
    await core.send()
    assert (await _job(core, first)).due == (await _job(core, "own")).due + 5


async def test_rows_are_sent_in_the_order_in_which_they_were_asked_for() -> None:
    async def body(ctx: Mutation) -> None:
        for number in (3, 1, 2):
            await ctx.scheduler.run_after(number, TARGET, None, RunOptions(id=f"j{number}"))
        await ctx.scheduler.cancel("other")
        await ctx.scheduler.run_after(0, WorkflowReference("onboarding", "W"), {"any": [1]}, RunOptions(id="w"))
        await ctx.scheduler.run_after(0, AgentReference("support", "A"), None, RunOptions(id="a"))

    core = _core(body)
    await core.mutate(body)
    assert core.rows() == [
        ("schedule", "j3"),
        ("schedule", "j1"),
        ("schedule", "j2"),
        ("cancel", "other"),
        ("schedule", "w"),
        ("schedule", "a"),
    ]
    await core.send()
    assert [(await _job(core, job_id)).target for job_id in ("w", "a")] == ["workflows.onboarding", "agents.support"]


async def test_a_delay_counts_from_the_time_of_the_call_and_not_of_the_sending() -> None:
    async def body(ctx: Mutation) -> None:
        await ctx.scheduler.run_after(1.2, TARGET, None, RunOptions(id="j"))
        await ctx.scheduler.run_at(-5, TARGET, None, RunOptions(id="past"))

    core = _core(body)
    await core.mutate(body, now=NOW - 500)
    core.object.now = NOW + 60_000
    await core.send()
    assert (await _job(core, "j")).due == NOW - 498
    assert (await _job(core, "past")).due == 0


async def test_arguments_are_encoded_at_once_and_may_be_rich() -> None:
    async def dated(ctx: Mutation, at: date) -> None: ...

    async def body(ctx: Mutation) -> None:
        args = {"at": date(2026, 1, 2)}
        await ctx.scheduler.run_after(0, "m:dated", args, RunOptions(id="j"))
        args["at"] = date(1999, 1, 1)

    core = _core(body, dated)
    await core.mutate(body)
    await core.send()
    assert (await _job(core, "j")).args == {"at": "2026-01-02"}


async def test_rows_that_are_sent_twice_are_known() -> None:
    core = _core()
    job_id = await core.mutate(schedule)
    rows = core.shard.outbox.page()
    assert [await core.scheduler.accept("s", rows) for _ in range(2)] == [1, 1]
    assert [record.id for record in (await core.scheduler.list()).jobs] == [job_id]


# -- bad input -----------------------------------------------------------------------------------------------


_BAD: list[tuple[str, Callable[[Any], Any]]] = [
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(-1, TARGET)),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(float("nan"), TARGET)),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after("5", TARGET)),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(10**400, TARGET)),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_at(datetime(2030, 1, 1), TARGET)),  # noqa: DTZ001
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, "no path")),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, "workflows.onboarding")),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, None)),
    ("FUNCTION_NOT_FOUND", lambda scheduler: scheduler.run_after(0, "m:gone")),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, TARGET, {"text": 5})),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, TARGET, {"txt": "a"})),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, TARGET, {"text": {1}})),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, TARGET, ["text"])),
    ("PAYLOAD_TOO_LARGE", lambda scheduler: scheduler.run_after(0, TARGET, {"text": "x" * 1_000_000})),
    ("INVALID_INPUT", lambda scheduler: scheduler.run_after(0, TARGET, {}, {"id": "a"})),
    ("INVALID_SCHEDULE_ID", lambda scheduler: scheduler.cancel("no id")),
    ("INVALID_SCHEDULE_ID", lambda scheduler: scheduler.cancel(None)),
    ("INVALID_SCHEDULE_ID", lambda scheduler: scheduler.get("")),
]


@pytest.mark.parametrize(("code", "bad"), _BAD)
async def test_bad_input_rolls_everything_back(code: str, bad: Callable[[Any], Any]) -> None:
    async def body(ctx: Mutation) -> None:
        await schedule(ctx, "a")
        await bad(ctx.scheduler)

    core = _core(body)
    with pytest.raises(LunoraError) as raised:
        await core.mutate(body, running=job())
    assert raised.value.code == code
    assert core.nothing_happened()


async def test_bad_input_that_is_caught_schedules_nothing_and_the_mutation_may_go_on() -> None:
    async def body(ctx: Mutation) -> str:
        for code, bad in _BAD:
            with pytest.raises(LunoraError, match=code):
                await bad(ctx.scheduler)
        return await schedule(ctx, "a")

    core = _core(body)
    assert core.rows() == []
    job_id = await core.mutate(body)
    assert core.rows() == [("schedule", job_id)]


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"LUNORA_ORIGIN_URL": None}, "ORIGIN_NOT_CONFIGURED"),
        ({"LUNORA_ORIGIN_URL": "nonsense"}, "ORIGIN_INVALID"),
        ({"LUNORA_SCHEDULER_SECRET": None}, "SCHEDULER_SECRET_NOT_CONFIGURED"),
        ({"LUNORA_SCHEDULER_SECRET": "weak"}, "SCHEDULER_SECRET_INVALID"),
        ({"LUNORA_DISPATCH": "pigeon"}, "DISPATCH_INVALID"),
    ],
)
async def test_a_deployment_that_is_not_set_up_says_so_at_the_call_and_nothing_is_written(
    variables: dict[str, Any], code: str
) -> None:
    core = _core(**variables)
    with pytest.raises(LunoraError) as raised:
        await core.mutate(schedule)
    assert (raised.value.code, raised.value.status) == (code, 500)
    assert core.nothing_happened()
    assert await core.mutate(plain) is None, "whoever schedules nothing needs no settings"


async def test_an_id_can_be_given_once() -> None:
    async def body(ctx: Mutation) -> None:
        await schedule(ctx, "a", "own")
        await schedule(ctx, "b", "own")

    core = _core(body)
    with pytest.raises(LunoraError, match="'own' belongs to a job that was just scheduled") as raised:
        await core.mutate(body)
    assert (raised.value.code, raised.value.status) == ("DUPLICATE_SCHEDULE_ID", 409)
    assert core.nothing_happened()


async def test_an_id_of_a_job_that_waits_to_be_sent_is_taken_too() -> None:
    core = _core()
    await core.mutate(schedule, {"job_id": "own"})
    with pytest.raises(LunoraError, match="DUPLICATE_SCHEDULE_ID"):
        await core.mutate(schedule, {"job_id": "own"})
    assert core.rows() == [("schedule", "own")]


async def test_an_id_that_the_scheduler_knows_already_becomes_a_dead_letter_that_is_seen() -> None:
    core = _core()
    for seed, text in enumerate("ab"):
        await core.mutate(schedule, {"job_id": "own", "text": text}, seed=seed)
        await core.send()
    assert (await _job(core, "own")).args == {"text": "a"}
    (dead,) = (await core.scheduler.dead()).jobs
    assert (dead.error_code, dead.args) == ("DUPLICATE_SCHEDULE_ID", {"text": "b"})


# -- cancelling ----------------------------------------------------------------------------------------------


async def test_a_job_of_the_same_mutation_is_cancelled_as_if_it_had_never_been() -> None:
    async def body(ctx: Mutation) -> list[Any]:
        keep = await ctx.scheduler.run_after(0, TARGET)
        drop = await ctx.scheduler.run_after(0, TARGET)
        return [keep, await ctx.scheduler.cancel(drop), await ctx.scheduler.cancel(drop)]

    core = _core(body)
    keep, first, second = await core.mutate(body)
    assert (first, second) == (True, None)
    assert core.rows()[0] == ("schedule", keep)
    assert [kind for kind, _ in core.rows()] == ["schedule", "cancel"]


async def test_a_mutation_that_cancels_all_it_scheduled_wakes_nobody() -> None:
    async def body(ctx: Mutation) -> bool | None:
        return await ctx.scheduler.cancel(await ctx.scheduler.run_after(0, TARGET))

    core = _core(body)
    assert await core.mutate(body) is True
    assert core.nothing_happened()


async def test_an_id_that_was_cancelled_can_be_given_again() -> None:
    async def body(ctx: Mutation) -> None:
        await schedule(ctx, "a", "own")
        await ctx.scheduler.cancel("own")
        await schedule(ctx, "b", "own")

    core = _core(body)
    await core.mutate(body)
    await core.send()
    assert (await _job(core, "own")).args == {"text": "b"}


async def test_another_job_is_cancelled_when_the_mutation_has_committed() -> None:
    async def cancel(ctx: Mutation, fail: bool = False) -> bool | None:
        cancelled = await ctx.scheduler.cancel("own")
        if fail:
            raise LunoraError("MINE", "no")
        return cancelled

    core = _core(cancel)
    await core.mutate(schedule, {"job_id": "own"})
    await core.send()
    with pytest.raises(LunoraError, match="MINE"):
        await core.mutate(cancel, {"fail": True})
    await core.send()
    assert (await _job(core, "own")).state == "pending"
    assert await core.mutate(cancel) is None
    assert (await _job(core, "own")).state == "pending", "it is requested"
    await core.send()
    assert (await _job(core, "own")).state == "canceled"


async def test_a_job_that_waits_to_be_sent_is_cancelled_behind_its_scheduling() -> None:
    async def cancel(ctx: Mutation) -> bool | None:
        return await ctx.scheduler.cancel("own")

    core = _core(cancel)
    await core.mutate(schedule, {"job_id": "own"})
    assert await core.mutate(cancel) is None
    assert core.rows() == [("schedule", "own"), ("cancel", "own")]
    await core.send()
    assert (await _job(core, "own")).state == "canceled"


# -- asking --------------------------------------------------------------------------------------------------


async def test_a_job_of_the_same_mutation_is_found_without_asking_anybody() -> None:
    async def body(ctx: Mutation) -> list[Any]:
        await schedule(ctx, "a", "own")
        record = await ctx.scheduler.get("own")
        assert record is not None
        return [record.state, record.args, record.due, record.created, record.attempts, record.ended]

    core = _core(body)
    assert await core.mutate(body) == ["pending", {"text": "a"}, NOW, NOW, 0, None]
    assert core.rounds == 1
    assert core.object.calls["get"] == 0


async def test_what_was_found_before_it_was_sent_is_what_is_found_after() -> None:
    found: list[JobRecord | None] = []

    async def body(ctx: Mutation) -> None:
        options = RunOptions(id="own", retry=RetryPolicy(jitter=0.5, backoff="linear"), shard_key="s", timeout=7)
        await ctx.scheduler.run_after(5, TARGET, {"text": "a"}, options)
        found.append(await ctx.scheduler.get("own"))

    core = _core(body)
    await core.mutate(body)
    await core.send()
    assert found == [await core.scheduler.get("own")]


async def test_a_question_rolls_back_and_runs_the_body_again_with_the_answer() -> None:
    texts: list[str] = []

    async def body(ctx: Mutation) -> list[Any]:
        await schedule(ctx, "before")
        texts.append(f"{ctx.now} {ctx.random.random()}")
        record = await ctx.scheduler.get("own")
        return [record.state if record else None, await schedule(ctx, "after")]

    core = _core(body)
    await core.mutate(schedule, {"job_id": "own"}, seed=5)
    await core.send()
    core.wakes.clear()
    state, job_id = await core.mutate(body, running=job())
    assert state == "pending"
    assert core.rounds == 2
    assert core.object.calls["get"] == 1
    assert core.notes() == ["", "before", "after"], "once, although the body ran twice"
    assert len(set(texts)) == 1
    assert [kind for kind, _ in core.rows()] == ["schedule", "schedule"]
    assert core.rows()[1] == ("schedule", job_id)
    assert core.wakes == [NOW]
    assert core.applied() == [("j", "i")]


async def test_a_job_that_nobody_knows_is_none_and_that_is_remembered() -> None:
    async def body(ctx: Mutation) -> list[Any]:
        return [await ctx.scheduler.get("nobody"), await ctx.scheduler.get("nobody")]

    core = _core(body)
    assert await core.mutate(body) == [None, None]
    assert (core.rounds, core.object.calls["get"]) == (2, 1)


async def test_jobs_are_listed_as_they_were_before_the_mutation() -> None:
    async def body(ctx: Mutation) -> list[str]:
        await schedule(ctx, "new", "new")
        page = await ctx.scheduler.list(limit=1)
        more = await ctx.scheduler.list(limit=1, cursor=page.cursor)
        return [record.id for record in (*page.jobs, *more.jobs)]

    core = _core(body)
    for number in (1, 2, 3):
        await core.mutate(schedule, {"job_id": f"old{number}"}, seed=number)
    await core.send()
    assert await core.mutate(body, seed=9) == ["old1", "old2"]
    assert core.rounds == 3
    assert core.rows() == [("schedule", "new")]


async def test_jobs_are_found_and_counted_as_they_were_before_the_mutation() -> None:
    async def body(ctx: Mutation) -> list[Any]:
        await schedule(ctx, "new", "new")
        wanted = JobFilter(id_prefix="old", state="pending")
        counted = await ctx.scheduler.count(wanted)
        page = await ctx.scheduler.jobs(wanted, order="soonest", limit=2)
        more = await ctx.scheduler.jobs(wanted, order="soonest", limit=2, cursor=page.cursor)
        return [counted.count, counted.exact, *(record.id for record in (*page.jobs, *more.jobs))]

    core = _core(body)
    for number in (1, 2, 3):
        await core.mutate(schedule, {"job_id": f"old{number}"}, seed=number)
    await core.send()
    assert await core.mutate(body, seed=9) == [3, True, "old1", "old2", "old3"]
    assert core.rows() == [("schedule", "new")]


async def test_a_search_that_makes_no_sense_is_refused_at_once() -> None:
    async def body(ctx: Mutation) -> None:
        await ctx.scheduler.jobs("all")  # type: ignore[arg-type]

    with pytest.raises(LunoraError, match="wanted is 'all'"):
        await _core(body).mutate(body)


async def test_what_the_scheduler_refuses_is_raised_where_it_was_asked_and_may_be_caught() -> None:
    async def body(ctx: Mutation) -> str:
        try:
            await ctx.scheduler.list(limit=0)
        except LunoraError as error:
            return error.code
        return "it took it"

    async def careless(ctx: Mutation) -> None:
        await schedule(ctx, "a")
        await ctx.scheduler.list(limit=0)

    core = _core(body, careless)
    assert await core.mutate(body) == "INVALID_INPUT"
    with pytest.raises(LunoraError, match="INVALID_INPUT"):
        await core.mutate(careless)
    assert core.nothing_happened()


async def _swallows(ctx: Mutation) -> str:
    await schedule(ctx, "a")
    with suppress(BaseException):
        record = await ctx.scheduler.get("nobody")
        return "none" if record is None else "some"
    return "swallowed"


async def _raises_instead(ctx: Mutation) -> str:
    await schedule(ctx, "a")
    try:
        record = await ctx.scheduler.get("nobody")
    except BaseException:  # noqa: BLE001 - an app may do so
        raise LunoraError("MINE", "something else") from None
    return "none" if record is None else "some"


async def _asks_again(ctx: Mutation) -> str:
    await schedule(ctx, "a")
    with suppress(BaseException):
        await ctx.scheduler.get("somebody")
    record = await ctx.scheduler.get("nobody")
    return "none" if record is None else "some"


async def _asks_in_a_nested_mutation(ctx: Mutation) -> str:
    await schedule(ctx, "a")
    with suppress(Exception):
        result: str = await ctx.run_mutation("m:_asks")
        return result
    return "swallowed"


async def _asks(ctx: Mutation) -> str:
    record = await ctx.scheduler.get("nobody")
    return "none" if record is None else "some"


@pytest.mark.parametrize("body", [_swallows, _raises_instead, _asks_again, _asks_in_a_nested_mutation])
async def test_a_question_that_is_swallowed_is_asked_all_the_same(body: Callable[..., Any]) -> None:
    core = _core(body, _asks)
    assert await core.mutate(body) == "none"
    assert core.notes() == ["a"]
    assert len(core.rows()) == 1


async def test_a_body_may_ask_a_number_of_things_and_no_more() -> None:
    async def body(ctx: Mutation, questions: int) -> int:
        await schedule(ctx, "a")
        for number in range(questions):
            await ctx.scheduler.get(f"nobody{number}")
        return questions

    core = _core(body)
    assert await core.mutate(body, {"questions": MAX_ROUNDS}) == MAX_ROUNDS
    assert core.rounds == MAX_ROUNDS + 1
    await core.send()
    with pytest.raises(LunoraError, match=f"more than {MAX_ROUNDS} different things, last get") as raised:
        await core.mutate(body, {"questions": MAX_ROUNDS + 1}, seed=2)
    assert (raised.value.code, raised.value.status) == ("TOO_MANY_QUESTIONS", 500)
    assert core.notes() == ["a"]
    assert core.rows() == []


async def test_a_job_that_is_replayed_asks_nothing() -> None:
    core = _core(_asks)
    assert await core.mutate(_asks, running=job()) == "none"
    assert await core.mutate(_asks, running=job(attempt=2)) == "none"
    assert core.rounds == 1
