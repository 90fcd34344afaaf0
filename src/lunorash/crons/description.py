"""A cron job as it is shown: by the admin API, and by the command line that reads it from the sources."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from lunorash.crons.builder import CronJob
from lunorash.crons.english import explain
from lunorash.crons.expression import CronExpression
from lunorash.crons.runs import CronRun

__all__ = ["describe"]


def describe(job: CronJob, *, after: datetime, last_run: CronRun | None = None) -> dict[str, Any]:
    """Describe a cron job, as JSON values.

    Args:
        job: the job.
        after: its next fire is the first one strictly after it.
        last_run: what it did last, where that is known.

    Example:
        >>> from datetime import UTC
        >>> job = CronJob("report", "0 8 * * MON", "reports:weekly", {})
        >>> told = describe(job, after=datetime(2026, 1, 1, tzinfo=UTC))
        >>> told["english"], told["next"]
        ('Every Monday at 08:00 UTC', '2026-01-05T08:00:00Z')
    """
    expression = CronExpression.parse(job.expression)
    following = expression.next_after(after)
    return {
        "name": job.name,
        "cron": job.expression,
        "english": explain(expression),
        "target": job.target,
        "args": job.args,
        "overlap": job.overlap,
        "timeout_ms": job.timeout_ms,
        "retry": None if job.retry is None else job.retry.to_dict(),
        "next": None if following is None else f"{following:%Y-%m-%dT%H:%M:%SZ}",
        "last_run": None if last_run is None else last_run.to_dict(),
    }
