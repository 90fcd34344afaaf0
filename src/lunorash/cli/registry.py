"""`lunora registry`: starters, copied into a project for its owner to change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer

from lunorash.cli.given_files import check_places, create_file, is_taken, shipped_files
from lunorash.cli.options import FormatOption, ProjectOption
from lunorash.cli.output import Format, Output
from lunorash.errors import LunoraError, shown

__all__ = ["ITEMS", "Added", "add_item", "app"]

ITEMS: Final = MappingProxyType({"crons": "recurring jobs: a cron_jobs() registry with one job, and what it runs"})
"""Every item by its name; its files are in ``registry/<name>/`` of this package, laid out as in a project."""

app = typer.Typer(
    help="Starters to copy into your project: they are yours from then on.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What adding an item did.

    Args:
        created: the files that were made, relative to the project.
        skipped: those that were there, and are as they were.
        dependency: ``"added"`` to pyproject.toml, ``"present"``, or ``"missing"``.
        note: what to do about a missing one.
    """

    created: tuple[str, ...]
    skipped: tuple[str, ...]
    dependency: str
    note: str


def add_item(project: Path, item: str) -> Added:
    """Copy an item's files into a project, and add this library to its dependencies.

    Nothing is written when anything is refused.

    Args:
        project: the folder of wrangler.jsonc.
        item: one of `ITEMS`.

    Raises:
        LunoraError: ``REGISTRY_ITEM_NOT_FOUND``; ``PROJECT_NOT_FOUND``; ``MODULE_CLASH`` when a module of the project
            has the name of one of the item's folders; ``PATH_OUTSIDE_PROJECT`` and ``PATH_BLOCKED`` for places where
            no file can go; ``PYPROJECT_INVALID``; ``FILE_NOT_WRITTEN``.
    """
    from lunorash.cli.dependency import add_dependency, needed_dependency  # takes its time, and only this needs it

    if item not in ITEMS:
        raise LunoraError("REGISTRY_ITEM_NOT_FOUND", f"there is no item {shown(item)}; there is {', '.join(ITEMS)}")
    if not project.is_dir():
        raise LunoraError("PROJECT_NOT_FOUND", f"{shown(str(project))} is no folder; name the folder of wrangler.jsonc")
    files = shipped_files(f"registry/{item}")
    check_places(project, files)
    _check_clashes(project, files)
    needed = needed_dependency(project)
    created = tuple(name for name, content in files.items() if create_file(project, name, content))
    add_dependency(project, needed)
    return Added(
        created=created,
        skipped=tuple(name for name in files if name not in created),
        dependency=needed.outcome,
        note=needed.note,
    )


def _check_clashes(project: Path, files: dict[str, bytes]) -> None:
    """Refuse a folder beside a module of its name: Python imports the folder, and never the module again."""
    for folder in sorted({parent for name in files for parent in Path(name).parents[:-1]}):
        module = folder.with_suffix(".py").as_posix()
        if is_taken(project, module):
            raise LunoraError(
                "MODULE_CLASH",
                f"{module} is there, and this needs the folder {folder.as_posix()}/: Python would import the folder "
                f"and never {module}. Nothing was written. Move it to {folder.as_posix()}/__init__.py, which is then "
                f"kept as it is, and run this again: mkdir -p {folder.as_posix()} && mv -n {module} "
                f"{folder.as_posix()}/__init__.py",
            )


@app.command("list")
def _list(format: FormatOption = Format.PRETTY) -> None:  # noqa: A002 - the option's name
    """Say what there is to add.

    Example: lunora registry list
    """
    items = [
        {"name": name, "description": description, "files": list(shipped_files(f"registry/{name}"))}
        for name, description in ITEMS.items()
    ]
    lines = "\n".join(f"{name}  {description}" for name, description in ITEMS.items())
    Output(format).document({"items": items}, pretty=f"{lines}\n\nlunora registry add NAME copies its files.")


@app.command("add")
def _add(
    item: Annotated[str, typer.Argument(metavar="NAME", help="What to add, such as crons.")],
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """Copy an item's files into your project; what is there is never overwritten.

    Example: lunora registry add crons
    """
    output = Output(format)
    added = add_item(project, item)
    for name in added.created:
        output.say(f"created  {name}")
    for name in added.skipped:
        output.say(f"skipped  {name}, which is there already")
    if added.dependency == "added":
        output.say("added    lunorash to the dependencies in pyproject.toml; install it with `uv sync`")
    if added.note:
        output.warn(f"lunora registry: {added.note}")
    output.document(
        {
            "item": item,
            "created": list(added.created),
            "skipped": list(added.skipped),
            "dependency": added.dependency,
            **({"note": added.note} if added.note else {}),
        },
        pretty="The files are yours to change. Next: lunora codegen",
    )
