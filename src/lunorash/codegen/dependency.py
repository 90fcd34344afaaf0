"""Whether the project of an app says that it needs `lunorash`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

from lunorash.codegen.diagnostics import Diagnostic

__all__ = ["missing_dependency"]

_PYPROJECT: Final = "pyproject.toml"
_DISTRIBUTION: Final = "lunorash"
_HEADER: Final = re.compile(r"\s*\[\s*project\s*\]")


def missing_dependency(project: Path) -> Diagnostic | None:
    """A notice if pyproject.toml lists what the project needs, and not `lunorash`.

    A file that is missing, cannot be read, or leaves its dependencies to a build backend says nothing either way.

    Args:
        project: the project's folder.
    """
    try:
        text = (project / _PYPROJECT).read_text(encoding="utf-8")
        table = tomllib.loads(text).get("project")
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(table, dict) or _lists_it(table):
        return None
    line = next((number for number, line in enumerate(text.splitlines(), start=1) if _HEADER.match(line)), 1)
    return Diagnostic(
        _PYPROJECT,
        line,
        "DEPENDENCY_MISSING",
        f"dependencies does not list {_DISTRIBUTION}, which the app imports, so it is missing wherever the project is "
        f'installed anew; add "{_DISTRIBUTION}"',
    )


def _lists_it(table: dict[str, Any]) -> bool:
    """Whether a project depends on the distribution, is it, or leaves open what it depends on."""
    dependencies, dynamic = table.get("dependencies", []), table.get("dynamic", [])
    if not isinstance(dependencies, list) or not isinstance(dynamic, list) or "dependencies" in dynamic:
        return True
    return any(_normalised(each) == _DISTRIBUTION for each in (table.get("name"), *dependencies))


def _normalised(requirement: object) -> str:
    """The distribution that a requirement begins with, as indexes spell it."""
    match = re.match(r"\s*([A-Za-z0-9._-]+)", requirement, re.ASCII) if isinstance(requirement, str) else None
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""
