"""The crons of the tests' app: each test lets an expression of its own fire."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from lunorash.crons import CronJob, cron_jobs
from lunorash.refs import AgentReference, WorkflowReference
from lunorash.scheduler import RetryPolicy

_SOON: Final = RetryPolicy(max_attempts=2, base_ms=500, backoff="linear")

_JOBS: Final = (
    cron_jobs()
    .cron("first sibling", "0 1 * * *", "probes:note")
    .cron("second sibling", "0 1 * * *", "probes:fail")
    .cron("third sibling", "0 1 * * *", "ledger:effect", {"tag": "sibling"})
    .cron("mutation", "0 2 * * *", "ledger:effect", {"tag": "ticked"})
    .cron("workflow", "0 2 * * *", WorkflowReference("errand", "WORKFLOW_ERRAND"), {"tag": "ticked"})
    .cron("agent", "0 2 * * *", AgentReference("courier", "AGENT_COURIER"), {"tag": "ticked"})
    .cron("alone", "0 3 * * *", "probes:slow", {"seconds": 12}, overlap="skip")
    .cron("hasty", "0 4 * * *", "probes:slow", {"seconds": 60}, timeout=500)
    .cron("tried again", "0 5 * * *", "ledger:effect_unless_closed", {"tag": "tried again"}, retry=_SOON)
    .cron("in vain", "0 6 * * *", "probes:fail", retry=_SOON)
    .cron("for nothing", "0 6 * * *", "probes:fail")
    .cron("unheard", "0 7 * * *", "ledger:effect", {"tag": "unheard"}, retry=_SOON)
    .jobs()
)


def _by_expression() -> dict[str, list[CronJob]]:
    """As `lunora codegen` writes it into ``lunora/_generated/crons.py``."""
    table: dict[str, list[CronJob]] = defaultdict(list)
    for job in _JOBS:
        table[job.expression].append(job)
    return dict(table)


CRONS: Final = _by_expression()
