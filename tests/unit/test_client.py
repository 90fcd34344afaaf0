from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.scheduler import (
    DeadGroups,
    JobCount,
    JobFilter,
    JobRecord,
    RetryPolicy,
    RunOptions,
    Scheduler,
    create_scheduler,
)
from lunorash.scheduler.job import NewJob
from lunorash.scheduler.options import MAX_INSTANT_MS

from .fake_time import in_fake_time
from .scheduler_object import NOW, Namespace, SchedulerObject, environment

TARGET = "billing:end_trial"


class _App:
    """A client, and the object it calls."""

    def __init__(self, catalog: FunctionTable | None = None, **variables: Any) -> None:
        self.namespace = Namespace(environment(**variables))
        numbers = count(1)
        self.client = Scheduler(
            lambda: self.namespace.default,
            catalog=catalog,
            now=lambda: NOW,
            mint=lambda: f"m{next(numbers)}",
        )

    @property
    def object(self) -> SchedulerObject:
        return self.namespace.default

    async def job(self, job_id: str) -> JobRecord:
        job = await self.client.get(job_id)
        assert job is not None
        return job


# -- scheduling ----------------------------------------------------------------------------------------------


async def test_a_job_is_stored_as_it_was_asked_for() -> None:
    app = _App()
    options = RunOptions(
        id="own-id", retry=RetryPolicy(max_attempts=2, base_ms=5), shard_key="tenant ✓", timeout=timedelta(seconds=9)
    )
    args = {"user": "Zoë 🎉", "n": 2**70, "x": 1.0}
    assert await app.client.run_after(timedelta(minutes=1), TARGET, args, options) == "own-id"
    job = await app.job("own-id")
    assert job == JobRecord(
        id="own-id",
        incarnation="m1",
        target=TARGET,
        args=args,
        state="pending",
        due=NOW + 60_000,
        scheduled_for=NOW + 60_000,
        created=NOW,
        retry=RetryPolicy(max_attempts=2, base_ms=5),
        timeout_ms=9_000,
        shard_key="tenant ✓",
        attempts=0,
        charged=0,
        redrives=0,
        cancel_requested=False,
        started=None,
        ended=None,
        error_code=None,
        error_message=None,
        failures=(),
    )
    assert type(job.args["x"]) is float


async def test_a_job_that_was_tried_elsewhere_is_taken_over_as_it_is_and_once() -> None:
    app = _App()
    job = NewJob(
        id="cron-1",
        incarnation="i",
        target=TARGET,
        args='{"n":1}',
        due=NOW + 5,
        retry=RetryPolicy(max_attempts=2).to_dict(),
        timeout_ms=9_000,
        charged=1,
        scheduled_for=NOW - 7,
    )
    for _ in range(2):
        await app.client.take_over(job)
    record = await app.job("cron-1")
    assert (record.incarnation, record.target, record.args, record.timeout_ms) == ("i", TARGET, {"n": 1}, 9_000)
    assert (record.due, record.scheduled_for, record.attempts, record.charged) == (NOW + 5, NOW - 7, 1, 1)
    with pytest.raises(LunoraError) as raised:
        await app.client.take_over(replace(job, incarnation="another"))
    assert raised.value.code == "DUPLICATE_SCHEDULE_ID"


async def test_without_an_id_one_is_minted_and_it_is_a_string() -> None:
    app = _App()
    assert [await app.client.run_after(0, TARGET) for _ in range(2)] == ["m1", "m3"]
    assert (await app.job("m3")).args == {}


@pytest.mark.parametrize(
    ("instant", "due"),
    [
        (NOW + 5, NOW + 5),
        (NOW + 0.5, NOW + 1),
        (datetime(2030, 1, 1, tzinfo=UTC), 1_893_456_000_000),
        (0, 0),
        (-5, 0),
        (datetime(1999, 1, 1, tzinfo=UTC), 915_148_800_000),
    ],
)
async def test_an_instant_may_be_epoch_milliseconds_or_an_aware_datetime_and_may_be_past(
    instant: Any, due: int
) -> None:
    app = _App()
    assert (await app.job(await app.client.run_at(instant, TARGET))).due == due


