"""`lunora doctor`: what would keep a project from running or from being deployed, and the repair of what is safe."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lunorash.cli.output import Output, plain_text
from lunorash.cli.repairs import repair
from lunorash.doctor import Finding, Level, examine

__all__ = ["doctor", "show"]

_STYLE: Final = {Level.FAIL: "red", Level.WARN: "yellow", Level.INFO: "", Level.PASS: "green"}


def doctor(project: Path, output: Output, *, fix: bool) -> int:
    """Run the command.

    Args:
        project: the folder of wrangler.jsonc.
        output: where it reports.
        fix: repair what can be repaired without a decision, then look again.

    Returns:
        the exit status: 1 if anything fails, else 0.
    """
    report = examine(project)
    fixed: list[str] = []
    if fix:
        fixed = repair(project, report.findings, lambda line: output.say(f"lunora doctor: {line}"))
        report = examine(project)
    if not output.json:
        for finding in report.findings:
            show(finding, output)
        for done in fixed:
            output.say(plain_text(f"fixed: {done}"))
    counts = report.summary
    output.document(
        {**report.to_dict(), "fixed": fixed},
        pretty=f"lunora doctor: {counts['fail']} failed, {counts['warn']} to look at, {counts['pass']} right",
    )
    return 0 if report.ok else 1


def show(finding: Finding, output: Output) -> None:
    """Say a finding to people, with what to do about it on a line of its own.

    Args:
        finding: what was found.
        output: where it is said.
    """
    mark = f"[{finding.level.value.upper()}]"
    output.say(plain_text(f"{mark:<6} {finding.code}: {finding.message}", _STYLE[finding.level]))
    if finding.fix is not None:
        output.say(plain_text(f"       {finding.fix}"))
