"""Whether the app's sources are right, and what is made from them is up to date."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, kebab, noted, passed, warned

__all__ = ["check_generated", "check_notices", "check_sources"]

_SHOWN: Final = 20
"""Problems that are told one by one; codegen tells all."""
_GENERATE: Final = "run `lunora codegen`; `lunora dev`, `lunora build` and `lunora deploy` do it by themselves"


def check_sources(evidence: Evidence) -> Iterator[Finding]:
    """Every problem that codegen reports, by its own code: ``cron-target-invalid``, ``cron-expr-invalid``, …"""
    if not evidence.has_app:
        yield noted("app-missing", "there is no folder lunora/, so there are no functions to look at")
        return
    problems = evidence.generation.diagnostics
    for problem in problems[:_SHOWN]:
        yield failed(kebab(problem.code), f"{problem.file}:{problem.line}: {problem.message}", "correct it there")
    if len(problems) > _SHOWN:
        yield failed(
            "codegen-failed", f"there are {len(problems) - _SHOWN} more problems", "`lunora codegen` shows all of them"
        )
    if not problems:
        count = len(evidence.generation.functions)
        yield passed("sources-ok", f"{count} function{'' if count == 1 else 's'}, nothing wrong with any")


def check_generated(evidence: Evidence) -> Iterator[Finding]:
    """``generated-stale``: files of ``lunora/_generated`` that codegen would change; ``generated-missing`` for all."""
    if not evidence.has_app or evidence.generation.diagnostics:
        return
    if not (evidence.project / "lunora" / "_generated").is_dir():
        # as in a clone, where it is ignored by git
        yield noted("generated-missing", "lunora/_generated is not there yet", _GENERATE)
        return
    stale = [change.file for change in evidence.generation.changes]
    if stale:
        yield warned(
            "generated-stale",
            f"{len(stale)} file{' is' if len(stale) == 1 else 's are'} not as the sources say: {', '.join(stale[:5])}"
            + (", …" if len(stale) > 5 else ""),
            _GENERATE,
        )
    else:
        yield passed("generated-fresh", "lunora/_generated is up to date")


def check_notices(evidence: Evidence) -> Iterator[Finding]:
    """What codegen would have somebody look at, by its own codes: ``dependency-missing``."""
    for notice in evidence.generation.notices if evidence.has_app else ():
        # crons have checks of their own, which also know what was written by hand
        if not notice.code.startswith("CRON_"):
            yield warned(kebab(notice.code), f"{notice.file}:{notice.line}: {notice.message}", "see there")
