"""What monitoring asks for: metrics for Prometheus."""

from __future__ import annotations

from typing import Final

from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.studio.admin_token import guarded
from lunorash.studio.exposition import CONTENT_TYPE, exposition

__all__ = ["METRICS_ROUTE"]


async def _metrics(request: HttpRequest) -> HttpAnswer:
    """The metrics of the app's scheduler in Prometheus' text format."""
    answer = await request.scheduler().ask("metrics", "{}")
    text = exposition(answer["pools"], answer["status"])
    return HttpAnswer(encoded=text, headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})


METRICS_ROUTE: Final = Route(method="GET", path="/_lunora/metrics", handler=guarded(_metrics))
