"""`registry.py`: everything the Worker runs, and the only generated file that imports the app's modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.document import document, tolerated
from lunorash.codegen.imports import SKIP_SORTING
from lunorash.codegen.instances import AppInstance, InstanceKind
from lunorash.codegen.literals import long_text
from lunorash.codegen.migrations import Migration
from lunorash.codegen.modules import APP

__all__ = ["emit_registry"]


def emit_registry(
    functions: Sequence[AppFunction], migrations: Sequence[Migration], instances: Sequence[AppInstance]
) -> str:
    """The text of ``registry.py``."""
    entries = {function.path: f"{APP}.{function.module}.{function.name}" for function in functions}
    constants = {migration.name: _constant(migration) for migration in migrations}
    blocks: list[Sequence[str]] = [
        [SKIP_SORTING],
        ["from __future__ import annotations"],
        ["from typing import Any, Final"],
        ["from lunorash.functions import RegisteredFunction"],
        _imports(functions),
        ['__all__ = ["AGENTS", "FUNCTIONS", "MIGRATIONS", "WORKFLOWS"]'],
        [
            *_table("FUNCTIONS: Final[dict[str, RegisteredFunction[..., Any]]]", entries),
            '"""Every function by its path."""',
        ],
        *(long_text(f"{constants[migration.name]}: Final = ", migration.text) for migration in migrations),
        [*_migrations(constants), '"""The SQL of the shard\'s database, in the order in which it is applied."""'],
        [
            *_table("WORKFLOWS: Final[dict[str, str]]", _bindings("workflow", instances)),
            '"""The bindings of the workflows by their names."""',
        ],
        [
            *_table("AGENTS: Final[dict[str, str]]", _bindings("agent", instances)),
            '"""The bindings of the agents by their names."""',
        ],
    ]
    return document("Everything the Worker runs. Importing this module imports the modules of the app.", blocks)


def _imports(functions: Iterable[AppFunction]) -> list[str]:
    return [tolerated(line) for line in sorted({f"import {APP}.{function.module}" for function in functions})]


def _table(head: str, entries: dict[str, str]) -> list[str]:
    if not entries:
        return [f"{head} = {{}}"]
    return [f"{head} = {{", *(tolerated(f'    "{key}": {value},') for key, value in entries.items()), "}"]


def _constant(migration: Migration) -> str:
    number = migration.name.partition("_")[0]
    return f"_MIGRATION_{number}" if number.isdigit() else "_SCHEMA"


def _migrations(constants: dict[str, str]) -> list[str]:
    head = "MIGRATIONS: Final[tuple[tuple[str, str], ...]] = ("
    return (
        [head, *(f'    ("{name}", {constant}),' for name, constant in constants.items()), ")"]
        if constants
        else [f"{head})"]
    )


def _bindings(kind: InstanceKind, instances: Iterable[AppInstance]) -> dict[str, str]:
    return {instance.name: f'"{instance.binding}"' for instance in instances if instance.kind == kind}
