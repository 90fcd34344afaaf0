"""Runs all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_workers.errors import WorkersError

from lunorash.doctor.bindings import check_bindings, check_exports, check_migrations
from lunorash.doctor.configuration import check_compatibility, check_configuration
from lunorash.doctor.crons import check_cron_notices, check_cron_targets, check_trigger_count, check_triggers_in_sync
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, Level, warned
from lunorash.doctor.generated import check_generated, check_notices, check_sources
from lunorash.doctor.origin import check_local_origin, check_origin
from lunorash.doctor.packages import check_lock, check_vendored, check_wheels
from lunorash.doctor.secrets import (
    check_admin_token,
    check_dev_vars,
    check_git,
    check_scheduler_secret,
    check_secrets_in_files,
)
from lunorash.doctor.size import check_size
from lunorash.doctor.toolchain import check_toolchain
from lunorash.errors import LunoraError

__all__ = ["Check", "Report", "examine", "examine_build", "examine_deployment", "made"]

Check = Callable[[Evidence], Iterable[Finding]]

_OF_SOURCES: Final[tuple[Check, ...]] = (check_sources, check_notices, check_generated, check_git)
"""Also where the wrangler configuration cannot be read."""

_OF_DEPLOYMENTS: Final[tuple[Check, ...]] = (
    check_compatibility,
    check_exports,
    check_bindings,
    check_migrations,
    check_origin,
    check_secrets_in_files,
    check_cron_targets,
    check_triggers_in_sync,
    check_cron_notices,
    check_trigger_count,
    check_toolchain,
    check_lock,
)

_OF_LOCAL_RUNS: Final[tuple[Check, ...]] = (
    check_dev_vars,
    check_local_origin,
    check_scheduler_secret,
    check_admin_token,
)

_OF_BUILDS: Final[tuple[Check, ...]] = (check_vendored, check_wheels, check_size)


@dataclass(frozen=True, slots=True)
class Report:
    """What an examination found.

    Args:
        findings: what each check said, in the order of the checks.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not any(finding.level is Level.FAIL for finding in self.findings)

    @property
    def summary(self) -> dict[str, int]:
        """How many findings there are, by their level."""
        return {level.value: sum(finding.level is level for finding in self.findings) for level in Level}

    def to_dict(self) -> dict[str, Any]:
        """The report as ``--format json`` shows it."""
        return {
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
            "summary": self.summary,
        }


def examine(project: Path) -> Report:
    """Look at a project. Nothing is changed, nothing is asked of Cloudflare.

    A check that cannot be made says so, and does not keep the others from being made.

    Args:
        project: the folder of wrangler.jsonc.

    Returns:
        all findings.

    Example:
        >>> report = examine(Path("/nowhere"))
        >>> report.ok, [finding.code for finding in report.findings]
        (False, ['wrangler-missing', 'app-missing'])
    """
    return _examine(Evidence(project), (*_OF_DEPLOYMENTS, *_OF_LOCAL_RUNS, *_OF_BUILDS))


def examine_deployment(project: Path, environment: str | None) -> Report:
    """Look at what matters to one deployment, before it is built.

    Args:
        project: the folder of wrangler.jsonc.
        environment: as in ``wrangler deploy --env NAME``; None for the top level.

    Raises:
        LunoraError: ``ENVIRONMENT_NOT_FOUND``.
    """
    return _examine(Evidence(project, environment), _OF_DEPLOYMENTS)


def examine_build(project: Path) -> Report:
    """Look at what was built and vendored.

    Args:
        project: the folder of wrangler.jsonc.
    """
    evidence = Evidence(project)
    return Report(tuple(finding for check in _OF_BUILDS for finding in made(check, evidence)))


def _examine(evidence: Evidence, checks: Iterable[Check]) -> Report:
    findings = list(check_configuration(evidence))
    readable = Report(tuple(findings)).ok
    if readable:
        # an environment that does not exist is the caller's mistake, and no finding about the project
        _ = evidence.environments
    for check in (*_OF_SOURCES, *checks) if readable else _OF_SOURCES:
        findings += made(check, evidence)
    return Report(tuple(findings))


def made(check: Check, evidence: Evidence) -> list[Finding]:
    """What a check says, or that it could not be made.

    Args:
        check: the check.
        evidence: the project.
    """
    try:
        return list(check(evidence))
    except (LunoraError, WorkersError) as error:
        why = str(error)
    except OSError as error:
        why = f"{error.strerror or type(error).__name__}: {error.filename}"
    except Exception as error:  # noqa: BLE001 - a bug of ours, or of what we read, is no reason to tell nothing else
        # its text may hold what was read, and that may be a secret
        why = f"{type(error).__name__}, which nobody expected"
    name = getattr(check, "__name__", "check").removeprefix("check_").replace("_", " ")
    return [warned("check-not-made", f"the check of {name} could not be made: {why}", "see there, then run this again")]
