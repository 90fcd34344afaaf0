"""A project's dependency on this library, in its pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from tomlkit.exceptions import TOMLKitError

from lunorash.codegen.dependency import LIBRARY, leaves_open, names_of
from lunorash.codegen.whole_files import replace_file
from lunorash.errors import LunoraError

__all__ = ["LIBRARY", "Dependency", "add_dependency", "needed_dependency"]

_FILE: Final = "pyproject.toml"
_BY_HAND: Final = f'add "{LIBRARY}" to the dependencies of your project by hand'


@dataclass(frozen=True, slots=True)
class Dependency:
    """What became of the dependency, or is to.

    Args:
        outcome: ``"added"``, ``"present"``, or ``"missing"`` when it has to be added by hand.
        note: what to tell the user of a missing one.
        text: pyproject.toml with the dependency in it, if it was not.
    """

    outcome: Literal["added", "present", "missing"]
    note: str = ""
    text: str = ""


def needed_dependency(project: Path) -> Dependency:
    """Look what pyproject.toml needs, and write nothing.

    Comments, order and layout are kept.

    Args:
        project: the folder of pyproject.toml.

    Raises:
        LunoraError: ``PYPROJECT_INVALID`` when it is no TOML or ``dependencies`` is no list of requirements.
    """
    path = project / _FILE
    if not path.is_file():
        return Dependency("missing", f"there is no {_FILE}; {_BY_HAND}")
    if not path.resolve().is_relative_to(project.resolve()):
        return Dependency("missing", f"{_FILE} is a symbolic link out of the project; {_BY_HAND}")
    try:
        document = tomlkit.parse(path.read_bytes().decode("utf-8"))
    except (TOMLKitError, UnicodeDecodeError, OSError) as error:
        raise LunoraError("PYPROJECT_INVALID", f"{path} is no TOML: {error}") from None
    table: Any = document.get("project")
    if not isinstance(table, dict):
        return Dependency("missing", f"{_FILE} has no [project]; {_BY_HAND}")
    if LIBRARY in names_of([table.get("name")]):
        return Dependency("present")
    if leaves_open(table):
        return Dependency("missing", f"{_FILE} says that its dependencies are dynamic; {_BY_HAND}")
    declared: Any = table.get("dependencies")
    if declared is None:
        table["dependencies"] = [LIBRARY]
    elif LIBRARY in _names(declared, path):
        return Dependency("present")
    else:
        declared.append(LIBRARY)
    return Dependency("added", text=tomlkit.dumps(document))


def add_dependency(project: Path, needed: Dependency) -> None:
    """Write what `needed_dependency` found missing, at once and as a whole.

    Args:
        project: the folder of pyproject.toml.
        needed: what it answered.

    Raises:
        LunoraError: ``FILE_NOT_WRITTEN`` with the reason.
    """
    if not needed.text:
        return
    path = (project / _FILE).resolve()
    try:
        replace_file(path, needed.text.encode("utf-8"))
    except OSError as error:
        raise LunoraError("FILE_NOT_WRITTEN", f"{path} cannot be written: {error.strerror or error}") from None


def _names(declared: Any, path: Path) -> set[str]:
    """The packages that are declared, whatever their versions, extras and markers."""
    if not isinstance(declared, list) or not all(isinstance(text, str) for text in declared):
        raise LunoraError("PYPROJECT_INVALID", f"{path}: [project] dependencies must be a list of texts")
    try:
        for text in declared:
            Requirement(text)
    except InvalidRequirement as error:
        raise LunoraError(
            "PYPROJECT_INVALID", f"{path}: [project] dependencies has what is no requirement: {error}"
        ) from None
    return names_of(declared)
