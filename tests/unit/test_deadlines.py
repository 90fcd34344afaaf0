"""Waits that end in time, without a timer for each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lunorash.scheduler.deadlines import Deadlines

from .fake_time import in_fake_time


@in_fake_time
async def test_each_wait_ends_at_its_own_deadline() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines()

    async def wait(seconds: float, needed: float) -> tuple[bool, float]:
        try:
            async with deadlines.within(seconds):
                await asyncio.sleep(needed)
        except TimeoutError:
            return False, loop.time()
        return True, loop.time()

    ends = await asyncio.gather(wait(60, 100), wait(15, 1), wait(15, 100), wait(2, 100), wait(100, 99))
    assert [*ends] == [(False, 60.0), (True, 1.0), (False, 15.0), (False, 2.0), (True, 99.0)]


@in_fake_time
async def test_a_deadline_that_has_passed_ends_the_wait_at_once() -> None:
    with pytest.raises(TimeoutError):
        async with Deadlines().within(-1):
            await asyncio.sleep(60)
    assert asyncio.get_running_loop().time() == pytest.approx(0)


@in_fake_time
async def test_what_is_cancelled_is_not_taken_for_late() -> None:
    deadlines = Deadlines()

    async def wait() -> None:
        async with deadlines.within(60):
            await asyncio.sleep(100)

    task = asyncio.create_task(wait())
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@in_fake_time
async def test_ten_thousand_waits_share_a_few_timers() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines()
    made: list[float] = []
    call_at = loop.call_at

    def counted(when: float, *arguments: Any, **options: Any) -> asyncio.TimerHandle:
        made.append(when)
        return call_at(when, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "call_at", counted)
        for number in range(10_000):
            # what a dispatch does: its headers in 15 s, its lines in 60 s, each here at once
            async with deadlines.within(15 if number % 2 else 60):
                pass
    assert len(made) == 2
    with pytest.raises(TimeoutError):
        async with deadlines.within(20):
            await asyncio.sleep(100)
    assert loop.time() == 20.0


@in_fake_time
async def test_a_wait_that_takes_its_time_to_end_is_cancelled_once() -> None:
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    deadlines = Deadlines()

    async def stubborn() -> None:
        async with deadlines.within(1):
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(10)

    async def meanwhile() -> None:
        async with deadlines.within(5):
            await asyncio.sleep(60)

    ends = await asyncio.gather(stubborn(), meanwhile(), return_exceptions=True)
    assert [type(end) for end in ends] == [TimeoutError, TimeoutError]
    assert loop.time() == pytest.approx(11)
    assert complaints == []
