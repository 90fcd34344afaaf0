"""An event loop whose time is virtual: when nothing is ready, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

from .process import PROCESS, Process

__all__ = ["Deadlock", "Endless", "VirtualLoop"]

T = TypeVar("T")

_MANY_CANCELLED = 200
_MOST_STEPS = 1_500_000


class Deadlock(Exception):  # noqa: N818 - it is what happened
    """Nothing is ready and no timer is set: nothing would ever happen again."""


class Endless(Exception):  # noqa: N818
    """So much has happened that it will not end."""


class VirtualLoop(asyncio.BaseEventLoop):
    """The loop.

    Args:
        shuffle: puts the timers that fall due at the same instant in an order. What is ready otherwise keeps
            the order that asyncio promises.
    """

    _ready: Any
    _timer_cancelled_count: int

    def __init__(self, shuffle: Callable[[list[Any]], None]) -> None:
        super().__init__()
        self._elapsed = 0.0
        self._shuffle = shuffle
        self._steps = 0
        self._timers: list[tuple[float, int, Any]] = []
        """By their time and number, since tuples compare faster than timers do."""
        self._numbers = itertools.count()

    @property
    def steps(self) -> int:
        """How many callbacks have run."""
        return self._steps

    def time(self) -> float:
        """Seconds since the beginning."""
        return self._elapsed

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """Do something in the next turn."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Do something after so many seconds."""
        return self.call_at(self._elapsed + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Do something at a time."""
        timer: Any = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        timer._scheduled = True
        return timer  # type: ignore[no-any-return]

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Start a task, which belongs to the process of its context."""
        task = super().create_task(coro, name=name, context=context)
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is not None:
            process.owns(task)
        return task

    def _write_to_self(self) -> None:
        """There are no other threads to be woken by."""

    def _run_once(self) -> None:
        ready = self._ready
        if self._timer_cancelled_count > _MANY_CANCELLED and self._timer_cancelled_count * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if not timer[2]._cancelled]
            heapq.heapify(self._timers)
            self._timer_cancelled_count = 0
        if not ready:
            self._jump()
        self._steps += len(ready)
        if self._steps > _MOST_STEPS:
            raise Endless
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            process: Process | None = handle._context.get(PROCESS)
            if process is None or process.alive:
                handle._run()

    def _jump(self) -> None:
        timers = self._timers
        due: list[Any] = []
        while timers and (not due or timers[0][0] <= self._elapsed):
            when, _, timer = heapq.heappop(timers)
            timer._scheduled = False
            if timer._cancelled:
                self._timer_cancelled_count -= 1
                continue
            self._elapsed = max(self._elapsed, when)
            due.append(timer)
        if not due:
            raise Deadlock
        if len(due) > 1:
            self._shuffle(due)
        self._ready.extend(due)
