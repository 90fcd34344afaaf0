"""`crons.py`: the cron jobs of the app by their triggers, as the Worker's `scheduled()` looks for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lunorash.codegen.document import document, tolerated
from lunorash.codegen.expression import WIDTH
from lunorash.codegen.literals import literal, long_value
from lunorash.crons import CronJob
from lunorash.scheduler.options import DEFAULT_TIMEOUT_MS
from lunorash.scheduler.retry import RetryPolicy

__all__ = ["emit_crons"]


def emit_crons(jobs: Sequence[CronJob]) -> str:
    """The text of ``crons.py``.

    Args:
        jobs: the jobs, in order of their names.
    """
    by_expression: dict[str, list[CronJob]] = {}
    for job in jobs:
        by_expression.setdefault(job.expression, []).append(job)
    retries = any(job.retry is not None for job in jobs)
    blocks: list[Sequence[str]] = [
        ["from __future__ import annotations"],
        ["from typing import Final"],
        [
            "from lunorash.crons import CronJob",
            *(["from lunorash.scheduler import RetryPolicy"] if retries else []),
        ],
        ['__all__ = ["LUNORA_CRONS", "LUNORA_CRON_TRIGGERS"]'],
        [
            *_triggers(by_expression),
            '"""The expressions of all cron jobs, for ``triggers.crons`` of wrangler.jsonc."""',
        ],
        [*_crons(by_expression), '"""The cron jobs by the expression of their trigger."""'],
    ]
    return document("The cron jobs of this app.", blocks)


def _triggers(expressions: Iterable[str]) -> list[str]:
    head = "LUNORA_CRON_TRIGGERS: Final[tuple[str, ...]] = ("
    literals = [literal(expression) for expression in expressions]
    one_line = f"{head}{', '.join(literals)}{',' if len(literals) == 1 else ''})"
    # the comma of a tuple of one keeps it on a line, where that of a longer one keeps it apart
    if len(literals) < 2 and len(one_line) <= WIDTH:
        return [one_line]
    return [head, *(tolerated(f"    {each},") for each in literals), ")"]


def _crons(by_expression: dict[str, list[CronJob]]) -> list[str]:
    head = "LUNORA_CRONS: Final[dict[str, tuple[CronJob, ...]]] = {"
    lines: list[str] = []
    for expression, jobs in by_expression.items():
        lines.append(tolerated(f"    {literal(expression)}: ("))
        for job in jobs:
            lines.extend(["        CronJob(", *_fields(job), "        ),"])
        lines.append("    ),")
    return [head, *lines, "}"] if lines else [f"{head}}}"]


def _fields(job: CronJob) -> list[str]:
    """The fields of a job, those that have their defaults left out."""
    lines: list[str] = []
    for name, value in (("name", job.name), ("expression", job.expression), ("target", job.target), ("args", job.args)):
        lines.extend(long_value(f"            {name}=", value, ","))
    if job.overlap != "allow":
        lines.append(f"            overlap={literal(job.overlap)},")
    if job.timeout_ms != DEFAULT_TIMEOUT_MS:
        lines.append(f"            timeout_ms={job.timeout_ms},")
    if job.retry is not None:
        lines.extend(["            retry=RetryPolicy(", *_policy(job.retry), "            ),"])
    return lines


def _policy(policy: RetryPolicy) -> list[str]:
    return [
        line for name, value in policy.to_dict().items() for line in long_value(f"                {name}=", value, ",")
    ]
