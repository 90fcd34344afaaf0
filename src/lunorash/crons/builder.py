"""The crons of an app, as they are declared."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Self, TypedDict, Unpack, get_args

from lunorash.codec import encode_args
from lunorash.crons.expression import CronExpression
from lunorash.crons.schedules import Daily, Hourly, Interval, Monthly, ScheduleKind, Weekly, compile_schedule
from lunorash.errors import LunoraError, shown
from lunorash.refs import FunctionReference, Target, target_text
from lunorash.scheduler.options import DEFAULT_TIMEOUT_MS, Delay, RunOptions
from lunorash.scheduler.retry import RetryPolicy
from lunorash.values import plain

__all__ = ["MAX_TIMEOUT_MS", "CronJob", "CronJobs", "CronOptions", "Overlap", "cron_jobs"]

Overlap = Literal["allow", "skip"]

MAX_TIMEOUT_MS: Final = 15 * 60 * 1000
"""Cloudflare ends a `scheduled` event after 15 minutes."""

_MAX_NAME: Final = 200


class CronOptions(TypedDict, total=False):
    """What can be said of a cron job beside its schedule and target, by keyword.

    ``overlap="skip"`` leaves a run out while the one before is still under way; ``"allow"``, the default, does not.
    ``timeout`` is how long a run may take, in milliseconds or as a `timedelta`, 1 ms to 15 minutes; 10 minutes if it is
    not set. With ``retry`` a run that failed is handed to the scheduler, as a job that is tried again by that policy;
    whether another run is under way then makes no difference.
    """

    overlap: Overlap
    timeout: Delay
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class CronJob:
    """One recurring job.

    Args:
        name: its name.
        expression: when it runs, a normalised cron expression.
        target: what it runs: a function's path, ``workflows.<name>`` or ``agents.<name>``.
        args: the arguments, JSON values by name.
        overlap: whether a run begins while the one before is under way.
        timeout_ms: how long a run may take, in milliseconds.
        retry: how a run that failed is tried again; None for not at all.
    """

    name: str
    expression: str
    target: str
    args: dict[str, Any] = field(hash=False)
    overlap: Overlap = "allow"
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    retry: RetryPolicy | None = None


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

    Each method takes a name, a schedule, a target and, if the target takes any, arguments; then, by keyword,
    `CronOptions`. The target is a reference to an internal function, a workflow or an agent, or a function's path. Each
    raises a `LunoraError` at once: ``CRON_NAME_INVALID`` and ``DUPLICATE_CRON_NAME``, ``CRON_SCHEDULE_INVALID`` for a
    schedule, ``CRON_EXPR_INVALID``, ``CRON_DAYS_AMBIGUOUS`` and ``CRON_NEVER_FIRES`` for an expression,
    ``CRON_TARGET_INVALID``, ``CRON_OPTION_INVALID``, and ``INVALID_INPUT`` or ``PAYLOAD_TOO_LARGE`` for arguments that
    JSON or a job cannot carry.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, CronJob] = {}

    def interval(
        self,
        name: str,
        schedule: Interval,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
        """Run every so many minutes or hours, evenly: ``{"minutes": 5}`` or ``{"hours": 6}``.

        Example:
            >>> cron_jobs().interval("sweep", {"hours": 6}, "presence:sweep").jobs()[0].expression
            '0 */6 * * *'
        """
        return self._scheduled("interval", name, schedule, target, args, options)

    def hourly(
        self,
        name: str,
        schedule: Hourly,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
        """Run once an hour: ``{"minute_utc": 17}``. A minute of its own spreads jobs away from the full hour.

        Example:
            >>> cron_jobs().hourly("rollup", {"minute_utc": 17}, "stats:rollup").jobs()[0].expression
            '17 * * * *'
        """
        return self._scheduled("hourly", name, schedule, target, args, options)

    def daily(
        self,
        name: str,
        schedule: Daily,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
        """Run once a day: ``{"hour_utc": 9, "minute_utc": 0}``.

        Example:
            >>> cron_jobs().daily("digest", {"hour_utc": 9, "minute_utc": 0}, "email:digest").jobs()[0].expression
            '0 9 * * *'
        """
        return self._scheduled("daily", name, schedule, target, args, options)

    def weekly(
        self,
        name: str,
        schedule: Weekly,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
        """Run once a week: ``{"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}``.

        Example:
            >>> monday = {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}
            >>> cron_jobs().weekly("report", monday, "reports:weekly").jobs()[0].expression
            '0 8 * * MON'
        """
        return self._scheduled("weekly", name, schedule, target, args, options)

    def monthly(
        self,
        name: str,
        schedule: Monthly,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
        """Run once a month: ``{"day": 1, "hour_utc": 0, "minute_utc": 0}``. A month without the day is passed over.

        Example:
            >>> first = {"day": 1, "hour_utc": 0, "minute_utc": 0}
            >>> cron_jobs().monthly("invoice", first, "billing:invoice").jobs()[0].expression
            '0 0 1 * *'
        """
        return self._scheduled("monthly", name, schedule, target, args, options)

    def cron(
        self,
        name: str,
        expression: str,
        target: Target,
        args: Mapping[str, Any] | None = None,
        **options: Unpack[CronOptions],
    ) -> Self:
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
        return self._add(name, parsed, target, args, options)

    def jobs(self) -> tuple[CronJob, ...]:
        """The jobs declared so far, in that order; a snapshot, whose arguments are yours to change."""
        return tuple(replace(job, args=copy.deepcopy(job.args)) for job in self._jobs.values())

    def _scheduled(  # noqa: PLR0917 - what the method was given
        self,
        kind: ScheduleKind,
        name: str,
        schedule: Any,
        target: Target,
        args: Mapping[str, Any] | None,
        options: CronOptions,
    ) -> Self:
        self._check_name(name)
        return self._add(name, compile_schedule(kind, schedule, job=name), target, args, options)

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

    def _add(self, name: str, expression: CronExpression, target: Any, args: Any, options: CronOptions) -> Self:
        what = f"args of the cron job {shown(name)}"
        encoded = encode_args(plain({} if args is None else args, what), what=what)
        self._jobs[name] = CronJob(
            name, expression.normalized, _target_text(name, target), json.loads(encoded), **_options(name, options)
        )
        return self


def _options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as a `CronJob` has them."""
    for option, value in options.items():
        if option not in CronOptions.__annotations__:
            known = ", ".join(CronOptions.__annotations__)
            raise _refused(name, f"there is no option {shown(option)}; there is {known}")
        if option == "overlap" and value not in get_args(Overlap):
            raise _refused(name, f'overlap is {shown(value)}; it must be "allow" or "skip"')
    try:
        run = RunOptions(timeout=options.get("timeout"), retry=options.get("retry"))
    except LunoraError as error:
        raise _refused(name, error.message) from None
    if run.timeout_ms > MAX_TIMEOUT_MS:
        raise _refused(
            name,
            f"timeout is {shown(options['timeout'])}; Cloudflare ends a cron's run after 15 minutes. For longer work "
            "let the cron schedule a job with ctx.scheduler.run_after, or start a workflow",
        )
    return {"overlap": options.get("overlap", "allow"), "timeout_ms": run.timeout_ms, "retry": run.retry}


def _refused(name: str, why: str) -> LunoraError:
    return LunoraError("CRON_OPTION_INVALID", f"the cron job {shown(name)}: {why}")


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
