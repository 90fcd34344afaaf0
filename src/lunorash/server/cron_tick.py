"""A tick: one time that a cron job is to run, and what it is known by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lunorash.codec import encode_args
from lunorash.crons import CronJob
from lunorash.crons.runs import Trigger
from lunorash.errors import LunoraError, UnavailableError
from lunorash.scheduler.job import NewJob
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.scheduler.verdict import UNAVAILABLE_RETRY_MS

__all__ = ["Tick"]

_NO_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_SLUG: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A tick. It runs as a job does, so that its effects can be recognised: under an id and an incarnation.

    Args:
        job: what is to run.
        trigger: what made it run.
        scheduled_for: when it was to run, in epoch milliseconds.
        id: the id of the job it runs as.
        incarnation: its incarnation.
    """

    job: CronJob
    trigger: Trigger
    scheduled_for: int
    id: str
    incarnation: str

    @classmethod
    def of_schedule(cls, job: CronJob, scheduled_for: int) -> Tick:
        """A tick by the clock. One that is delivered twice, which the platform may do, is the same both times.

        Example:
            >>> job = CronJob("sweep presence", "*/5 * * * *", "presence:sweep", {})
            >>> Tick.of_schedule(job, 1_800_000_000_000).id
            'cron-sweep-presence-32d4156e789c-1800000000000'
        """
        tick_id = f"{_stem(job.name)}-{scheduled_for}"
        # the same as the id: as a key it is no weaker than those that are minted, by itself neither
        return cls(job=job, trigger="cron", scheduled_for=scheduled_for, id=tick_id, incarnation=tick_id)

    @classmethod
    def by_hand(cls, job: CronJob, now: int, mint: Callable[[], str]) -> Tick:
        """A tick because a person wants it: always another.

        Args:
            job: what is to run.
            now: the time, in epoch milliseconds.
            mint: mints ids.
        """
        return cls(job=job, trigger="manual", scheduled_for=now, id=f"{_stem(job.name)}-{mint()}", incarnation=mint())

    def attempt(self) -> ReceivedAttempt:
        """The first attempt at it."""
        return ReceivedAttempt(
            job=self.id,
            incarnation=self.incarnation,
            number=1,
            target=self.job.target,
            args=self.job.args,
            scheduled_for=self.scheduled_for,
            timeout_ms=self.job.timeout_ms,
        )

    def again(self, error: LunoraError, now: int, random: Callable[[], float]) -> NewJob | None:
        """The job that tries it again, after the first wait of its policy, or after what the error asks for; None if it
        has no policy, or trying again would not help.

        The first attempt counts, unless it did not run because this deployment does not know the function: that may
        pass, and is tried every 30 s for a quarter of an hour, as it is with any job.

        Args:
            error: why the first attempt failed.
            now: the time, in epoch milliseconds.
            random: numbers in [0, 1), for the jitter.
        """
        policy = self.job.retry
        if policy is None or not error.retryable:
            return None
        unavailable = isinstance(error, UnavailableError)
        wait = UNAVAILABLE_RETRY_MS if unavailable else policy.delay_after_ms(1, error.retry_after_ms, random=random)
        return NewJob(
            id=self.id,
            incarnation=self.incarnation,
            target=self.job.target,
            args=encode_args(self.job.args),
            due=now + wait,
            retry=policy.to_dict(),
            timeout_ms=self.job.timeout_ms,
            charged=0 if unavailable else 1,
            scheduled_for=self.scheduled_for,
        )


def _stem(name: str) -> str:
    """What the ids of a cron job's ticks begin with: for the eye what the name has of letters, and a hash of it all."""
    slug = _NO_WORD.sub("-", name)[:_SLUG].strip("-").lower()
    return "-".join(filter(None, ("cron", slug, hashlib.sha256(name.encode()).hexdigest()[:12])))
