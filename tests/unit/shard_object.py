"""ShardDOs on this side of the border: the real core on sqlite, behind the same text as the real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from types import SimpleNamespace

from lunorash.codec import decode_json
from lunorash.crons.runs import CronRun
from lunorash.functions import FunctionTable
from lunorash.scheduler.settings import check_settings
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.answers import failure_answer, outcome_answer
from lunorash.shard.calls import ShardCall
from lunorash.shard.cron_leases import CronLeases
from lunorash.shard.cron_runs import CronRuns
from lunorash.shard.schema import migrate_shard
from lunorash.shard.shard import Round, Shard

from .scheduler_object import NOW

__all__ = ["ShardNamespace", "ShardObject"]


class ShardObject:
    """The object behind a stub; it remembers its calls. With ``broken`` they fail.

    With ``silent`` nothing that is asked about crons is ever answered.
    """

    def __init__(self, functions: FunctionTable, env: SimpleNamespace) -> None:
        self.store = SqliteStore()
        migrate_shard(self.store, [("schema.sql", "CREATE TABLE notes (text TEXT NOT NULL)")])
        self._shard = Shard(self.store, functions, ready=lambda: check_settings(env), wake=lambda _now: None)
        self.leases, self.cron_record = CronLeases(self.store), CronRuns(self.store)
        self.calls: list[ShardCall] = []
        self.asked: list[str] = []
        self.batches: list[int] = []
        self.broken = False
        self.silent = False
        self.answers_lost = 0
        self.clock: Callable[[], int] = lambda: NOW

    async def query(self, text: str) -> str:
        """As `lunorash.shard.durable_object.ShardDO.query`; likewise the other."""
        return self._answer(text, self._shard.query)

    async def mutate(self, text: str) -> str:
        answer = self._answer(text, self._shard.mutate)
        if self.answers_lost:
            self.answers_lost -= 1
            raise OSError("the connection broke after it had committed")
        return answer

    async def mutate_many(self, text: str) -> str:
        if self.broken:
            raise OSError("the object was reset")
        calls = ShardCall.many_from_text(text)
        self.batches.append(len(calls))
        self.calls += calls
        seeds = count(len(self.calls))
        outcomes = self._shard.mutate_many(calls, lambda: Round(now=NOW, seed=next(seeds), answers={}))
        return json.dumps({"ok": [outcome_answer(*each) for each in zip(calls, outcomes, strict=True)]})

    async def hold_cron(self, text: str) -> str:
        return await self._told("hold_cron", lambda: self.leases.hold(**decode_json(text), now=self.clock()))

    async def release_cron(self, text: str) -> str:
        return await self._told("release_cron", lambda: self.leases.release(**decode_json(text)))

    async def note_cron_run(self, text: str) -> str:
        return await self._told("note_cron_run", lambda: self.cron_record.note(CronRun(**decode_json(text))))

    async def cron_runs(self, text: str) -> str:
        return await self._told(
            "cron_runs", lambda: [asdict(run) for run in self.cron_record.newest(**decode_json(text))]
        )

    async def last_cron_runs(self, text: str) -> str:
        def work() -> object:
            return [asdict(run) for run in self.cron_record.last_of_each(decode_json(text))]

        return await self._told("last_cron_runs", work)

    async def _told(self, method: str, work: Callable[[], object]) -> str:
        self.asked.append(method)
        if self.broken:
            raise OSError("the object was reset")
        if self.silent:
            await asyncio.Event().wait()
        return json.dumps({"ok": work()})

    def notes(self) -> list[str]:
        return [row["text"] for row in self.store.execute("SELECT text FROM notes ORDER BY rowid")]

    def _answer(self, text: str, run: Callable[[ShardCall, Round], str]) -> str:
        if self.broken:
            raise OSError("the object was reset")
        call = ShardCall.from_text(text)
        self.calls.append(call)
        try:
            return json.dumps({"ok": run(call, Round(now=NOW, seed=len(self.calls), answers={}))})
        except Exception as error:  # noqa: BLE001
            return json.dumps(failure_answer(error))


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
