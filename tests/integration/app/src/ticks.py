"""The crons of the tests' app: each test lets an expression of its own fire."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from lunora._generated.agents import agents
from lunora._generated.internal import internal
from lunora._generated.workflows import workflows
from lunorash.crons import CronJob, cron_jobs
from lunorash.scheduler import RetryPolicy

_SOON: Final = RetryPolicy(max_attempts=2, base_ms=500, backoff="linear")

_JOBS: Final = (
    cron_jobs()
    .cron("first sibling", "0 1 * * *", internal.probes.note)
    .cron("second sibling", "0 1 * * *", internal.probes.fail)
    .cron("third sibling", "0 1 * * *", internal.ledger.effect, {"tag": "sibling"})
    .cron("mutation", "0 2 * * *", internal.ledger.effect, {"tag": "ticked"})
    .cron("workflow", "0 2 * * *", workflows.errand, {"tag": "ticked"})
    .cron("agent", "0 2 * * *", agents.courier, {"tag": "ticked"})
    .cron("alone", "0 3 * * *", internal.probes.slow, {"seconds": 12}, overlap="skip")
    .cron("hasty", "0 4 * * *", internal.probes.slow, {"seconds": 60}, timeout=500)
    .cron("tried again", "0 5 * * *", internal.ledger.effect_unless_closed, {"tag": "tried again"}, retry=_SOON)
    .cron("in vain", "0 6 * * *", internal.probes.fail, retry=_SOON)
    .cron("for nothing", "0 6 * * *", internal.probes.fail)
    .cron("unheard", "0 7 * * *", internal.ledger.effect, {"tag": "unheard"}, retry=_SOON)
    .jobs()
)


def _by_expression() -> dict[str, list[CronJob]]:
    """As `lunora codegen` writes it into ``lunora/_generated/crons.py``."""
    table: dict[str, list[CronJob]] = defaultdict(list)
    for job in _JOBS:
        table[job.expression].append(job)
    return dict(table)


CRONS: Final = _by_expression()
