"""What the clocks of the world show: virtual time, by how far they have been set, and by how far one differs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from .faults import EPOCH_MS

__all__ = ["Clock"]

_APART_MS: Final = 3_600_000


class Clock:
    """The clocks.

    Args:
        loop: virtual time, which never jumps.
        apart: whether the Worker's clock is an hour off now.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, apart: Callable[[float], bool]) -> None:
        self._loop = loop
        self._apart = apart
        self._set_by = 0
        self._jumped_at = -1

    def now(self) -> int:
        """What the objects see, in epoch milliseconds."""
        return self.steady() + self._set_by

    def workers(self) -> int:
        """What the Worker and its callers see, in epoch milliseconds."""
        return self.now() + (_APART_MS if self._apart(self._loop.time()) else 0)

    def steady(self) -> int:
        """What a clock shows that was never set, in epoch milliseconds."""
        return EPOCH_MS + int(self._loop.time() * 1000 + 0.001)

    def seconds_until(self, at: int) -> float:
        """How long it takes until the objects see this time, if no clock jumps."""
        return (at - EPOCH_MS - self._set_by) / 1000 - self._loop.time()

    def jump(self, by_ms: int) -> None:
        """Set all clocks forward or back."""
        self._set_by += by_ms
        self._jumped_at = self.steady()

    def jumped_since(self, steady: int) -> bool:
        """Whether a clock has jumped since a steady time."""
        return self._jumped_at >= steady
