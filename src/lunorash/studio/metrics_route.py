"""What monitoring asks for: metrics for Prometheus, and numbers by the minute."""

from __future__ import annotations

import json
from typing import Final

from lunorash.errors import LunoraError, shown
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.scheduler.statistics import MAX_MINUTES
from lunorash.studio.admin_token import guarded
from lunorash.studio.exposition import CONTENT_TYPE, exposition

__all__ = ["METRICS_ROUTES"]

_DEFAULT_MINUTES: Final = "60"


async def _metrics(request: HttpRequest) -> HttpAnswer:
    """The metrics of the app's scheduler in Prometheus' text format."""
    answer = await request.scheduler().ask("metrics", "{}")
    text = exposition(answer["pools"], answer["status"])
    return HttpAnswer(encoded=text, headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})


async def _statistics(request: HttpRequest) -> HttpAnswer:
    """Counts, lateness and duration of each of the last ``?minutes=``, 60 unless it says so."""
    text = request.parameter("minutes") or _DEFAULT_MINUTES
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise LunoraError(
            "INVALID_INPUT", f"minutes is {shown(text)}; it must be a whole number from 1 to {MAX_MINUTES:,}"
        )
    return HttpAnswer(body=await request.scheduler().ask("statistics", json.dumps({"minutes": int(text)})))


METRICS_ROUTES: Final = (
    Route(method="GET", path="/_lunora/metrics", handler=guarded(_metrics)),
    Route(method="GET", path="/_lunora/admin/v1/scheduled/statistics", handler=guarded(_statistics)),
)
