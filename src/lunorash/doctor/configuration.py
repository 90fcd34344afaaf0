"""Whether there is a wrangler configuration that can be read, and whether it selects Python 3.14."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_workers.errors import WorkersError
from pytest_workers.runtime.config import WranglerConfig

from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, kebab, passed
from lunorash.errors import LunoraError

__all__ = ["check_compatibility", "check_configuration"]

_CODES: Final = {"WRANGLER_UNREADABLE": "wrangler-unparseable"}


def check_configuration(evidence: Evidence) -> Iterator[Finding]:
    """``wrangler-missing``, ``wrangler-unparseable``, ``wrangler-invalid``, ``wrangler-toml``."""
    try:
        found, _ = evidence.config_file, evidence.config
    except LunoraError as error:
        code = _CODES.get(error.code, kebab(error.code))
        fix = (
            "convert it"
            if error.code == "WRANGLER_TOML"
            else "correct it; `npx wrangler deploy --dry-run` checks it too"
        )
        yield failed(code, error.message, fix)
        return
    if found is None:
        yield failed(
            "wrangler-missing",
            f"there is no wrangler.jsonc in {evidence.project.resolve()}",
            "run this in the folder of wrangler.jsonc, or name that with --project; `lunora init` makes a project",
        )
    else:
        yield passed("wrangler-ok", f"{found.name} can be read")


def check_compatibility(evidence: Evidence) -> Iterator[Finding]:
    """``python-flag-missing`` and ``compatibility-date``: what selects Python 3.14."""
    assert evidence.config_file is not None  # noqa: S101 - checks of the configuration run only if there is one
    wrong = set()
    for environment in evidence.environments:
        config = WranglerConfig(evidence.config_file, "", environment.get("compatibility_date"), environment.flags)
        try:
            config.check()
        except WorkersError as error:
            inherits = environment.name is not None and not {"compatibility_date", "compatibility_flags"}.intersection(
                environment.own
            )
            if inherits and error.code in wrong:
                continue
            wrong.add(error.code)
            yield failed(kebab(error.code), f"{environment.where}: {error.problem} {error.rule}", error.remedy)
    if not wrong:
        date = evidence.environments[0].get("compatibility_date")
        yield passed("compatibility-ok", f"python_workers from {date} on is Python 3.14")
