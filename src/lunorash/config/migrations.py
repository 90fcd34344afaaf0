"""Durable Object classes must be declared to be bound: in ``migrations``, or in ``exports``, never in both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from lunorash.config.json_text import Insert
from lunorash.config.scopes import Scope
from lunorash.config.wrangler import Migration

__all__ = ["Storage", "missing_declarations", "storage_of_classes"]

Storage = Literal["sqlite", "key-value"]
"""Where a Durable Object class keeps its data."""


def storage_of_classes(migrations: Iterable[Migration | None]) -> dict[str, Storage]:
    """The classes that there are after all migrations, one after the other, and where each keeps its data.

    Args:
        migrations: in their order.

    Example:
        >>> first = Migration(tag="v1", new_sqlite_classes=["A", "B"], new_classes=["C"])
        >>> storage_of_classes([first, Migration(tag="v2", deleted_classes=["A"])])
        {'C': 'key-value', 'B': 'sqlite'}
    """
    found: dict[str, Storage] = {}
    for migration in migrations:
        if migration is None:
            continue
        found |= dict.fromkeys(migration.new_classes or [], "key-value")
        found |= dict.fromkeys(migration.new_sqlite_classes or [], "sqlite")
        for renamed in migration.renamed_classes or []:
            kept = found.pop(renamed.old or "", "sqlite")
            found |= {renamed.to: kept} if renamed.to else {}
        # the storage of what was taken over is declared in the Worker that it comes from
        found |= dict.fromkeys((each.to for each in migration.transferred_classes or [] if each.to), "sqlite")
        for name in migration.deleted_classes or []:
            found.pop(name, None)
    return found


def missing_declarations(needed: Sequence[tuple[Scope, Sequence[str]]]) -> list[Insert]:
    """What declares the classes that are not declared yet. Migrations that are there may be deployed: they stay.

    Args:
        needed: the scopes, the top level first, and the classes each of them binds.
    """
    top = needed[0][0]
    by_place: dict[tuple[bool, Scope], list[str]] = {}
    for scope, classes in needed:
        has_exports, has_migrations = scope.section.exports is not None, scope.section.migrations is not None
        declarative = _declares_objects(scope if has_exports else top)
        place = scope if (has_exports if declarative else has_migrations) else top
        by_place.setdefault((declarative, place), []).extend(classes)
    inserts: list[Insert] = []
    for (declarative, place), classes in by_place.items():
        unique = list(dict.fromkeys(classes))
        inserts += _exports(place, unique) if declarative else _migration(place, unique)
    return inserts


def _declares_objects(scope: Scope) -> bool:
    return any(entry.get("type") == "durable-object" for entry in (scope.section.exports or {}).values())


def _exports(scope: Scope, classes: Sequence[str]) -> list[Insert]:
    present = scope.section.exports or {}
    value = {"type": "durable-object", "storage": "sqlite"}
    return [Insert((*scope.path, "exports"), name, value) for name in classes if name not in present]


def _migration(scope: Scope, classes: Sequence[str]) -> list[Insert]:
    migrations = scope.section.migrations or []
    declared = storage_of_classes(migrations)
    new = [name for name in classes if name not in declared]
    if not new:
        return []
    tags = {migration.tag for migration in migrations if migration}
    tag = next(f"v{number}" for number in range(1, len(tags) + 2) if f"v{number}" not in tags)
    return [Insert((*scope.path, "migrations"), len(migrations), {"tag": tag, "new_sqlite_classes": new})]
