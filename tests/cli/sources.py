"""Cron jobs as codegen finds them in an app's sources."""

from __future__ import annotations

from lunorash.codegen.crons import AppCron
from lunorash.crons import CronExpression, CronJob
from lunorash.scheduler import RetryPolicy

__all__ = ["DIGEST", "SWEEP", "WEEKLY", "cron"]


def cron(name: str, expression: str, target: str = "presence:sweep") -> AppCron:
    parsed = CronExpression.parse(expression)
    return AppCron(CronJob(name, parsed.normalized, target, {}), "lunora/crons.py", 7, parsed.notices)


SWEEP = cron("sweep presence", "*/5 * * * *")
WEEKLY = cron("report", "0 8 * * 2", "reports:weekly")
DIGEST = AppCron(
    CronJob(
        "digest", "*/5 * * * *", "email:digest", {"to": "all"}, "skip", 60_000, RetryPolicy(max_attempts=2, base_ms=100)
    ),
    "lunora/crons.py",
    9,
)
