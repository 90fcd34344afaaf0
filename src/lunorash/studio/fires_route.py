"""When cron jobs will fire: each one's next times, and how many fire in each minute of the next day."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any, Final

from lunorash.crons import CronJob
from lunorash.crons.expression import CronExpression
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.studio.admin import guarded

__all__ = ["MAX_FIRES", "fires_route", "upcoming"]

_NEXT: Final = 5
_DAY: Final = timedelta(hours=24)

MAX_FIRES: Final = 5_000
"""Fires that are looked at for one answer: three expressions of every minute, and then some."""


def fires_route(crons: Mapping[str, Sequence[CronJob]], *, clock: Callable[[], float] = time.time) -> Route:
    """Make the route.

    Args:
        crons: the app's cron jobs, by expression.
        clock: the time, in seconds since the epoch.
    """

    async def fires(_request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(body=upcoming(crons, after=datetime.fromtimestamp(clock(), UTC)))

    return Route(method="GET", path="/_lunora/admin/v1/cron-jobs/fires", handler=guarded(fires))


def upcoming(crons: Mapping[str, Sequence[CronJob]], *, after: datetime) -> dict[str, Any]:
    """When they will fire, as JSON values; times are epoch milliseconds.

    Args:
        crons: cron jobs by expression.
        after: fires strictly after it are told.

    Returns:
        ``{"now", "jobs": [{"name", "next": [...]}], "minutes": [[minute, jobs], ...], "truncated"}``: of each job the
        next five fires, and for each minute of the next 24 hours in which any fire how many jobs do. It is truncated if
        there are more than `MAX_FIRES`; then minutes are missing.

    Example:
        >>> jobs = [CronJob(name, "0 8 * * MON", "reports:weekly", {}) for name in ("bill", "report")]
        >>> told = upcoming({"0 8 * * MON": jobs}, after=datetime(2026, 1, 5, tzinfo=UTC))
        >>> told["minutes"] == [[1767600000000, 2]], len(told["jobs"][0]["next"])
        (True, 5)
    """
    following: dict[str, list[int]] = {}
    minutes: Counter[int] = Counter()
    looked_at, truncated = 0, False
    for text, jobs in sorted(crons.items()):
        expression = CronExpression.parse(text)
        nearest = [_ms(fire) for fire in islice(expression.fires_after(after), _NEXT)]
        following.update((job.name, nearest) for job in jobs)
        day = takewhile(lambda fire: fire <= after + _DAY, expression.fires_after(after))
        for fire in islice(day, MAX_FIRES - looked_at):
            looked_at += 1
            minutes[_ms(fire)] += len(jobs)
        truncated = truncated or looked_at == MAX_FIRES
    return {
        "now": _ms(after),
        "jobs": [{"name": name, "next": following[name]} for name in sorted(following)],
        "minutes": [list(minute) for minute in sorted(minutes.items())],
        "truncated": truncated,
    }


def _ms(instant: datetime) -> int:
    return int(instant.timestamp() * 1000)
