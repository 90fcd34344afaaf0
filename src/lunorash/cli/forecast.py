"""When cron expressions fire next, as `lunora crons next` tells it: no Worker is asked."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from lunorash.cli.times import utc_text
from lunorash.codegen.crons import AppCron
from lunorash.crons import CronExpression, description, explain
from lunorash.errors import LunoraError

__all__ = ["describe", "forecast"]


def forecast(text: str, *, after: datetime, count: int) -> dict[str, Any]:
    """Say what an expression means and when it fires.

    Args:
        text: the expression.
        after: fires strictly after it are told.
        count: how many.

    Returns:
        ``{"expression", "normalized", "english", "next": [...]}``, with ``"notices"`` if there are any; for an
        expression that is refused, or that never fires, ``{"expression", "error", "code"}``.

    Example:
        >>> from datetime import UTC
        >>> forecast("0 8 * * mon", after=datetime(2026, 1, 1, tzinfo=UTC), count=1)["next"]
        ['2026-01-05T08:00:00Z']
        >>> forecast("0 0 31 2 *", after=datetime(2026, 1, 1, tzinfo=UTC), count=1)["code"]
        'CRON_NEVER_FIRES'
    """
    try:
        expression = CronExpression.parse(text).that_fires()
    except LunoraError as error:
        return {"expression": text, "error": str(error), "code": error.code}
    told = {
        "expression": text,
        "normalized": expression.normalized,
        "english": explain(expression),
        "next": [utc_text(fire) for fire in islice(expression.fires_after(after), count)],
    }
    return told | ({"notices": list(expression.notices)} if expression.notices else {})


def describe(cron: AppCron, *, after: datetime) -> dict[str, Any]:
    """A cron job of an app's sources, as a running Worker would tell of it; what it has run is not known.

    Args:
        cron: the job.
        after: its next fire is the first one strictly after it.
    """
    told = description.describe(cron.job, after=after)
    return told | {"file": cron.file, "line": cron.line, "notices": list(cron.notices)}
