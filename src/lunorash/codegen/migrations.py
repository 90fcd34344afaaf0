"""The schema and the migrations of a shard's database: SQL files, in the order in which they are applied."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.modules import APP, shown_path

__all__ = ["Migration", "read_migrations"]

_NAME: Final = re.compile(r"(\d{4})_[A-Za-z0-9_]{1,60}\.sql", re.ASCII)


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file.

    Args:
        name: its file name, ``"0001_add_plans.sql"``.
        text: its text, with ``\\n`` at the ends of lines wherever it was checked out.
    """

    name: str
    text: str


def read_migrations(project: Path, diagnostics: Diagnostics) -> list[Migration]:
    """Read ``lunora/schema.sql``, then ``lunora/migrations/NNNN_*.sql`` in order of their numbers."""
    found: list[Migration] = []
    schema = Path(APP, "schema.sql")
    if os.path.lexists(project / schema):
        _read(project, schema, found, diagnostics)
    numbered: list[tuple[int, Path]] = []
    for path in sorted((project / APP / "migrations").rglob("*")):
        relative = path.relative_to(project)
        if path.suffix.lower() != ".sql" or any(part.startswith(".") for part in relative.parts):
            continue
        match = _NAME.fullmatch(path.name)
        if match is None or int(match[1]) == 0 or len(relative.parts) != 3:
            diagnostics.report(
                "MIGRATION_NAME_INVALID",
                shown_path(relative),
                1,
                "it would never be applied: migrations are files lunora/migrations/NNNN_name.sql, numbered from 0001, "
                "such as 0001_add_plans.sql; rename or move it",
            )
        else:
            numbered.append((int(match[1]), relative))
    _check_numbers(numbered, diagnostics)
    for _, relative in sorted(numbered):
        _read(project, relative, found, diagnostics)
    return found


def _check_numbers(numbered: list[tuple[int, Path]], diagnostics: Diagnostics) -> None:
    by_number: dict[int, Path] = {}
    for number, relative in sorted(numbered):
        first = by_number.setdefault(number, relative)
        if first is not relative:
            diagnostics.report(
                "MIGRATION_NUMBER_DUPLICATE",
                shown_path(relative),
                1,
                f"{first.name} has the number {number:04} too, and their order would be anybody's guess; "
                f"give the newer one the number {max(numbered)[0] + 1:04}",
            )
    for position, number in enumerate(sorted(by_number), start=1):
        if number != position:
            diagnostics.report(
                "MIGRATION_NUMBER_GAP",
                shown_path(by_number[number]),
                1,
                f"there is no migration {position:04} before it; numbers follow each other from 0001 on, so that a "
                "missing file is noticed. Add it, or renumber those that no shard has applied",
            )
            break


def _read(project: Path, relative: Path, found: list[Migration], diagnostics: Diagnostics) -> None:
    file = shown_path(relative)
    try:
        if not (project / relative).is_file():
            raise OSError(0, "it is no regular file")
        data = (project / relative).read_bytes()
    except OSError as error:
        diagnostics.report(
            "MIGRATION_UNREADABLE", file, 1, f"the file cannot be read ({error.strerror}); make it a readable file"
        )
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        diagnostics.report(
            "MIGRATION_UNDECODABLE", file, line, f"byte {error.start} of the file is not UTF-8; save it as UTF-8"
        )
        return
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        diagnostics.report("MIGRATION_UNDECODABLE", file, line, "the file contains a null byte; remove it")
        return
    found.append(Migration(relative.name, text.replace("\r\n", "\n").replace("\r", "\n")))
