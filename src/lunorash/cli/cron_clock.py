"""What fires at which minute: the part of Cloudflare that keeps the time, for a local Worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final

from lunorash.crons import CronExpression

__all__ = ["CronClock", "Missed", "Tick"]

_MINUTE: Final = timedelta(minutes=1)
_SLACK: Final = timedelta(minutes=2)
"""How far a clock may be put back and be waited for: its corrections must not make a minute fire twice."""
_MOST_MISSED: Final = 1000


@dataclass(frozen=True, slots=True)
class Missed:
    """Fires whose time has passed unseen.

    Args:
        expression: of which trigger.
        count: how many; 1,000 stands for as many or more.
        first: the first of them.
        last: the last that was counted.
    """

    expression: CronExpression
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Tick:
    """What a look at the clock brought.

    Args:
        minute: the minute that it shows, in UTC.
        due: the triggers to fire for it.
        missed: what is not caught up: the machine slept, or its clock was put forward. Cloudflare does not either.
    """

    minute: datetime
    due: tuple[CronExpression, ...] = ()
    missed: tuple[Missed, ...] = ()


class CronClock:
    """Tells each minute once, with what fires in it, however often or seldom it is asked.

    The minute in which it starts is over for it.

    Args:
        now: the time, with a time zone.

    Example:
        >>> clock = CronClock(datetime(2026, 1, 5, 7, 59, 30, tzinfo=UTC))
        >>> monday = [CronExpression.parse("0 8 * * MON")]
        >>> [len(clock.look(datetime(2026, 1, 5, 8, 0, second, tzinfo=UTC), monday).due) for second in (0, 1)]
        [1, 0]
    """

    def __init__(self, now: datetime) -> None:
        self._told = _minute(now)

    def look(self, now: datetime, triggers: Sequence[CronExpression]) -> Tick:
        """Look at the clock.

        Args:
            now: the time, with a time zone.
            triggers: what there is to fire.
        """
        minute, told = _minute(now), self._told
        if minute <= told:
            if told - minute > _SLACK:
                self._told = minute
            return Tick(minute)
        self._told = minute
        return Tick(
            minute,
            tuple(trigger for trigger in triggers if trigger.next_after(minute - _MINUTE) == minute),
            tuple(missed for trigger in triggers if (missed := _missed(trigger, told, minute))),
        )


def _minute(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(second=0, microsecond=0)


def _missed(trigger: CronExpression, after: datetime, before: datetime) -> Missed | None:
    fires = list(islice(takewhile(lambda fire: fire < before, trigger.fires_after(after)), _MOST_MISSED))
    return Missed(trigger, len(fires), fires[0], fires[-1]) if fires else None
