"""The admin API of numbers by the minute."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BeforeValidator, Field

from lunorash.http import HttpRequest
from lunorash.scheduler.statistics import MAX_MINUTES
from lunorash.studio.asking import Asked, Told, read_number

__all__ = ["Minutes", "MinutesQuery", "get_statistics"]


class MinutesQuery(Asked):
    """How far back.

    Args:
        minutes: how many, the one that is not over among them.
    """

    minutes: Annotated[int, Field(ge=1, le=MAX_MINUTES), BeforeValidator(read_number)] = 60


class Spread(Told, extra="allow"):
    """How some durations are spread, in milliseconds; null while there are none.

    Args:
        p50: half of them took no longer.
        p99: 99 in 100 took no longer.
        max: the longest.
    """

    p50: int | None
    p99: int | None
    max: int | None


class Minute(Told, extra="allow"):
    """What happened within a minute.

    Args:
        minute: when it began, in epoch milliseconds.
        scheduled: jobs that were stored.
        started: attempts that were sent.
        succeeded: jobs that succeeded.
        failed: attempts that failed, or of which nobody knows how they ended.
        dead: jobs that became dead letters.
        retries: attempts after which another was due.
        refunds: attempts that did not count.
        canceled: jobs that were cancelled.
        expired: jobs that were skipped, since it was too late.
        redriven: dead letters that got another chance.
        dropped: dead letters that were removed by hand.
        lateness: how long after they were due attempts were sent.
        duration: how long attempts took.
    """

    minute: int
    scheduled: int
    started: int
    succeeded: int
    failed: int
    dead: int
    retries: int
    refunds: int
    canceled: int
    expired: int
    redriven: int
    dropped: int
    lateness: Spread
    duration: Spread


class Minutes(Told):
    """Numbers by the minute.

    Args:
        now: the scheduler's time, in epoch milliseconds.
        minutes: the oldest first.
    """

    now: int
    minutes: tuple[Minute, ...]


async def get_statistics(request: HttpRequest, asked: MinutesQuery) -> Told:
    """Tell counts, lateness and duration of each of the last minutes."""
    return Minutes(**await request.scheduler().ask("statistics", json.dumps({"minutes": asked.minutes})))
