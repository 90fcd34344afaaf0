"""A SchedulerDO that shows which of its statistics have been written; asking for them properly would write them."""

from __future__ import annotations

from typing import Any

from lunorash.codec import decode_json
from lunorash.server import HttpAnswer, HttpRequest, Route

__all__ = ["KEPT_STATISTICS", "with_kept_statistics"]


def with_kept_statistics(base: type[Any]) -> type[Any]:
    """The class with a way to look."""

    class SchedulerDO(base):  # type: ignore[misc]
        async def kept_statistics(self) -> str:
            """The totals by pool, JSON text, as they stand in the table."""
            rows = self._store.execute("SELECT counts FROM statistics WHERE minute = 0")
            return str(rows[0]["counts"]) if rows else "{}"

    return SchedulerDO


async def _kept(request: HttpRequest) -> HttpAnswer:
    namespace = request.env.SCHEDULER
    text = await namespace.get(namespace.idFromName("default")).kept_statistics()
    return HttpAnswer(body=decode_json(text))


KEPT_STATISTICS = Route(method="GET", path="/test/kept-statistics", handler=_kept)
