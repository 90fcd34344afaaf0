"""The crons of an app: what `cron_jobs()` is told in its sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lunorash.codegen.cron_declarations import find_declarations
from lunorash.codegen.cron_reader import read_cron
from lunorash.codegen.cron_targets import CronTargets
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.instances import AppInstance
from lunorash.codegen.names import Names
from lunorash.crons import CronJob
from lunorash.errors import shown

__all__ = ["AppCron", "find_crons", "triggers"]


@dataclass(frozen=True, slots=True)
class AppCron:
    """A cron job of an app.

    Args:
        job: the job.
        file: where it is declared.
        line: in which line.
        notices: what is worth a word about it.
    """

    job: CronJob
    file: str
    line: int
    notices: tuple[str, ...] = ()


def find_crons(
    names: Names, functions: Iterable[AppFunction], instances: Iterable[AppInstance], diagnostics: Diagnostics
) -> list[AppCron]:
    """Find the cron jobs of all modules, in order of their names.

    Args:
        names: what names stand for, and the modules.
        functions: the app's functions.
        instances: its workflows and agents.
        diagnostics: is told what is wrong with a cron job.
    """
    targets = CronTargets.of(names, functions, instances, diagnostics)
    found: list[AppCron] = []
    named: list[tuple[str, int, str]] = []
    for declaration in find_declarations(names, diagnostics):
        file, line = declaration.module.file, declaration.line
        read = read_cron(declaration, targets, diagnostics)
        if read.name is not None:
            named.append((file, line, read.name))
        if read.job is not None:
            found.append(AppCron(read.job, file, line, read.notices))
    _check_names(named, diagnostics)
    return sorted(found, key=lambda cron: (cron.job.name, cron.file, cron.line))


def triggers(crons: Iterable[AppCron]) -> tuple[str, ...]:
    """The expressions of all jobs, each once: jobs of one expression share a trigger.

    Args:
        crons: the jobs, in order of their names.
    """
    return tuple(dict.fromkeys(cron.job.expression for cron in crons))


def _check_names(named: Iterable[tuple[str, int, str]], diagnostics: Diagnostics) -> None:
    """Refuse two jobs of one name: a builder knows its own jobs only, and an app may have several builders."""
    first: dict[str, tuple[str, int]] = {}
    for file, line, name in sorted(named):
        if name in first:
            other = f"{first[name][0]}:{first[name][1]}"
            diagnostics.report(
                "DUPLICATE_CRON_NAME",
                file,
                line,
                f"there is a cron job named {shown(name)} in {other} too; a run is known by its job's name, so give "
                "one another",
            )
        else:
            first[name] = (file, line)
