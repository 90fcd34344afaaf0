"""Tells those who watch that something has changed, in small notices and a few a second at most.

What has changed is not told: whoever wants to know asks, and sees no more than a page of it. So a notice costs the same
whatever happens, and nothing at all while nobody watches.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Final, Protocol

__all__ = ["EXPIRED", "MAX_WATCHERS", "PAUSE_S", "Live", "Watcher"]

PAUSE_S: Final = 0.3
"""How long changes are gathered before they are told: three notices a second at most."""

MAX_WATCHERS: Final = 100

EXPIRED: Final = 4001
"""The code with which a connection ends when its session has."""


class Watcher(Protocol):
    """A connection."""

    @property
    def until(self) -> int:
        """When its session ends, in epoch milliseconds."""

    def send(self, text: str) -> None:
        """Send a notice; a connection that has broken may raise nothing."""

    def close(self, code: int, reason: str) -> None:
        """End it."""


class Live:
    """The notices of one SchedulerDO.

    Args:
        watchers: who watches now. They outlast the object's memory, so they are asked for and not kept.
        clock: the time, in epoch milliseconds.
    """

    def __init__(self, watchers: Callable[[], Sequence[Watcher]], clock: Callable[[], int]) -> None:
        self._watchers = watchers
        self._clock = clock
        self._watched = False
        self._told_later = False

    def look(self) -> None:
        """Somebody may have begun to watch."""
        self._watched = bool(self._watchers())

    def changed(self) -> None:
        """Something has changed: those who watch are told of it soon."""
        if self._watched and not self._told_later:
            self._told_later = True
            asyncio.get_running_loop().call_later(PAUSE_S, self._tell)

    def _tell(self) -> None:
        self._told_later = False
        now, watchers = self._clock(), self._watchers()
        self._watched = bool(watchers)
        notice = json.dumps({"changed": now})
        for watcher in watchers:
            if watcher.until <= now:
                watcher.close(EXPIRED, "the session has ended")
            else:
                watcher.send(notice)
