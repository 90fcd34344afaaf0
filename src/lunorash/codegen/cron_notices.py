"""What somebody should know about the crons of an app, and is no error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lunorash.codegen.crons import AppCron
from lunorash.codegen.diagnostics import Diagnostic
from lunorash.errors import shown

__all__ = ["FREE_TRIGGERS", "PAID_TRIGGERS", "cron_notices"]

FREE_TRIGGERS: Final = 5
"""How many triggers an account on Cloudflare's free plan may have, over all of its Workers."""

PAID_TRIGGERS: Final = 250
"""The same on a paid plan."""


def cron_notices(crons: Sequence[AppCron]) -> Iterator[Diagnostic]:
    """What to tell about the cron jobs of an app.

    Args:
        crons: the jobs, in order of their names.
    """
    for cron in crons:
        for notice in cron.notices:
            message = f"the cron job {shown(cron.job.name)}: {notice}"
            yield Diagnostic(cron.file, cron.line, "CRON_EXPR_NOTICE", message)
    first: dict[str, AppCron] = {}
    for cron in crons:
        first.setdefault(cron.job.expression, cron)
    if len(first) > FREE_TRIGGERS:
        allowed = PAID_TRIGGERS if len(first) > PAID_TRIGGERS else FREE_TRIGGERS
        beyond = list(first.values())[allowed]
        yield Diagnostic(
            beyond.file,
            beyond.line,
            "CRON_TRIGGERS_MANY",
            f"the app needs {len(first)} cron triggers, and an account may have {FREE_TRIGGERS} on Cloudflare's free "
            f"plan and {PAID_TRIGGERS} on a paid one, over all of its Workers. Jobs of one expression share a trigger",
        )
