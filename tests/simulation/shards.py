"""The shards: the real core on rows that outlive crashes, an outbox that is sent, and what a mutation may do once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Final

from lunorash.contexts import MutationContext
from lunorash.errors import LunoraError, UnavailableError
from lunorash.functions import FunctionTable, register
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.deadlines import Deadlines
from lunorash.scheduler.options import RunOptions
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Row
from lunorash.shard.answers import outcome_answer
from lunorash.shard.buffered_scheduler import BufferedScheduler, NeedsAnswerError
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards
from lunorash.shard.schema import migrate_shard
from lunorash.shard.shard import Round, Shard

from .clock import Clock
from .durable import ObjectStore
from .faults import Faults
from .journal import Journal
from .platform import Platform, Stub
from .process import Process

__all__ = ["SHARD_KEYS", "ShardObject", "SimulatedShards"]

SHARD_KEYS: Final = ("default", "b")
_SCHEMA: Final = """
CREATE TABLE effects (job TEXT NOT NULL, incarnation TEXT NOT NULL);
CREATE TABLE orders (id TEXT PRIMARY KEY);
CREATE TABLE withdrawals (id TEXT PRIMARY KEY)
"""
_REPAIR_MS: Final = 2_000
_REPAIRS: Final = RetryPolicy(base_ms=1_000, max_ms=60_000, jitter=0.2)
_SEND_TIMEOUT_S: Final = 10

Mutation = MutationContext[BufferedScheduler]


async def _apply(ctx: Mutation, fails: int = 0) -> str:
    """Have an effect; the first attempts fail when they have had it, and it is undone."""
    assert ctx.job is not None
    ctx.db.execute("INSERT INTO effects VALUES (?, ?)", ctx.job.id, ctx.job.incarnation)
    if ctx.job.attempt <= fails:
        raise ValueError("not yet")
    return ctx.job.id


async def _garble(ctx: Mutation) -> object:
    """Have an effect, and return what is no JSON: the effect is undone."""
    assert ctx.job is not None
    ctx.db.execute("INSERT INTO effects VALUES (?, ?)", ctx.job.id, ctx.job.incarnation)
    return object()


async def _order(ctx: Mutation, id: str | None = None, delay: int = 0) -> str:  # noqa: A002
    """Schedule a job: as a job of its own, whose effect this is, or because a client asks for it."""
    if ctx.job is not None:
        ctx.db.execute("INSERT INTO effects VALUES (?, ?)", ctx.job.id, ctx.job.incarnation)
        id = f"{ctx.job.id}-{ctx.job.incarnation}"  # noqa: A001
    assert id is not None
    ctx.db.execute("INSERT INTO orders VALUES (?)", id)
    return await ctx.scheduler.run_after(delay, "app:ok", {"ms": 5}, RunOptions(id=id))


async def _ask(ctx: Mutation) -> bool:
    """Have an effect, and ask the SchedulerDO something: the effect is undone, and had when the answer is there."""
    assert ctx.job is not None
    ctx.db.execute("INSERT INTO effects VALUES (?, ?)", ctx.job.id, ctx.job.incarnation)
    return await ctx.scheduler.get(ctx.job.id) is not None


async def _withdraw(ctx: Mutation, id: str) -> None:  # noqa: A002
    """Cancel what was ordered."""
    ctx.db.execute("INSERT OR IGNORE INTO withdrawals VALUES (?)", id)
    await ctx.scheduler.cancel(id)


async def _elsewhere(_: object, ms: int) -> None:
    """What the app has for the job of an order. Here it is only looked up."""


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "shard:apply": _apply,
    "shard:ask": _ask,
    "shard:garble": _garble,
    "shard:order": _order,
    "shard:withdraw": _withdraw,
}

_TABLE: Final = FunctionTable(
    {path: register(function, kind="mutation", internal=True) for path, function in _FUNCTIONS.items()}
    | {"app:ok": register(_elsewhere, kind="action", internal=True)}
)
"""Made once: it takes a while to find out what functions take."""


class ShardObject:
    """One life of a shard: step by step what `lunorash.shard.durable_object` does, which needs a Worker around it.

    Args:
        store: its rows.
        functions: the app's.
        platform: has its alarm.
        scheduler: calls the SchedulerDO.
        random: of its mutations and its waits.
        journal: learns what should never come up.
    """

    def __init__(  # noqa: PLR0917 - the parts of a shard
        self,
        store: ObjectStore,
        functions: FunctionTable,
        platform: Platform[ShardObject],
        scheduler: Scheduler,
        random: Random,
        journal: Journal,
    ) -> None:
        migrate_shard(store, [("schema.sql", _SCHEMA)])
        self._store = store
        self._platform = platform
        self._scheduler = scheduler
        self._random = random
        self._journal = journal
        self._failures = 0
        self._sending = asyncio.Lock()
        self._deadlines = Deadlines()
        self._shard = Shard(store, functions, ready=lambda: None, wake=lambda now: platform.set_alarm(now + _REPAIR_MS))

    async def mutate(self, text: str) -> str:
        """Run a mutation."""
        return await self._answer(lambda: self._mutate(ShardCall.from_text(text)))

    async def mutate_many(self, text: str) -> str:
        """Run mutations of jobs, of which one that fails is undone by itself."""

        async def work() -> list[dict[str, Any]]:
            calls = ShardCall.many_from_text(text)
            for _ in calls:
                self._journal.count("mutations in company")
            outcomes = self._shard.mutate_many(calls, self._round)
            self._journal.counts["questions in company"] += sum(isinstance(one, NeedsAnswerError) for one in outcomes)
            await self._hand_over()
            return [_outcome(call, outcome) for call, outcome in zip(calls, outcomes, strict=True)]

        return await self._answer(work)

    async def alarm(self) -> None:
        """Send what a crash or an outage has left in the outbox."""
        try:
            await self._send_outbox()
        except (LunoraError, TimeoutError) as error:
            self._failures += 1
            self._journal.note("%s: its outbox is not sent: %s", self._platform.name, error)
        else:
            self._failures = 0
        if not self._shard.outbox.is_empty():
            delay = _REPAIRS.delay_ms(max(1, self._failures), random=self._random.random)
            self._store.transaction(lambda: self._platform.set_alarm(self._platform.now() + delay))

    async def _mutate(self, call: ShardCall) -> str:
        result = await self._shard.mutate_asking(call, self._round(), self._scheduler.ask)
        await self._hand_over()
        return result

    def _round(self) -> Round:
        return Round(now=self._platform.now(), seed=self._random.getrandbits(128), answers={})

    async def _hand_over(self) -> None:
        if not self._shard.outbox.is_empty():
            try:
                await self._send_outbox()
            except (LunoraError, TimeoutError) as error:
                self._journal.note("%s: its outbox is not sent: %s", self._platform.name, error)

    async def _send_outbox(self) -> None:
        async with self._sending:
            while rows := self._shard.outbox.page():
                async with self._deadlines.within(_SEND_TIMEOUT_S):
                    accepted = await self._scheduler.accept(self._platform.name, rows)
                self._store.transaction(lambda accepted=accepted: self._forget(accepted))  # type: ignore[misc]

    def _forget(self, accepted: int) -> None:
        """What the platform writes at once, since nothing is awaited between."""
        self._shard.outbox.forget(accepted)
        if self._shard.outbox.is_empty():
            self._platform.delete_alarm()

    async def _answer(self, work: Callable[[], Awaitable[Any]]) -> str:
        try:
            return json.dumps({"ok": await work()})
        except (LunoraError, ValueError) as error:
            return json.dumps(_failure(error))


def _outcome(call: ShardCall, outcome: BaseException | str) -> dict[str, Any]:
    if isinstance(outcome, LunoraError | ValueError):
        return _failure(outcome)
    if isinstance(outcome, BaseException) and not isinstance(outcome, NeedsAnswerError):
        raise outcome
    return outcome_answer(call, outcome)


def _failure(error: LunoraError | ValueError) -> dict[str, Any]:
    if isinstance(error, LunoraError):
        return {"error": error.to_dict(), "status": error.status, "unavailable": isinstance(error, UnavailableError)}
    return {"error": LunoraError("INTERNAL", "unexpected").to_dict(), "detail": str(error)}  # a function raised it


class SimulatedShards:
    """All shards, and who watches them.

    Args:
        seed: of their randomness.
        loop: virtual time.
        clock: what they see of it.
        faults: decides what goes wrong.
        journal: learns of everything.
        scheduler: makes what calls the SchedulerDO.
    """

    def __init__(  # noqa: PLR0917 - the parts of a world
        self,
        seed: int,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        faults: Faults,
        journal: Journal,
        scheduler: Callable[[], Scheduler],
    ) -> None:
        self._faults = faults
        self._journal = journal
        self._scheduler = scheduler
        self._random = Random(f"shards {seed}")  # noqa: S311 - it has to replay
        self.functions = _TABLE
        self.platforms = {key: self._platform(key, loop, clock) for key in SHARD_KEYS}
        self.client = Shards(self)
        self.withdrawn: Callable[[str], None] = lambda _: None
        """Told of every job whose cancel the SchedulerDO has been handed."""
        self._effects: set[tuple[str, str]] = set()
        self._told: set[str] = set()
        self._seen: dict[str, int] = {}

    def _platform(self, key: str, loop: asyncio.AbstractEventLoop, clock: Clock) -> Platform[ShardObject]:
        platform: Platform[ShardObject] = Platform(
            loop, clock, self._faults, self._journal, f"shard {key}", "shard-crash"
        )

        def build(store: ObjectStore, _: Process) -> ShardObject:
            return ShardObject(store, self.functions, platform, self._scheduler(), self._random, self._journal)

        platform.build = build
        platform.watch = lambda: self._watch(platform)
        return platform

    # -- the binding -----------------------------------------------------------------------------------

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        """Of a binding."""
        return name

    def get(self, key: str) -> Stub:
        """Of a binding."""
        return Stub(self.platforms[key])

    # -- its lives -------------------------------------------------------------------------------------

    def kill_one(self) -> None:
        """Kill a shard."""
        self._random.choice([*self.platforms.values()]).kill("at random")

    def replace_all(self) -> None:
        """A deployment."""
        for platform in self.platforms.values():
            platform.kill("a deployment")

    def clock_jumped(self) -> None:
        """All alarms go off by the clock."""
        for platform in self.platforms.values():
            platform.clock_jumped()

    def bury(self) -> None:
        """Close what the shards have left."""
        for platform in self.platforms.values():
            platform.bury()

    # -- what is watched -------------------------------------------------------------------------------

    def _watch(self, platform: Platform[ShardObject]) -> None:
        """After a transaction: every effect is there once, and what was handed over is known to be."""
        rows = platform.storage.rows
        if self._seen.get(platform.name) == rows.version or not self._is_whole(platform):
            return
        self._seen[platform.name] = rows.version
        effects = [(row["job"], row["incarnation"]) for row in rows.execute("SELECT * FROM effects")]
        if len(effects) != len(set(effects)):
            twice = {effect for effect in effects if effects.count(effect) > 1}
            self._journal.violate("an effect happens once", "%s twice", twice)
        if not rows.execute("SELECT 1 FROM _lunora_outbox LIMIT 1"):
            for row in rows.execute("SELECT id FROM withdrawals"):
                if row["id"] not in self._told:
                    self._told.add(row["id"])
                    self.withdrawn(row["id"])
        elif platform.storage.alarm is None and not platform.firing:
            self._journal.violate("whatever waits has an alarm", "the outbox of %s has none", platform.name)

    def succeeded(self, job: Row) -> None:
        """A job is recorded as a success: its mutation has had its effect."""
        if not job["target"].startswith("shard:"):
            return
        self._journal.count("effects")
        rows = self.platforms[job["shard_key"] or "default"].storage.rows
        if not rows.execute("SELECT 1 FROM effects WHERE job = ? AND incarnation = ?", job["id"], job["incarnation"]):
            self._journal.violate("what succeeded has had its effect", "%s has not", job["id"])

    def unsent(self) -> list[str]:
        """The shards that have something in their outbox."""
        return [
            platform.name
            for platform in self.platforms.values()
            if self._is_whole(platform) and platform.storage.rows.execute("SELECT 1 FROM _lunora_outbox LIMIT 1")
        ]

    def orders(self) -> set[str]:
        """The jobs that mutations have scheduled and committed."""
        return {
            row["id"]
            for platform in self.platforms.values()
            if self._is_whole(platform)
            for row in platform.storage.rows.execute("SELECT id FROM orders")
        }

    def is_at_rest(self) -> bool:
        """Whether nothing wakes any more."""
        return all(platform.storage.alarm is None for platform in self.platforms.values())

    def _is_whole(self, platform: Platform[ShardObject]) -> bool:
        return bool(platform.storage.rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'withdrawals'"))
