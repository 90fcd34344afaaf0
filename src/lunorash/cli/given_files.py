"""Files that a command gives to a project, for its owner to change: made where there is nothing, never overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import lunorash
from lunorash.errors import LunoraError

__all__ = ["check_places", "create_file", "is_taken", "shipped_files"]

_SHIPPED: Final = Path(lunorash.__file__).parent
_LEFT_OUT: Final = frozenset({"__pycache__"})
"""Installers compile whatever ends in ``.py``."""


def shipped_files(folder: str) -> dict[str, bytes]:
    """What is shipped in a folder of this package, by where it goes in a project, in order of the paths.

    Args:
        folder: such as ``"template"``, with forward slashes.

    Example:
        >>> sorted(shipped_files("registry/crons"))
        ['lunora/crons/__init__.py', 'lunora/crons/jobs.py']
    """
    root = _SHIPPED / folder
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _LEFT_OUT.intersection(path.parts)
    }


def check_places(project: Path, names: Iterable[str]) -> None:
    """Check that each file has a place inside the project, so that nothing is written when one has not.

    Args:
        project: the project's folder; it need not exist.
        names: the files, relative to it, with forward slashes.

    Raises:
        LunoraError: ``PATH_OUTSIDE_PROJECT`` for a folder that is a symbolic link to somewhere else,
            ``PATH_BLOCKED`` for one that is no folder.
    """
    root = project.resolve()
    for name in names:
        for parent in reversed(Path(name).parents[:-1]):
            folder = root / parent
            if not folder.resolve().is_relative_to(root):
                raise LunoraError(
                    "PATH_OUTSIDE_PROJECT",
                    f"{parent.as_posix()} is a symbolic link out of {root}, where {name} does not belong; "
                    "nothing was written. Put a folder in its place",
                )
            if os.path.lexists(folder) and not folder.is_dir():
                raise LunoraError(
                    "PATH_BLOCKED",
                    f"{parent.as_posix()} is in the way: {name} needs a folder of that name; nothing was written. "
                    "Move it or rename it",
                )


def is_taken(project: Path, name: str) -> bool:
    """Whether something is there already, be it a symbolic link that leads nowhere."""
    return os.path.lexists(project / name)


def create_file(project: Path, name: str, content: bytes) -> bool:
    """Create a file, with the folders it is in, unless something is there.

    Args:
        project: the project's folder.
        name: where, as `check_places` has passed it.
        content: what it will hold.

    Returns:
        False if something was there, which is left as it is.

    Raises:
        LunoraError: ``FILE_NOT_WRITTEN`` with the reason.
    """
    path = project.resolve() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    except OSError as error:
        raise LunoraError("FILE_NOT_WRITTEN", f"{path} cannot be written: {error.strerror or error}") from None
    return True
