"""The modules of an app: the Python files below `lunora/`, and whether their names can be imported."""

from __future__ import annotations

import keyword
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.source import Module, read_module

__all__ = ["APP", "GENERATED", "read_modules", "shown_path"]

APP: Final = "lunora"
GENERATED: Final = "_generated"

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def read_modules(project: Path, diagnostics: Diagnostics) -> dict[str, Module]:
    """Read every module below ``lunora/``, by dotted name, in order of their names.

    Files and folders that begin with a dot, ``__pycache__`` and what is generated are left out.
    """
    files = sorted(_python_files(project, project / APP, diagnostics))
    usable = [relative for relative in files if _check_name(relative, diagnostics)]
    _check_twins(usable, diagnostics)
    modules: dict[str, Module] = {}
    for relative in usable:
        file = shown_path(relative)
        data = _read(project / relative, file, diagnostics)
        if data is not None:
            name, package = _dotted(relative)
            module = read_module(name, file, data, diagnostics, package=package)
            if module is not None:
                modules[name] = module
    return dict(sorted(modules.items()))


def shown_path(relative: Path) -> str:
    """A path as diagnostics show it: with forward slashes, and escapes for bytes that are no text."""
    return os.fsencode(relative.as_posix()).decode("utf-8", "backslashreplace")


def _python_files(project: Path, folder: Path, diagnostics: Diagnostics) -> Iterator[Path]:
    top = folder
    for parent, folders, files in os.walk(folder, followlinks=False):
        here = Path(parent)
        kept = []
        for name in sorted(folders):
            if name.startswith(".") or name == "__pycache__" or (here == top and name == GENERATED):
                continue
            if (here / name).is_symlink():
                diagnostics.report(
                    "MODULE_SYMLINK",
                    shown_path((here / name).relative_to(project)),
                    1,
                    "the folder is a symbolic link, which lunora build does not follow; put the folder itself here",
                )
                continue
            kept.append(name)
        folders[:] = kept
        for name in files:
            if name.endswith(".py") and not name.startswith("."):
                yield (here / name).relative_to(project)


def _check_name(relative: Path, diagnostics: Diagnostics) -> bool:
    for part in (*relative.parts[1:-1], relative.stem):
        if not _IDENTIFIER.fullmatch(part) or keyword.iskeyword(part):
            reason = "is a keyword of Python" if keyword.iskeyword(part) else "is no identifier"
            diagnostics.report(
                "MODULE_NAME_INVALID",
                shown_path(relative),
                1,
                f"{part!a} {reason}, so the module cannot be imported; "
                "rename it to ASCII letters, digits and underscores, not beginning with a digit",
            )
            return False
    return True


def _check_twins(files: Iterable[Path], diagnostics: Diagnostics) -> None:
    """Refuse a module and a folder of one name: Python imports one of the two and never the other."""
    folders = {parent for relative in files for parent in relative.parents}
    by_folded: dict[str, Path] = {}
    for relative in files:
        if relative.with_suffix("") in folders:
            diagnostics.report(
                "NAME_RESERVED",
                shown_path(relative),
                1,
                f"the module {relative.stem} and the folder {relative.stem}/ have one name, and Python imports only "
                f"one of them; move the module to {shown_path(relative.with_suffix(''))}/__init__.py or rename one",
            )
        twin = by_folded.setdefault(relative.as_posix().casefold(), relative)
        if twin != relative:
            diagnostics.report(
                "NAME_RESERVED",
                shown_path(relative),
                1,
                f"its name differs from {shown_path(twin)} in upper and lower case only, "
                "which is one file on many machines; rename one",
            )


def _read(path: Path, file: str, diagnostics: Diagnostics) -> bytes | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            problem = "it is no regular file"
        else:
            return path.read_bytes()
    except OSError as error:
        problem = error.strerror or type(error).__name__
    diagnostics.report(
        "MODULE_UNREADABLE", file, 1, f"the module cannot be read ({problem}); make it a readable file, or remove it"
    )
    return None


def _dotted(relative: Path) -> tuple[str, bool]:
    package = relative.stem == "__init__"
    parts = relative.parent.parts if package else (*relative.parent.parts, relative.stem)
    return ".".join(parts), package