async def test_the_defaults_are_five_retries_and_ten_minutes() -> None:
    app = _App()
    job = await app.job(await app.client.run_after(0, TARGET))
    assert (job.retry, job.timeout_ms, job.shard_key) == (RetryPolicy(), 600_000, None)


async def test_arguments_of_the_deepest_and_largest_kind_come_back() -> None:
    app = _App()
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    for args in ({"a": deep}, {"a": "🎉" * 249_990}):
        assert (await app.job(await app.client.run_after(0, TARGET, args))).args == args


# -- what is refused before any call -------------------------------------------------------------------------

_endless: list[Any] = []
_endless.append(_endless)

_REFUSALS: list[tuple[str, str, Callable[[Scheduler], Awaitable[object]]]] = [
    ("INVALID_INPUT", "delay is -1", lambda client: client.run_after(-1, TARGET)),
    ("INVALID_INPUT", "delay is -0.5", lambda client: client.run_after(-0.5, TARGET)),
    ("INVALID_INPUT", "delay is nan", lambda client: client.run_after(float("nan"), TARGET)),
    ("INVALID_INPUT", "delay is inf", lambda client: client.run_after(float("inf"), TARGET)),
    ("INVALID_INPUT", "too far", lambda client: client.run_after(MAX_INSTANT_MS, TARGET)),
    ("INVALID_INPUT", "too far", lambda client: client.run_after(10**400, TARGET)),
    ("INVALID_INPUT", "delay is of type bool", lambda client: client.run_after(True, TARGET)),
    ("INVALID_INPUT", "delay is of type str", lambda client: client.run_after("5", TARGET)),  # type: ignore[arg-type]
    ("INVALID_INPUT", "no time zone", lambda client: client.run_at(datetime(2030, 1, 1), TARGET)),  # noqa: DTZ001
    ("INVALID_INPUT", "instant is nan", lambda client: client.run_at(float("nan"), TARGET)),
    ("INVALID_INPUT", "too far", lambda client: client.run_at(MAX_INSTANT_MS + 1, TARGET)),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "no path")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "billing:end_trial\n")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "billing:fünf")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "a:b:c")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, "a" * 200 + ":b")),
    ("INVALID_INPUT", "not a function path", lambda client: client.run_after(0, None)),  # type: ignore[arg-type]
    ("FUNCTION_NOT_FOUND", "billing:end_trial", lambda client: client.run_after(0, "billing:gone")),
    ("INVALID_INPUT", "args.a[1] is nan", lambda client: client.run_after(0, TARGET, {"a": [0, float("nan")]})),
    ("INVALID_INPUT", "args.a is of type set", lambda client: client.run_after(0, TARGET, {"a": {1}})),
    ("INVALID_INPUT", "64 levels", lambda client: client.run_after(0, TARGET, {"a": _endless})),
    ("INVALID_INPUT", "surrogate", lambda client: client.run_after(0, TARGET, {"a": "\ud800"})),
    ("INVALID_INPUT", "an object", lambda client: client.run_after(0, TARGET, [1])),  # type: ignore[arg-type]
    ("INVALID_INPUT", "an object", lambda client: client.run_after(0, TARGET, [])),  # type: ignore[arg-type]
    ("INVALID_INPUT", "an object", lambda client: client.run_after(0, TARGET, "")),  # type: ignore[arg-type]
    ("PAYLOAD_TOO_LARGE", "1,000,000", lambda client: client.run_after(0, TARGET, {"a": "x" * 1_000_000})),
    ("INVALID_INPUT", "RunOptions", lambda client: client.run_after(0, TARGET, {}, {"id": "a"})),  # type: ignore[arg-type]
    ("INVALID_INPUT", "RunOptions", lambda client: client.run_after(0, TARGET, {}, RetryPolicy())),  # type: ignore[arg-type]
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.cancel("")),
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.cancel("no id")),
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.cancel({"id": "a"})),  # type: ignore[arg-type]
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.get(None)),  # type: ignore[arg-type]
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.dead_retry("-a")),
    ("INVALID_SCHEDULE_ID", "1 to 64", lambda client: client.dead_drop("a" * 65)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "words", "call"), _REFUSALS, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_bad_input_is_refused_before_anything_is_called(
    code: str, words: str, call: Callable[[Scheduler], Awaitable[object]]
) -> None:
    app = _App(catalog=FunctionTable({TARGET: lambda _ctx, **_args: None}))
    with pytest.raises(LunoraError) as raised:
        await call(app.client)
    assert raised.value.code == code
    assert words in raised.value.message
    assert app.namespace.stubs == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.list(states=()),
        lambda client: client.list(states=("waiting",)),
        lambda client: client.list(states=("dead", "dead")),
        lambda client: client.list(states="dead"),
        lambda client: client.list(limit=0),
        lambda client: client.list(limit=101),
        lambda client: client.list(limit=True),
        lambda client: client.list(cursor="nonsense"),
        lambda client: client.dead(cursor="pending.0.a"),
    ],
)
async def test_a_bad_question_is_refused(ask: Callable[[Scheduler], Awaitable[object]]) -> None:
    with pytest.raises(LunoraError) as raised:
        await ask(_App().client)
    assert raised.value.code == "INVALID_INPUT"


