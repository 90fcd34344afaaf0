"""Waits that end in time, any number of them with a timer or two between them.

An `asyncio.timeout` of each wait's own would do anywhere else. Under Pyodide the JavaScript timer of one that was not
needed stays until it would have fired, and a Durable Object may have 10,000 timers: a minute of some hundred lines a
second used them up, and what then waited broke off.
"""

from __future__ import annotations

import asyncio
from typing import Any, Self

__all__ = ["Deadlines", "Limit"]


class Deadlines:
    """The deadlines of whatever one object waits for."""

    def __init__(self) -> None:
        self._limits: dict[Limit, float] = {}
        self._next: float | None = None

    def within(self, seconds: float) -> Limit:
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
        return Limit(self, seconds)

    def add(self, limit: Limit, deadline: float) -> None:
        """Have a limit told when its time is up."""
        self._limits[limit] = deadline
        self._look_at(deadline)

    def remove(self, limit: Limit) -> None:
        """The wait is over, or about to be."""
        self._limits.pop(limit, None)

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
        for limit in [limit for limit, deadline in self._limits.items() if deadline <= now]:
            self.remove(limit)  # a wait that was cancelled may take its time to end
            limit.end(now)
        if self._limits:
            self._look_at(min(self._limits.values()))


class Limit:
    """One wait that ends in time: use it once, with ``async with``. Made by `Deadlines.within`."""

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._deadlines = deadlines
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._deadlines.add(self, asyncio.get_running_loop().time() + self._seconds)
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self._deadlines.remove(self)
        await self._timeout.__aexit__(*raised)

    def end(self, now: float) -> None:
        """Its time is up."""
        self._timeout.reschedule(now)

    def expired(self) -> bool:
        """Whether what was done inside was cancelled because its time was up."""
        return self._timeout.expired()
