"""Waits that end in time, any number of them with a timer or two between them.

An `asyncio.timeout` of each wait's own would do anywhere else. Under Pyodide the JavaScript timer of one that was not
needed stays until it would have fired, and a Durable Object may have 10,000 timers: a minute of some hundred lines a
second used them up, and what then waited broke off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Deadlines"]


class Deadlines:
    """The deadlines of whatever one object waits for."""

    def __init__(self) -> None:
        self._limits: dict[asyncio.Timeout, float] = {}
        self._next: float | None = None

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Cancel what is done inside once so much time has passed.

        Args:
            seconds: how long it may take.

        Raises:
            TimeoutError: it took longer.

        Example:
            >>> async def wait() -> str:
            ...     try:
            ...         async with Deadlines().within(0.01):
            ...             await asyncio.sleep(60)
            ...     except TimeoutError:
            ...         return "too long"
            >>> asyncio.run(wait())
            'too long'
        """
        async with asyncio.timeout(None) as limit:
            deadline = asyncio.get_running_loop().time() + seconds
            self._limits[limit] = deadline
            self._look_at(deadline)
            try:
                yield
            finally:
                del self._limits[limit]

    def _look_at(self, time: float) -> None:
        """Have a timer for the earliest deadline. One for a later time stays, and does nothing when it fires."""
        if self._next is None or time < self._next:
            self._next = time
            asyncio.get_running_loop().call_at(time, self._look, time)

    def _look(self, time: float) -> None:
        if time != self._next:
            return
        self._next = None
        now = max(time, asyncio.get_running_loop().time())  # a timer may fire a moment early
        for limit, deadline in self._limits.items():
            if deadline <= now:
                limit.reschedule(now)
        waiting = [deadline for deadline in self._limits.values() if deadline > now]
        if waiting:
            self._look_at(min(waiting))
