"""Something that can be killed: a Durable Object in memory, an isolate of the Worker.

Which process a callback belongs to stands in its context, and the loop passes over the callbacks of dead
ones: whatever they were waiting for, they never go on, and their ``finally`` blocks do not run.
"""

from __future__ import annotations

import asyncio
from asyncio import _unregister_task
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

__all__ = ["PROCESS", "Crash", "Process"]

T = TypeVar("T")

PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)

_MANY_TASKS = 64


class Crash(BaseException):
    """The process that runs this has died: it unwinds, and can no longer do anything."""


class Process:
    """A process.

    Args:
        loop: the loop it runs on.
        name: for the trace.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self.name = name
        self.alive = True
        self.deaths: list[Callable[[], None]] = []
        self._loop = loop
        self._context = copy_context()
        self._context.run(PROCESS.set, self)
        self._tasks: list[asyncio.Task[Any]] = []

    def run(self, work: Callable[[], T]) -> T:
        """Run something synchronous in this process."""
        return self._context.copy().run(work)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a task in this process."""
        self._loop.create_task(work, context=self._context.copy())

    def owns(self, task: asyncio.Task[Any]) -> None:
        """Remember a task, so that it can be buried."""
        if len(self._tasks) >= _MANY_TASKS:
            self._tasks = [known for known in self._tasks if not known.done()]
        self._tasks.append(task)

    def check(self) -> None:
        """Raise `Crash` if it is dead."""
        if not self.alive:
            raise Crash(self.name)

    def kill(self) -> None:
        """End it here and now."""
        if self.alive:
            self.alive = False
            for task in self._tasks:
                _unregister_task(task)  # it will never end, and is none of the loop's any more
            for death in self.deaths:
                death()

    def bury(self) -> None:
        """Close what was left, after the simulation: only now may ``finally`` blocks run, and touch nothing."""
        self.alive = False
        for task in self._tasks:
            _unregister_task(task)
            if not task.done():
                setattr(task, "_log_destroy_pending", False)  # noqa: B010 - it is private, and the only way
                _close(task.get_coro())


def _close(coroutine: Any) -> None:
    for _ in range(5):  # each await in a ``finally`` block takes one more
        try:
            coroutine.close()
        except BaseException:  # noqa: BLE001, S112 - the dead may say what they want
            continue
        return
