"""The crons of an app: what `cron_jobs()` is told in its sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lunorash.crons import CronJob

__all__ = ["AppCron", "triggers"]


@dataclass(frozen=True, slots=True)
class AppCron:
    """A cron job of an app.

    Args:
        job: the job.
        file: where it is declared.
        line: in which line.
        notices: what is worth a word about its expression.
    """

    job: CronJob
    file: str
    line: int
    notices: tuple[str, ...] = ()


def triggers(crons: Iterable[AppCron]) -> tuple[str, ...]:
    """The expressions of all jobs, each once: jobs of one expression share a trigger.

    Args:
        crons: the jobs, in order of their names.
    """
    return tuple(dict.fromkeys(cron.job.expression for cron in crons))