# -- what the object refuses ---------------------------------------------------------------------------------


async def test_a_taken_id_is_a_409_in_every_state() -> None:
    """R4: the id of a dead letter too, and the error says what to do with it."""
    app = _App()
    options = RunOptions(id="j", retry=RetryPolicy(max_attempts=1))
    await app.client.run_after(0, TARGET, None, options)
    messages = []
    for buried in (False, True):
        if buried:
            app.object.bury()
        with pytest.raises(LunoraError) as raised:
            await app.client.run_after(0, TARGET, None, options)
        assert (raised.value.code, raised.value.status) == ("DUPLICATE_SCHEDULE_ID", 409)
        messages.append(raised.value.message)
    assert "pending" in messages[0]
    assert "dead letter" in messages[1]


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"LUNORA_ORIGIN_URL": None}, "ORIGIN_NOT_CONFIGURED"),
        ({"LUNORA_ORIGIN_URL": "not an origin"}, "ORIGIN_INVALID"),
        ({"LUNORA_SCHEDULER_SECRET": None}, "SCHEDULER_SECRET_NOT_CONFIGURED"),
        ({"LUNORA_SCHEDULER_SECRET": "weak"}, "SCHEDULER_SECRET_INVALID"),
    ],
)
async def test_a_deployment_that_is_not_set_up_says_so_when_a_job_is_scheduled(
    variables: dict[str, Any], code: str
) -> None:
    app = _App(**variables)
    with pytest.raises(LunoraError) as raised:
        await app.client.run_after(0, TARGET)
    assert (raised.value.code, raised.value.status) == (code, 500)
    assert (await app.client.list()).jobs == ()


# -- calls that break ----------------------------------------------------------------------------------------


@in_fake_time
async def test_a_broken_schedule_call_is_repeated_with_the_same_id_and_runs_once() -> None:
    app = _App()
    app.object.fail_next = 2
    app.object.fail_after_it_landed = True
    assert await app.client.run_after(0, TARGET, None, RunOptions(id="j")) == "j"
    assert app.object.calls["schedule"] == 3
    assert [job.id for job in (await app.client.list()).jobs] == ["j"]
    assert len(app.object.engine.claim(NOW)) == 1


