"""Whether the project of an app says that it needs `lunorash`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from lunorash.codegen.diagnostics import Diagnostic

__all__ = ["LIBRARY", "leaves_open", "missing_dependency", "names_of"]

_PYPROJECT: Final = "pyproject.toml"
LIBRARY: Final = "lunorash"
"""The distribution."""

_BEGIN: Final = re.compile(r"\s*([A-Za-z0-9._-]+)", re.ASCII)
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
        f"dependencies does not list {LIBRARY}, which the app imports, so it is missing wherever the project is "
        f'installed anew; add "{LIBRARY}"',
    )


def names_of(requirements: Iterable[object]) -> set[str]:
    """The distributions that requirements begin with, as indexes spell them; what is no text names none.

    Example:
        >>> sorted(names_of(["Lunorash[cli]>=0.1; python_version > '3'", "a_b.c"]))
        ['a-b-c', 'lunorash']
    """
    found = (_BEGIN.match(each) for each in requirements if isinstance(each, str))
    return {re.sub(r"[-_.]+", "-", match[1]).lower() for match in found if match}


def leaves_open(table: dict[str, Any]) -> bool:
    """Whether a project leaves to its build backend what it depends on."""
    dynamic = table.get("dynamic")
    return isinstance(dynamic, list) and "dependencies" in dynamic


def _lists_it(table: dict[str, Any]) -> bool:
    """Whether a project depends on the distribution, is it, or leaves open what it depends on."""
    dependencies, dynamic = table.get("dependencies", []), table.get("dynamic", [])
    if not isinstance(dependencies, list) or not isinstance(dynamic, list) or leaves_open(table):
        return True
    return LIBRARY in names_of([table.get("name"), *dependencies])
