"""The rows of a SchedulerDO as its last transaction left them, for all who watch: read again only where changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from lunorash.scheduler.schema import MIGRATIONS
from lunorash.scheduler.store import Row

from .durable import CountedStore

__all__ = ["Change", "Tables"]

_KEYS: Final = {
    "jobs": "id",
    "dispatches": "id",
    "pools": "name",
    "origins": "origin",
    "tombstones": "id",
    "remembered": "first",
}
"""The tables that are watched, and what tells their rows apart."""


@dataclass(frozen=True, slots=True)
class Change:
    """What has become of a row."""

    key: str
    old: Row | None
    new: Row | None


@dataclass(slots=True)
class Tables:
    """The tables.

    Args:
        store: where they are.
    """

    store: CountedStore
    jobs: dict[str, Row] = field(init=False, default_factory=dict)
    dispatches: dict[str, Row] = field(init=False, default_factory=dict)
    pools: dict[str, Row] = field(init=False, default_factory=dict)
    origins: dict[str, Row] = field(init=False, default_factory=dict)
    tombstones: dict[str, Row] = field(init=False, default_factory=dict)
    remembered: dict[str, Row] = field(init=False, default_factory=dict)
    _touched: dict[str, dict[str, None]] = field(init=False, default_factory=dict)
    """By table, the keys of the rows that were written since it was last looked at them."""

    def look(self) -> dict[str, list[Change]]:
        """What has changed, by table, since it was last asked. Tables of which nothing has are not there."""
        if not self._touched and not self._watch():
            return {}
        return {
            table: changes for table, keys in self._touched.items() if keys and (changes := [*self._read(table, keys)])
        }

    def _watch(self) -> bool:
        """Begin to, once the tables are what this release makes of them; whether they are."""
        if not self.store.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'"):
            return False
        if not self.store.execute("SELECT 1 FROM meta WHERE key = 'schema_version' AND value = ?", len(MIGRATIONS)):
            return False
        self._touched = {table: self.store.touched(table, key) for table, key in _KEYS.items()}
        return True

    def _read(self, table: str, keys: dict[str, None]) -> Iterable[Change]:
        rows: dict[str, Row] = getattr(self, table)
        statement = f"SELECT * FROM {table} WHERE {_KEYS[table]} = ?"
        for key in keys:
            old = rows.get(key)
            found = self.store.execute(statement, key)
            new = found[0] if found else None
            if new == old:
                continue
            if new is None:
                del rows[key]
            else:
                rows[key] = new
            yield Change(key, old, new)
        keys.clear()