@in_fake_time
async def test_every_try_gets_a_stub_of_its_own() -> None:
    app = _App()
    app.object.fail_next = 2
    before = app.namespace.stubs
    await app.client.run_after(0, TARGET)
    assert app.namespace.stubs - before == 3


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda client: client.run_after(0, TARGET), "schedule"),
        (lambda client: client.get("j"), "get"),
        (lambda client: client.list(), "list"),
        (lambda client: client.status(), "status"),
        (lambda client: client.jobs(), "jobs"),
        (lambda client: client.count(), "count"),
        (lambda client: client.dead_groups(), "dead_groups"),
    ],
)
@in_fake_time
async def test_a_scheduler_that_keeps_failing_is_unavailable_after_three_tries(
    call: Callable[[Scheduler], Awaitable[object]], method: str
) -> None:
    app = _App()
    app.object.fail_next = 100
    with pytest.raises(LunoraError, match=f"did not answer {method}") as raised:
        await call(app.client)
    assert (raised.value.code, raised.value.status) == ("SCHEDULER_UNAVAILABLE", 503)
    assert "the object was reset" not in raised.value.message
    assert app.object.calls[method] == 3


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda client: client.cancel("j"), "cancel"),
        (lambda client: client.dead_retry("j"), "redrive"),
        (lambda client: client.dead_drop("j"), "drop_dead"),
        (lambda client: client.run_now("j"), "run_now"),
    ],
)
async def test_a_call_whose_answer_would_change_is_made_once(
    call: Callable[[Scheduler], Awaitable[object]], method: str
) -> None:
    app = _App()
    app.object.fail_next = 1
    with pytest.raises(LunoraError) as raised:
        await call(app.client)
    assert raised.value.code == "SCHEDULER_UNAVAILABLE"
    assert app.object.calls[method] == 1


async def test_a_refusal_is_not_repeated() -> None:
    app = _App()
    await app.client.run_after(0, TARGET, None, RunOptions(id="j"))
    with pytest.raises(LunoraError):
        await app.client.run_after(0, TARGET, None, RunOptions(id="j"))
    assert app.object.calls["schedule"] == 2


class _Saying:
    def __init__(self, text: str) -> None:
        self._text = text

    async def status(self) -> str:
        return self._text


async def test_an_error_keeps_its_code_its_message_and_its_data() -> None:
    error = {"code": "CARD_DECLINED", "message": "no funds", "data": {"limit": 5}}
    client = Scheduler(lambda: _Saying(json.dumps({"error": error})))
    with pytest.raises(LunoraError) as raised:
        await client.status()
    assert raised.value.to_dict() == error


async def test_an_answer_that_is_not_json_is_an_error_of_ours() -> None:
    with pytest.raises(LunoraError, match="the scheduler's answer is not JSON"):
        await Scheduler(lambda: _Saying("<html>")).status()


# -- looking and steering ------------------------------------------------------------------------------------


async def test_a_job_nobody_scheduled_is_none() -> None:
    app = _App()
    assert await app.client.get("nobody") is None
    assert await app.client.cancel("nobody") is False
    assert await app.client.dead_retry("nobody") is False
    assert await app.client.dead_drop("nobody") is False


async def test_cancel_says_whether_there_was_anything_to_cancel() -> None:
    app = _App()
    await app.client.run_after(0, TARGET, None, RunOptions(id="j"))
    assert await app.client.cancel("j") is True
    assert await app.client.cancel("j") is False
    assert (await app.job("j")).state == "canceled"


async def test_a_dead_letter_is_listed_with_its_failures_retried_and_dropped() -> None:
    app = _App()
    await app.client.run_after(0, TARGET, None, RunOptions(id="j", retry=RetryPolicy(max_attempts=1)))
    app.object.bury()
    assert [job.id for job in (await app.client.dead()).jobs] == ["j"]
    job = await app.job("j")
    assert (job.state, job.attempts, job.charged) == ("dead", 2, 2)
    assert [(failure.number, failure.code) for failure in job.failures] == [
        (2, "OUTCOME_UNKNOWN"),
        (1, "OUTCOME_UNKNOWN"),
    ]
    assert await app.client.dead_retry("j") is True
    assert await app.client.dead_retry("j") is False
    retried = await app.job("j")
    assert (retried.state, retried.charged, retried.redrives) == ("pending", 0, 1)
    assert retried.incarnation != job.incarnation
    app.object.bury()
    assert await app.client.dead_drop("j") is True
    assert await app.client.get("j") is None


