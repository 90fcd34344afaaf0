"""The admin API of what is to come: the next fires of each cron job, and how many fire in each minute of a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final

from lunorash.crons import CronJob
from lunorash.crons.expression import CronExpression
from lunorash.http import HttpRequest
from lunorash.studio.asking import Told

__all__ = ["MAX_FIRES", "Fires", "telling_fires", "upcoming"]

_NEXT: Final = 5
_DAY: Final = timedelta(hours=24)

MAX_FIRES: Final = 5_000
"""Fires that are looked at for one answer: three expressions of every minute, and then some."""


class NextFires(Told):
    """When a cron job fires next.

    Args:
        name: its name.
        next: the next five times, epoch milliseconds; fewer if the calendar ends.
    """

    name: str
    next: tuple[int, ...]


class Fires(Told):
    """What is to come. Times are epoch milliseconds.

    Args:
        now: from when on.
        jobs: the next fires of each cron job, by name.
        minutes: each minute of the next 24 hours in which any fires, and how many do.
        truncated: whether there are so many that minutes are missing.
    """

    now: int
    jobs: tuple[NextFires, ...]
    minutes: tuple[tuple[int, int], ...]
    truncated: bool


def telling_fires(
    crons: Mapping[str, Sequence[CronJob]], clock: Callable[[], float]
) -> Callable[[HttpRequest, None], Awaitable[Told]]:
    """Make the handler.

    Args:
        crons: the app's cron jobs, by expression.
        clock: the time, in seconds since the epoch.
    """

    async def list_cron_fires(_request: HttpRequest, _asked: None) -> Told:
        """Tell when cron jobs fire next, and how many do in each minute of the next 24 hours."""
        return upcoming(crons, after=datetime.fromtimestamp(clock(), UTC))

    return list_cron_fires


def upcoming(crons: Mapping[str, Sequence[CronJob]], *, after: datetime) -> Fires:
    """When they will fire. At most `MAX_FIRES` are looked at: beyond that the answer is truncated.

    Args:
        crons: cron jobs by expression.
        after: fires strictly after it are told.

    Example:
        >>> jobs = [CronJob(name, "0 8 * * MON", "reports:weekly", {}) for name in ("bill", "report")]
        >>> told = upcoming({"0 8 * * MON": jobs}, after=datetime(2026, 1, 5, tzinfo=UTC))
        >>> told.minutes == ((1767600000000, 2),), len(told.jobs[0].next)
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
    return Fires(
        now=_ms(after),
        jobs=tuple(NextFires(name=name, next=tuple(following[name])) for name in sorted(following)),
        minutes=tuple(sorted(minutes.items())),
        truncated=truncated,
    )


def _ms(instant: datetime) -> int:
    return int(instant.timestamp() * 1000)
