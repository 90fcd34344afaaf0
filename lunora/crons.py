"""Cron jobs: what runs on a calendar, in UTC. `lunora codegen` reads them off this file."""

from __future__ import annotations

from datetime import timedelta

from lunora._generated.agents import agents
from lunora._generated.internal import internal
from lunorash.scheduler import RetryPolicy
from lunorash.server import cron_jobs

crons = cron_jobs()

crons.interval("tidy presence", {"minutes": 30}, internal.presence.tidy, {"gone_for_minutes": 10}, overlap="skip")

crons.daily(
    "digest",
    {"hour_utc": 9, "minute_utc": 17},  # a minute of its own: at the full hour everybody's jobs run
    internal.digest.send,
    {"to": "team@example.com"},
    timeout=timedelta(minutes=2),
)

crons.weekly(
    "forget trials",
    {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0},
    internal.trials.forget,
    {"after_days": 90},
    retry=RetryPolicy(max_attempts=3, base_ms=5 * 60 * 1000),
)

# the last workday of each month
crons.cron(
    "review", "0 6 LW * *", agents.support, {"user_id": "team", "question": "What did users ask most this month?"}
)
