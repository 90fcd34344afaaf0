"""The crons of an app, as they are declared."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from lunorash.codec import encode_args
from lunorash.crons.expression import CronExpression
from lunorash.crons.schedules import Daily, Hourly, Interval, Monthly, ScheduleKind, Weekly, compile_schedule
from lunorash.errors import LunoraError, shown
from lunorash.refs import FunctionReference, Target, target_text
from lunorash.values import plain

__all__ = ["CronJob", "CronJobs", "cron_jobs"]

_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class CronJob:
    """One recurring job.

    Args:
        name: its name.
        expression: when it runs, a normalised cron expression.
        target: what it runs: a function's path, ``workflows.<name>`` or ``agents.<name>``.
        args: the arguments, JSON values by name.
    """

    name: str
    expression: str
    target: str
    args: dict[str, Any] = field(hash=False)


def cron_jobs() -> CronJobs:
    """Begin to declare crons.

    Example:
        >>> crons = cron_jobs()
        >>> _ = crons.interval("sweep presence", {"minutes": 5}, "presence:sweep", {"room_id": "lobby"})
        >>> _ = crons.weekly("report", {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}, "reports:weekly")
        >>> for job in crons.jobs():
        ...     print(job.expression, job.target, job.args)
        */5 * * * * presence:sweep {'room_id': 'lobby'}
        0 8 * * MON reports:weekly {}
    """
    return CronJobs()


class CronJobs:
    """Declares recurring jobs, in UTC; every method returns the builder. Made by `cron_jobs`.

    Each method takes a name, a schedule, a target and, if the target takes any, arguments. The target is a reference to
    an internal function, a workflow or an agent, or a function's path. Each raises a `LunoraError` at once:
    ``CRON_NAME_INVALID`` and ``DUPLICATE_CRON_NAME``, ``CRON_SCHEDULE_INVALID`` for a schedule, ``CRON_EXPR_INVALID``,
    ``CRON_DAYS_AMBIGUOUS`` and ``CRON_NEVER_FIRES`` for an expression, ``CRON_TARGET_INVALID``, and ``INVALID_INPUT``
    or ``PAYLOAD_TOO_LARGE`` for arguments that JSON or a job cannot carry.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, CronJob] = {}

    def interval(self, name: str, schedule: Interval, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run every so many minutes or hours, evenly: ``{"minutes": 5}`` or ``{"hours": 6}``.

        Example:
            >>> cron_jobs().interval("sweep", {"hours": 6}, "presence:sweep").jobs()[0].expression
            '0 */6 * * *'
        """
        return self._scheduled("interval", name, schedule, target, args)

    def hourly(self, name: str, schedule: Hourly, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run once an hour: ``{"minute_utc": 17}``. A minute of its own spreads jobs away from the full hour.

        Example:
            >>> cron_jobs().hourly("rollup", {"minute_utc": 17}, "stats:rollup").jobs()[0].expression
            '17 * * * *'
        """
        return self._scheduled("hourly", name, schedule, target, args)

    def daily(self, name: str, schedule: Daily, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run once a day: ``{"hour_utc": 9, "minute_utc": 0}``.

        Example:
            >>> cron_jobs().daily("digest", {"hour_utc": 9, "minute_utc": 0}, "email:digest").jobs()[0].expression
            '0 9 * * *'
        """
        return self._scheduled("daily", name, schedule, target, args)

    def weekly(self, name: str, schedule: Weekly, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run once a week: ``{"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}``.

        Example:
            >>> monday = {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}
            >>> cron_jobs().weekly("report", monday, "reports:weekly").jobs()[0].expression
            '0 8 * * MON'
        """
        return self._scheduled("weekly", name, schedule, target, args)

    def monthly(self, name: str, schedule: Monthly, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run once a month: ``{"day": 1, "hour_utc": 0, "minute_utc": 0}``. A month without the day is passed over.

        Example:
            >>> first = {"day": 1, "hour_utc": 0, "minute_utc": 0}
            >>> cron_jobs().monthly("invoice", first, "billing:invoice").jobs()[0].expression
            '0 0 1 * *'
        """
        return self._scheduled("monthly", name, schedule, target, args)

    def cron(self, name: str, expression: str, target: Target, args: Mapping[str, Any] | None = None) -> Self:
        """Run by a cron expression in Cloudflare's dialect; see `CronExpression.parse`.

        Example:
            >>> cron_jobs().cron("payroll", "0 6 LW * *", "payroll:run").jobs()[0].expression
            '0 6 LW * *'
        """
        self._check_name(name)
        try:
            parsed = CronExpression.parse(expression).that_fires()
        except LunoraError as error:
            raise LunoraError(error.code, f"the cron job {shown(name)}: {error.message}") from None
        return self._add(name, parsed, target, args)

    def jobs(self) -> tuple[CronJob, ...]:
        """The jobs declared so far, in that order; a snapshot, whose arguments are yours to change."""
        return tuple(replace(job, args=copy.deepcopy(job.args)) for job in self._jobs.values())

    def _scheduled(
        self, kind: ScheduleKind, name: str, schedule: Any, target: Target, args: Mapping[str, Any] | None
    ) -> Self:
        self._check_name(name)
        return self._add(name, compile_schedule(kind, schedule, job=name), target, args)

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not name.strip():
            raise LunoraError("CRON_NAME_INVALID", f"the name of a cron job is {shown(name)}; it must not be blank")
        if len(name) > _MAX_NAME or not name.isprintable() or name != name.strip():
            raise LunoraError(
                "CRON_NAME_INVALID",
                f"the name of a cron job is {shown(name)}; it must be at most {_MAX_NAME} printable characters, "
                "without spaces around it",
            )
        if name in self._jobs:
            raise LunoraError(
                "DUPLICATE_CRON_NAME",
                f"there are two cron jobs named {shown(name)}; a run is known by its job's name, so give one another",
            )

    def _add(self, name: str, expression: CronExpression, target: Any, args: Any) -> Self:
        what = f"args of the cron job {shown(name)}"
        encoded = encode_args(plain({} if args is None else args, what), what=what)
        self._jobs[name] = CronJob(name, expression.normalized, _target_text(name, target), json.loads(encoded))
        return self


def _target_text(name: str, target: Any) -> str:
    """What a job is to run, as text."""
    if isinstance(target, FunctionReference) and not target.internal:
        raise LunoraError(
            "CRON_TARGET_INVALID",
            f"the cron job {shown(name)} runs {shown(target.path)}, which is public: anyone may call it, and a cron "
            "calls it for nobody. Make it internal, such as @internal_mutation, and write internal instead of api",
        )
    try:
        return target_text(target)
    except LunoraError as error:
        raise LunoraError(
            "CRON_TARGET_INVALID",
            f"the cron job {shown(name)}: {error.message}. A reference will do too: internal.billing.charge, "
            "workflows.onboarding, agents.support",
        ) from None
