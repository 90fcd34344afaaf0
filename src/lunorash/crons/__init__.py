"""Recurring jobs: cron expressions in Cloudflare's dialect, and the builder an app declares its crons with."""

from lunorash.crons.builder import CronJob, CronJobs, CronOptions, cron_jobs
from lunorash.crons.english import explain
from lunorash.crons.expression import CronExpression
from lunorash.crons.schedules import compile_schedule

__all__ = ["CronExpression", "CronJob", "CronJobs", "CronOptions", "compile_schedule", "cron_jobs", "explain"]
