"""ShardDOs on this side of the border: the real core on sqlite, behind the same text as the real one."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace

from lunorash.errors import LunoraError, UnavailableError
from lunorash.functions import FunctionTable
from lunorash.incident import describe, report, tellable
from lunorash.scheduler.settings import check_settings
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.calls import ShardCall
from lunorash.shard.schema import migrate_shard
from lunorash.shard.shard import Round, Shard

from .scheduler_object import NOW

__all__ = ["ShardNamespace", "ShardObject"]


class ShardObject:
    """The object behind a stub; it remembers its calls, and with ``broken`` it does not answer."""

    def __init__(self, functions: FunctionTable, env: SimpleNamespace) -> None:
        self.store = SqliteStore()
        migrate_shard(self.store, [("schema.sql", "CREATE TABLE notes (text TEXT NOT NULL)")])
        self._shard = Shard(self.store, functions, ready=lambda: check_settings(env), wake=lambda _now: None)
        self.calls: list[ShardCall] = []
        self.broken = False

    async def query(self, text: str) -> str:
        """As `lunorash.shard.durable_object.ShardDO.query`; likewise the other."""
        return self._answer(text, self._shard.query)

    async def mutate(self, text: str) -> str:
        return self._answer(text, self._shard.mutate)

    def notes(self) -> list[str]:
        return [row["text"] for row in self.store.execute("SELECT text FROM notes ORDER BY rowid")]

    def _answer(self, text: str, run: Callable[[ShardCall, Round], str]) -> str:
        if self.broken:
            raise OSError("the object was reset")
        call = ShardCall.from_text(text)
        self.calls.append(call)
        try:
            return json.dumps({"ok": run(call, Round(now=NOW, seed=len(self.calls), answers={}))})
        except LunoraError as error:
            told = tellable(error, "a function")
            unavailable = isinstance(told, UnavailableError)
            return json.dumps({"error": told.to_dict(), "status": told.status, "unavailable": unavailable})
        except Exception as error:  # noqa: BLE001
            return json.dumps({"error": report("a function", error).to_dict(), "detail": describe(error)})


class ShardNamespace:
    """A Durable Object binding: one shard for each name.

    ``functions`` are what the shards know; a deploy may have given the Worker others.
    """

    def __init__(self, functions: FunctionTable, env: SimpleNamespace) -> None:
        self.functions = functions
        self._env = env
        self.objects: dict[str, ShardObject] = {}

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        return name

    def get(self, name: str) -> ShardObject:
        if name not in self.objects:
            self.objects[name] = ShardObject(self.functions, self._env)
        return self.objects[name]
