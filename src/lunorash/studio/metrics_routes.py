"""What monitoring asks for: metrics for Prometheus, and numbers by the minute."""

from __future__ import annotations

import json
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.scheduler.statistics import MAX_MINUTES
from lunorash.studio.admin_token import guarded
from lunorash.studio.asking import Asked, Told, number_of
from lunorash.studio.exposition import CONTENT_TYPE, exposition

__all__ = ["METRICS_ROUTE", "MinutesQuery", "Statistics", "get_statistics"]


async def _metrics(request: HttpRequest) -> HttpAnswer:
    """The metrics of the app's scheduler in Prometheus' text format."""
    answer = await request.scheduler().ask("metrics", "{}")
    text = exposition(answer["pools"], answer["status"])
    return HttpAnswer(encoded=text, headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})


METRICS_ROUTE: Final = Route(method="GET", path="/_lunora/metrics", handler=guarded(_metrics))
"""Where Prometheus looks for them: beside the admin API, since it is no JSON."""


class MinutesQuery(Asked):
    """How far to look back.

    Args:
        minutes: how many minutes, the one that is not over among them.
    """

    minutes: Annotated[int, Field(ge=1, le=MAX_MINUTES), BeforeValidator(number_of)] = 60


class Spread(Told):
    """How durations are spread, in milliseconds; null where there were none.

    Args:
        p50: the median, estimated.
        p99: what 99 of 100 do not exceed, estimated.
        max: the longest.
    """

    p50: int | None
    p99: int | None
    max: int | None


class Minute(Told):
    """What happened within a minute.

    Args:
        minute: when it began.
        scheduled: jobs that were stored.
        started: attempts that were claimed.
        succeeded: jobs that succeeded.
        failed: attempts that failed, or of which nobody knows how they ended.
        retries: those of them that are followed by another.
        refunds: attempts that never began, or whose function was not there.
        dead: jobs that became dead letters.
        canceled: jobs that were cancelled.
        expired: jobs that were skipped, since it was too late for them.
        redriven: dead letters that were given another chance.
        dropped: dead letters that were deleted by hand.
        lateness: from when an attempt was due until it was claimed.
        duration: from when it was claimed until it succeeded or failed.
    """

    minute: int
    scheduled: int
    started: int
    succeeded: int
    failed: int
    retries: int
    refunds: int
    dead: int
    canceled: int
    expired: int
    redriven: int
    dropped: int
    lateness: Spread
    duration: Spread


class Statistics(Told):
    """What happened in the last minutes.

    Args:
        now: the scheduler's time.
        minutes: the oldest first.
    """

    now: int
    minutes: tuple[Minute, ...]


async def get_statistics(request: HttpRequest, asked: MinutesQuery) -> HttpAnswer:
    """Tell what happened in each of the last minutes, and how late and how long attempts were."""
    return HttpAnswer(body=await request.scheduler().ask("statistics", json.dumps({"minutes": asked.minutes})))
