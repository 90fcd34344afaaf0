"""An event loop whose time passes only while nothing can run: minutes of waiting take no time at all."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Awaitable, Callable, Mapping
from typing import ParamSpec

__all__ = ["FakeTimeLoop", "in_fake_time"]

P = ParamSpec("P")


class _Jump(selectors.SelectSelector):
    """Never waits: moves the clock of its loop instead."""

    loop: FakeTimeLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits, and nothing is left that could happen")
        self.loop.now += max(0.0, timeout)
        return super().select(0)


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at 0 s."""

    def __init__(self) -> None:
        selector = _Jump()
        selector.loop = self
        self.now = 0.0
        self.reported: list[Mapping[str, object]] = []
        super().__init__(selector)
        self.set_exception_handler(lambda _loop, context: self.reported.append(context))

    def time(self) -> float:
        """The time, in seconds."""
        return self.now


def in_fake_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run an asynchronous test on a `FakeTimeLoop`; it fails too if a task failed unseen or was left behind."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def whole() -> set[asyncio.Task[object]]:
            await test(*args, **kwargs)
            return asyncio.all_tasks() - {asyncio.current_task()}

        with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
            left = runner.run(whole())
            loop = runner.get_loop()
            assert isinstance(loop, FakeTimeLoop)
        assert not left, f"left behind: {left}"
        assert not loop.reported, f"failed unseen: {loop.reported}"

    return run
