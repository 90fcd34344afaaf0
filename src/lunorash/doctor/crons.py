"""Whether the Cron Triggers are those of the app, mean what people think they mean, and are not too many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lunorash.codegen.cron_notices import FREE_TRIGGERS, PAID_TRIGGERS
from lunorash.config.wrangler import decode_wrangler
from lunorash.crons import CronExpression
from lunorash.crons.notices import WeekdayNotice
from lunorash.doctor.environment import Environment, environments
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, kebab, noted, passed, warned
from lunorash.errors import LunoraError, shown

__all__ = [
    "check_cron_notices",
    "check_cron_targets",
    "check_trigger_count",
    "check_triggers_in_sync",
]


def check_cron_targets(evidence: Evidence) -> Iterator[Finding]:
    """``cron-targets-internal``; a target that is not is among the problems of the sources, ``cron-target-invalid``."""
    if evidence.has_app and evidence.generation.crons and not evidence.generation.diagnostics:
        targets = sorted({cron.job.target for cron in evidence.generation.crons})
        yield passed("cron-targets-internal", f"crons run what only the app may call: {', '.join(targets)}")


def check_triggers_in_sync(evidence: Evidence) -> Iterator[Finding]:
    """``triggers-stale``: ``triggers.crons`` is not what codegen would write; ``wrangler-stale`` for anything else."""
    if not evidence.has_app or evidence.generation.diagnostics or evidence.config_file is None:
        return
    try:
        reconciled = evidence.reconciled
    except LunoraError as error:
        if error.code != "ENTRY_UNREADABLE":
            raise
        return  # the check of exports tells it
    for notice in reconciled.notices:
        # those of the sources, and exports, have checks of their own
        if notice not in evidence.generation.notices and notice.code != "CLASS_NOT_EXPORTED":
            yield warned(kebab(notice.code), f"{notice.file}:{notice.line}: {notice.message}", "see there")
    changes = {change.file: change.after for change in reconciled.changes if change not in evidence.generation.changes}
    if not changes:
        if reconciled.triggers:
            yield passed("triggers-in-sync", "triggers.crons has what the app's crons need")
        return
    after = changes.get(evidence.config_file.name)
    wanted = evidence.config if after is None else decode_wrangler(evidence.config_file, after)
    stale = False
    for now, then in zip(environments(evidence.config), environments(wanted), strict=True):
        missing = [cron for cron in then.crons if cron not in now.crons]
        surplus = [cron for cron in now.crons if cron not in then.crons]
        if missing or surplus:
            stale = True
            told = [f"lacks {_listed(missing)}"] if missing else []
            told += [f"has {_listed(surplus)} of a job that is gone"] if surplus else []
            yield failed("triggers-stale", f"triggers.crons {now.where} {' and '.join(told)}", "run `lunora codegen`")
    if not stale:
        yield failed(
            "wrangler-stale",
            f"{' and '.join(changes)} {'is' if len(changes) == 1 else 'are'} not as `lunora codegen` would have it",
            "run `lunora codegen`; `lunora codegen --check` shows the difference",
        )


def check_cron_notices(evidence: Evidence) -> Iterator[Finding]:
    """``cron-refused`` for what Cloudflare would not take, ``cron-numeric-weekday``, and ``cron-notice``.

    Somebody may have deployed an expression that we would not write: ``cron-days-ambiguous``, ``cron-never-fires``.
    """
    told: set[str] = set()
    if evidence.has_app:
        for cron in evidence.generation.crons:
            for notice in cron.notices:
                yield _notice(notice, f"{cron.file}:{cron.line}: the cron job {shown(cron.job.name)}")
    generated = set(evidence.generation.triggers) if evidence.has_app else set()
    for environment in evidence.environments:
        for text in environment.crons:
            if text not in generated and text not in told:
                told.add(text)
                yield from _read(text, environment)


def check_trigger_count(evidence: Evidence) -> Iterator[Finding]:
    """``cron-triggers-many``: more than the free plan has; ``cron-triggers-too-many``: more than any plan has."""
    wanted = evidence.generation.triggers if evidence.has_app else ()
    for environment in evidence.environments:
        count = len({*environment.crons, *wanted})
        plans = f"an account has {FREE_TRIGGERS} on the free plan and {PAID_TRIGGERS} on the paid one, over all Workers"
        if environment.name is not None and environment.own.get("triggers") is None:
            # those of the top level, told there
            continue
        if count > PAID_TRIGGERS:
            yield failed(
                "cron-triggers-too-many",
                f"{count} Cron Triggers {environment.where}; {plans}",
                "let jobs share a schedule: equal ones are one trigger",
            )
        elif count > FREE_TRIGGERS:
            yield warned(
                "cron-triggers-many",
                f"{count} Cron Triggers {environment.where}; {plans}",
                "deploy to an account on the paid plan, or let jobs share a schedule: equal ones are one trigger",
            )
        elif count:
            yield passed(
                "cron-triggers-ok", f"{count} Cron Trigger{'' if count == 1 else 's'} {environment.where}; {plans}"
            )


def _read(cron: Any, environment: Environment) -> Iterator[Finding]:
    try:
        expression = CronExpression.parse(cron).that_fires()
    except LunoraError as error:
        told = f"triggers.crons {environment.where}: {error.message}"
        if error.code == "CRON_EXPR_INVALID":
            yield failed("cron-refused", told, "correct it there")
        else:
            yield warned(kebab(error.code), told, "correct it there, or take it out")
        return
    for notice in expression.notices:
        yield _notice(notice, f"triggers.crons {environment.where}: {shown(cron)}")


def _notice(notice: str, where: str) -> Finding:
    if isinstance(notice, WeekdayNotice):
        return warned("cron-numeric-weekday", f"{where}: {notice}", "write weekdays by name: SUN to SAT")
    return noted("cron-notice", f"{where}: {notice}")


def _listed(crons: list[str]) -> str:
    return ", ".join(map(shown, crons))
