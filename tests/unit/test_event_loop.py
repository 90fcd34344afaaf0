"""Turns of the event loop that are spared, on a loop that counts as Pyodide's does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lunorash.event_loop import spare_turns


class _CountingLoop(asyncio.SelectorEventLoop):
    """Counts the futures that are under way when they have ended, and reports failures that nobody looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = 0
        self.turns: list[str] = []
        self.reported: list[BaseException] = []

    def create_future(self) -> asyncio.Future[Any]:
        return self._watched(asyncio.Future(loop=self))

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:  # type: ignore[override]
        return self._watched(super().create_task(coro, **options))

    def call_soon(self, callback: Callable[..., Any], *args: Any, **options: Any) -> asyncio.Handle:  # type: ignore[override]
        self.turns.append(getattr(callback, "__name__", "a wakeup"))
        return super().call_soon(callback, *args, **options)

    def _watched(self, future: asyncio.Future[Any]) -> asyncio.Future[Any]:
        self.under_way += 1
        future.add_done_callback(self._decrement_in_progress)
        return future

    def _decrement_in_progress(self, future: asyncio.Future[Any]) -> None:
        self.under_way -= 1
        if not future.cancelled() and (error := future.exception()):
            self.reported.append(error)


def _run(story: Callable[[_CountingLoop], Coroutine[Any, Any, None]]) -> _CountingLoop:
    loop = _CountingLoop()

    async def spared() -> None:
        spare_turns()
        loop.turns.clear()
        await story(loop)

    try:
        loop.run_until_complete(spared())
    finally:
        loop.close()
    return loop


def _counted(loop: _CountingLoop) -> int:
    return loop.turns.count("_decrement_in_progress")


def test_what_succeeds_is_counted_without_a_turn() -> None:
    async def story(loop: _CountingLoop) -> None:
        before = loop.under_way
        future = loop.create_future()
        task = loop.create_task(asyncio.sleep(0, "slept"))
        assert loop.under_way == before + 2
        future.set_result("heard")
        assert loop.under_way == before + 1
        assert (await future, await task) == ("heard", "slept")
        assert loop.under_way == before

    loop = _run(story)
    assert _counted(loop) == 0
    assert loop.turns, "everything else still takes its turn"


def test_a_failure_is_reported_by_the_loop_in_its_own_time() -> None:
    async def story(loop: _CountingLoop) -> None:
        future = loop.create_future()
        future.set_exception(ValueError("it broke"))
        assert loop.reported == []
        with pytest.raises(ValueError, match="it broke"):
            await future
        await asyncio.sleep(0)
        assert [str(error) for error in loop.reported] == ["it broke"]

    assert _counted(_run(story)) == 1


def test_what_is_cancelled_is_left_to_the_loop() -> None:
    async def story(loop: _CountingLoop) -> None:
        before = loop.under_way
        loop.create_future().cancel()
        assert loop.under_way == before + 1
        await asyncio.sleep(0)
        assert loop.under_way == before

    assert _counted(_run(story)) == 1


def test_a_callback_keeps_its_context_and_may_be_cancelled() -> None:
    async def story(loop: _CountingLoop) -> None:
        called: list[str] = []
        loop.call_soon(called.append, "kept")
        loop.call_soon(called.append, "taken back").cancel()
        await asyncio.sleep(0)
        assert called == ["kept"]

    _run(story)


def test_it_is_done_once_and_only_where_there_is_something_to_spare() -> None:
    async def story(loop: _CountingLoop) -> None:
        spared: Any = vars(loop)["call_soon"]
        spare_turns()
        assert vars(loop)["call_soon"] is spared

    _run(story)

    async def plain() -> None:
        spare_turns()
        assert "call_soon" not in vars(asyncio.get_running_loop())

    asyncio.run(plain())
