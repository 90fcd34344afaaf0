"""A shard without Cloudflare: the real core on sqlite, and the scheduler object that it asks and tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lunorash.contexts import Auth, Job, MutationContext, QueryContext
from lunorash.functions import FunctionTable, register
from lunorash.scheduler import Scheduler
from lunorash.scheduler.settings import check_settings
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.buffered_scheduler import BufferedScheduler
from lunorash.shard.calls import ShardCall
from lunorash.shard.schema import Migration, migrate_shard
from lunorash.shard.shard import Round, Shard

from .scheduler_object import NOW, Namespace, SchedulerObject, environment

__all__ = ["Mutation", "Query", "ShardCore", "job"]

Mutation = MutationContext[BufferedScheduler]
Query = QueryContext

_SCHEMA: Final = ("schema.sql", "CREATE TABLE notes (text TEXT NOT NULL)")


def job(job_id: str = "j", incarnation: str = "i", attempt: int = 1) -> Job:
    """A job that a mutation runs for."""
    return Job(id=job_id, incarnation=incarnation, attempt=attempt, scheduled_for=NOW)


class ShardCore:
    """A shard with a table of notes; each function has the path ``m:`` and its name."""

    def __init__(
        self,
        *mutations: Callable[..., Any],
        queries: Sequence[Callable[..., Any]] = (),
        migrations: Sequence[Migration] = (_SCHEMA,),
        **variables: Any,
    ) -> None:
        env = environment(**variables)
        self.namespace = Namespace(env)
        self.store = SqliteStore()
        migrate_shard(self.store, migrations)
        self.wakes: list[int] = []
        self.functions = FunctionTable(
            {f"m:{function.__name__}": register(function, kind="mutation", internal=False) for function in mutations}
            | {f"m:{function.__name__}": register(function, kind="query", internal=False) for function in queries}
        )
        self.shard = Shard(self.store, self.functions, ready=lambda: check_settings(env), wake=self.wakes.append)
        self.scheduler = Scheduler(lambda: self.namespace.default, now=lambda: NOW)
        self.rounds = 0

    @property
    def object(self) -> SchedulerObject:
        return self.namespace.default

    def call(
        self,
        function: Callable[..., Any] | str,
        args: Mapping[str, Any] | None = None,
        *,
        now: int = NOW,
        seed: int = 1,
        running: Job | None = None,
        answers: Mapping[Any, Any] | None = None,
        auth: Auth | None = None,
    ) -> Any:
        """Run a function once, as it is run while it asks nothing; returns its result."""
        path = function if isinstance(function, str) else f"m:{function.__name__}"
        call = ShardCall(path=path, args=json.dumps(args or {}), auth=auth or Auth(), job=running)
        registered = self.functions.get(path)
        run = self.shard.query if registered is not None and registered.kind == "query" else self.shard.mutate
        return json.loads(run(call, Round(now=now, seed=seed, answers=answers or {})))

    async def mutate(
        self,
        function: Callable[..., Any],
        args: Mapping[str, Any] | None = None,
        *,
        now: int = NOW,
        seed: int = 1,
        running: Job | None = None,
    ) -> Any:
        """Run a mutation as often as it asks something new; `rounds` then says how often that was."""
        path = f"m:{function.__name__}"
        call = ShardCall(path=path, args=json.dumps(args or {}), auth=Auth(), job=running)
        self.rounds = 1

        async def ask(method: str, argument: str) -> Any:
            self.rounds += 1
            return await self.scheduler.ask(method, argument)

        return json.loads(await self.shard.mutate_asking(call, Round(now=now, seed=seed, answers={}), ask))

    async def send(self) -> None:
        """Hand over the outbox."""
        while rows := self.shard.outbox.page():
            self.shard.outbox.forget(await self.scheduler.accept("s", rows))

    def notes(self) -> list[str]:
        return [row["text"] for row in self.store.execute("SELECT text FROM notes ORDER BY rowid")]

    def rows(self) -> list[tuple[str, str]]:
        """What is in the outbox: kinds and ids."""
        return [(row["kind"], row["id"]) for row in self.shard.outbox.page()]

    def applied(self) -> list[tuple[str, str]]:
        """The jobs that have had their effect: ids and incarnations."""
        rows = self.store.execute("SELECT job, incarnation FROM _lunora_applied ORDER BY job, incarnation")
        return [(row["job"], row["incarnation"]) for row in rows]

    def nothing_happened(self) -> bool:
        return (self.notes(), self.rows(), self.applied(), self.wakes) == ([], [], [], [])
