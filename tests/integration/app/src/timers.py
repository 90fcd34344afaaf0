"""A SchedulerDO that tells how many JavaScript timers are active in it."""

from __future__ import annotations

from typing import Any, Final

import js
from pyodide.ffi import JsException

from lunorash.server import HttpAnswer, HttpRequest, Route

__all__ = ["TIMERS", "with_timers"]

_MOST: Final = 10_000
"""What workerd allows a Durable Object."""


def with_timers(base: type[Any]) -> type[Any]:
    """The class with a way to count."""

    class SchedulerDO(base):  # type: ignore[misc]
        async def timers(self) -> int:
            """How many are active: as many as cannot be made any more."""
            made: list[Any] = []
            try:
                while len(made) < _MOST:
                    made.append(js.setTimeout(js.Date.now, 60_000))
            except JsException:
                pass
            for timer in made:
                js.clearTimeout(timer)
            return _MOST - len(made)

    return SchedulerDO


async def _timers(request: HttpRequest) -> HttpAnswer:
    namespace = request.env.SCHEDULER
    return HttpAnswer(body={"timers": await namespace.get(namespace.idFromName("default")).timers()})


TIMERS = Route(method="GET", path="/test/timers", handler=_timers)
