from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.refs import WorkflowReference
from lunorash.scheduler import JobCall, RunOptions, Scheduler

from .fake_time import in_fake_time
from .scheduler_object import NOW, Namespace, SchedulerObject, environment

TARGET = "billing:end_trial"
FLOW = WorkflowReference("onboarding", "ONBOARDING")


async def end_trial(ctx: Any, user_id: str = "u") -> None: ...


class _App:
    def __init__(self, **variables: Any) -> None:
        self.namespace = Namespace(environment(**variables))
        numbers = count(1)
        self.client = Scheduler(
            lambda: self.namespace.default,
            catalog=FunctionTable({TARGET: end_trial}),
            now=lambda: NOW,
            mint=lambda: f"m{next(numbers)}",
        )

    @property
    def object(self) -> SchedulerObject:
        return self.namespace.default

    def stored(self) -> dict[str, int]:
        """When each job is due, after `NOW`."""
        rows = self.object.store.execute("SELECT id, due FROM jobs ORDER BY id")
        return {row["id"]: row["due"] - NOW for row in rows}


def _codes(answers: list[str | LunoraError]) -> list[str]:
    return [answer.code if isinstance(answer, LunoraError) else answer for answer in answers]


async def test_many_calls_are_one_and_answered_in_their_order() -> None:
    app = _App()
    calls = [
        JobCall(TARGET),
        JobCall(TARGET, {"user_id": "u2"}, delay=timedelta(seconds=1)),
        JobCall(TARGET, MappingProxyType({}), at=datetime.fromtimestamp(NOW / 1000 + 2, UTC)),
        JobCall(TARGET, at=NOW - 5, options=RunOptions(id="own", pool="imports", priority=3)),
        JobCall(FLOW, {"any": 1}, delay=0.5),
    ]
    ids = await app.client.schedule_many(calls)
    assert ids == ["m1-000", "m1-001", "m1-002", "own", "m1-004"]
    assert app.stored() == {"m1-000": 0, "m1-001": 1_000, "m1-002": 2_000, "m1-004": 1, "own": -5}
    assert app.object.calls == {"schedule_many": 1}
    own = await app.client.get("own")
    assert own is not None
    assert (own.pool, own.priority, own.incarnation) == ("imports", 3, "m1-003")


async def test_each_is_answered_by_itself() -> None:
    app = _App()
    await app.client.run_after(0, TARGET, options=RunOptions(id="taken"))
    calls: list[JobCall] = [
        JobCall(TARGET, options=RunOptions(id="taken")),
        JobCall("billing:nobody"),
        JobCall(TARGET, {"user": 1}),
        JobCall(TARGET),
        JobCall(TARGET, {"user_id": {1}}),
        JobCall(TARGET, delay=-1),
        JobCall(TARGET, delay=5, at=NOW),
        JobCall(TARGET, at=datetime(2026, 1, 1)),  # noqa: DTZ001
        JobCall(TARGET, {"user_id": "x" * 1_000_001}),
        JobCall("no path!"),
        JobCall(TARGET, options=RunOptions(priority=1)),
        JobCall(TARGET, options={"id": "x"}),  # type: ignore[arg-type]
        JobCall(TARGET, options=RunOptions(id="own")),
        JobCall(TARGET, options=RunOptions(id="own")),
    ]
    answers = await app.client.schedule_many(calls)
    bad = "INVALID_INPUT"
    assert _codes(answers) == [
        *("DUPLICATE_SCHEDULE_ID", "FUNCTION_NOT_FOUND", bad, "m2-003"),
        *(bad, bad, bad, bad, "PAYLOAD_TOO_LARGE", bad, bad, bad, "own", "DUPLICATE_SCHEDULE_ID"),
    ]
    assert set(app.stored()) == {"taken", "m2-003", "own"}
    assert "give one of them" in str(answers[6])


async def test_nothing_is_asked_for_when_there_is_nothing_to_store() -> None:
    app = _App()
    assert await app.client.schedule_many([]) == []
    assert _codes(await app.client.schedule_many([JobCall("billing:nobody")] * 2)) == ["FUNCTION_NOT_FOUND"] * 2
    assert app.namespace.stubs == 0


@pytest.mark.parametrize("calls", [None, 5, "calls", b"calls", {"a": 1}, iter(()), ["billing:end_trial"], [None]])
async def test_what_is_no_list_of_calls_is_refused_as_a_whole(calls: Any) -> None:
    app = _App()
    with pytest.raises(LunoraError) as raised:
        await app.client.schedule_many(calls)
    assert raised.value.code == "INVALID_INPUT"
    assert app.namespace.stubs == 0


async def test_one_call_is_bounded() -> None:
    app = _App()
    for calls in ([JobCall(TARGET)] * 1_001, [JobCall(FLOW, {"a": "x" * 900_000})] * 9):
        with pytest.raises(LunoraError) as raised:
            await app.client.schedule_many(calls)
        assert raised.value.code == "PAYLOAD_TOO_LARGE"
    assert app.namespace.stubs == 0
    assert len(await app.client.schedule_many([JobCall(FLOW, {"a": "x" * 900_000})] * 8)) == 8
    assert await app.client.schedule_many([JobCall(TARGET)] * 1_000) == [f"m3-{number:03}" for number in range(1_000)]


@pytest.mark.parametrize("landed", [False, True])
@in_fake_time
async def test_a_call_that_broke_is_made_again_and_stores_nothing_twice(landed: bool) -> None:
    app = _App()
    app.object.fail_next, app.object.fail_after_it_landed = 2, landed
    calls = [JobCall(TARGET), JobCall("billing:nobody"), JobCall(TARGET, options=RunOptions(id="own"))]
    assert _codes(await app.client.schedule_many(calls)) == ["m1-000", "FUNCTION_NOT_FOUND", "own"]
    assert set(app.stored()) == {"m1-000", "own"}
    assert app.object.calls["schedule_many"] == 3


async def test_a_deployment_that_is_not_set_up_says_so_once() -> None:
    for setting, code in (
        ("LUNORA_ORIGIN_URL", "ORIGIN_NOT_CONFIGURED"),
        ("LUNORA_SCHEDULER_SECRET", "SCHEDULER_SECRET_NOT_CONFIGURED"),
    ):
        app = _App(**{setting: None})
        with pytest.raises(LunoraError) as raised:
            await app.client.schedule_many([JobCall(TARGET)])
        assert raised.value.code == code
        assert app.stored() == {}


async def test_jobs_that_fall_due_together_start_in_the_order_of_the_calls() -> None:
    app = _App()
    ids = await app.client.schedule_many([JobCall(TARGET)] * 20)
    started: list[str] = []
    while len(started) < len(ids) and (dispatches := app.object.engine.claim(NOW)):
        started += [attempt.job for dispatch in dispatches for attempt in dispatch.attempts]
    assert len(started) > 5
    assert started == ids[: len(started)]