async def test_a_walk_goes_through_every_page() -> None:
    app = _App()
    for number in range(230):
        await app.client.run_after(number, TARGET, None, RunOptions(id=f"j{number:03}"))
    assert [job.id async for job in app.client.walk()] == [f"j{number:03}" for number in range(230)]
    page = await app.client.list(limit=7)
    assert len(page.jobs) == 7
    assert [job.id for job in (await app.client.list(cursor=page.cursor, limit=1)).jobs] == ["j007"]


async def test_jobs_are_found_counted_and_made_due() -> None:
    app = _App()
    for number in range(3):
        await app.client.run_after(
            number * 1_000, TARGET, options=RunOptions(id=f"j{number}", tags=["t"] * (number % 2))
        )
    await app.client.cancel("j2")
    page = await app.client.jobs(order="soonest", limit=2)
    assert ([job.id for job in page.jobs], page.scanned) == (["j0", "j2"], 2)
    rest = await app.client.jobs(order="soonest", limit=2, cursor=page.cursor)
    assert ([job.id for job in rest.jobs], rest.cursor) == (["j1"], None)
    assert [job.tags for job in rest.jobs] == [("t",)]
    assert await app.client.count() == JobCount(count=3, exact=True)
    assert await app.client.count(JobFilter(state="pending", tag="t")) == JobCount(count=1, exact=True)
    assert await app.client.run_now("j1")
    assert (await app.job("j1")).due == NOW
    assert not await app.client.run_now("j2")
    assert await app.client.dead_groups() == DeadGroups(groups=(), exact=True)


@pytest.mark.parametrize("wanted", [None, {}, "all", {"state": "dead"}])
async def test_a_filter_that_is_none_is_refused(wanted: Any) -> None:
    app = _App()
    for ask in (app.client.jobs, app.client.count):
        with pytest.raises(LunoraError) as raised:
            await ask(wanted)
        assert raised.value.code == "INVALID_INPUT"
    assert app.namespace.stubs == 0


async def test_the_status_is_passed_on() -> None:
    app = _App()
    await app.client.run_after(5, TARGET)
    status = await app.client.status()
    assert (status["backlog"], status["due"], status["next_due"]) == (1, 0, NOW + 5)
    assert status["origin"]["reachable"] is True


async def test_a_record_of_a_newer_release_can_be_read() -> None:
    app = _App()
    await app.client.run_after(0, TARGET, None, RunOptions(id="j"))
    answer = json.loads(await app.object.get("j"))["ok"]
    assert JobRecord.from_dict({**answer, "weight": 5}) == await app.job("j")


# -- making a client -----------------------------------------------------------------------------------------


def test_without_a_binding_the_error_says_how_to_make_one() -> None:
    with pytest.raises(LunoraError, match="bind the class as SCHEDULER") as raised:
        create_scheduler(namespace=None)
    assert raised.value.code == "SCHEDULER_NOT_CONFIGURED"


async def test_each_instance_name_has_jobs_of_its_own() -> None:
    namespace = Namespace(environment())
    one, two = (create_scheduler(namespace=namespace, instance_name=name) for name in ("one", "two"))
    for client in (one, two):
        await client.run_after(0, TARGET, None, RunOptions(id="same-id"))
    await one.cancel("same-id")
    assert [len((await client.list()).jobs) for client in (one, two)] == [0, 1]
    assert set(namespace.objects) == {"id-of-one", "id-of-two"}


async def test_the_default_instance_is_called_default_and_ids_are_minted_by_the_client() -> None:
    namespace = Namespace(environment())
    job_id = await create_scheduler(namespace=namespace).run_after(0, TARGET)
    assert len(job_id) == 16
    assert namespace.objects["id-of-default"].engine.claim(2**52)[0].attempts[0].job == job_id
