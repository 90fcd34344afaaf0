"""Durable Object classes must be declared to be bound: in ``migrations``, or in ``exports``, never in both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lunorash.config.json_text import Insert
from lunorash.config.scopes import Scope
from lunorash.config.wrangler import Migration

__all__ = ["declared_classes", "missing_declarations"]


def declared_classes(migrations: Iterable[Migration | None]) -> set[str]:
    """The classes that there are after all migrations, one after the other.

    Args:
        migrations: in their order.

    Example:
        >>> first = Migration(tag="v1", new_classes=["A", "B"])
        >>> sorted(declared_classes([first, Migration(tag="v2", deleted_classes=["A"])]))
        ['B']
    """
    declared: set[str] = set()
    for migration in migrations:
        if migration is None:
            continue
        renamed = migration.renamed_classes or []
        declared -= {*(migration.deleted_classes or []), *(each.old for each in renamed if each.old)}
        declared |= {*(migration.new_sqlite_classes or []), *(migration.new_classes or [])}
        declared |= {each.to for each in (*renamed, *(migration.transferred_classes or [])) if each.to}
    return declared


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
    declared = declared_classes(migrations)
    new = [name for name in classes if name not in declared]
    if not new:
        return []
    tags = {migration.tag for migration in migrations if migration}
    tag = next(f"v{number}" for number in range(1, len(tags) + 2) if f"v{number}" not in tags)
    return [Insert((*scope.path, "migrations"), len(migrations), {"tag": tag, "new_sqlite_classes": new})]
