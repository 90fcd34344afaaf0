"""The app's users: they schedule, repeat themselves, cancel, look, and care for the dead letters."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.refs import Kind as FunctionKind
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.job import State
from lunorash.scheduler.options import RunOptions
from lunorash.scheduler.pool import DEFAULT_MAX_CONCURRENCY
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.workpool import Workpool
from lunorash.shard.calls import ShardCall

from .bulk import BulkClients
from .faults import Faults, Kind
from .journal import Journal
from .plans import Plan
from .platform import Platform, Stub
from .scheduler_object import SchedulerObject
from .shards import SHARD_KEYS, SimulatedShards

__all__ = ["ALL_STATES", "POOLS", "Clients"]

T = TypeVar("T")

ALL_STATES: Final[tuple[State, ...]] = ("running", "pending", "succeeded", "canceled", "dead")

_USUAL: Final = (
    *("app:ok",) * 8,
    "app:sync",
    "app:sync",
    "app:flaky",
    "app:flaky",
    "app:flaky",
    "app:broken",
    "app:broken",
    "app:hang",
    "app:deadly",
    "app:stubborn",
    "app:late",
    "app:grown",
    "app:garbage",
    "shard:apply",
    "shard:apply",
    "shard:apply",
    "shard:order",
    "shard:ask",
    "shard:garble",
)
_REFUSED: Final = ("app:misfit", "app:unknown")
"""Tried thirty times before they are given up, and so as dear as thirty others."""
_TARGETS: Final = (*_USUAL * 2, *_REFUSED)
_POLICIES: Final = (
    RetryPolicy(),
    RetryPolicy(max_attempts=1, base_ms=1),
    RetryPolicy(max_attempts=3, base_ms=200, backoff="linear"),
    RetryPolicy(max_attempts=2, base_ms=5_000, jitter=1.0),
    RetryPolicy(max_attempts=8, base_ms=1_000, max_ms=20_000, jitter=0.5),
    RetryPolicy(max_attempts=3, base_ms=1_800_000, backoff="linear"),
)


CONTESTED: Final = "twice"
"""A job that mutations of several shards may ask for: one gets it, and the others are refused."""

_FAULTY: Final[dict[str, Kind]] = {
    "app:hang": "handler-hang",
    "app:deadly": "handler-kill",
    "app:garbage": "handler-garbage",
    "shard:garble": "handler-garbage",
}

POOLS: Final = {"narrow": 1, "wide": 3, "nameless": 0}
"""Pools and their caps. The last one is only named by jobs: nobody gives it a cap."""

_KINDS: Final[tuple[tuple[FunctionKind, str | None], ...]] = (
    *(("action", None),) * 3,
    *(("mutation", SHARD_KEYS[1]),) * 3,
    ("mutation", SHARD_KEYS[0]),
    ("query", SHARD_KEYS[1]),
)
"""What jobs are taken for, and their shards: with whom they may travel."""

_ALIKE: Final = (_KINDS[0], *(("mutation", SHARD_KEYS[1]),) * 5)
"""The same where most of them may travel together."""


class Clients:
    """All clients of one simulation, with the real client inside.

    Args:
        seed: decides what they want.
        platform: where the SchedulerDO is.
        faults: say how much there is to do, and for how long.
        journal: learns of answers that cannot be right.
        shards: run mutations that schedule.
        jobs: only so many of the jobs and orders that there would be; None for all.
    """

    def __init__(  # noqa: PLR0917 - the parts of a world
        self,
        seed: int,
        platform: Platform[SchedulerObject],
        faults: Faults,
        journal: Journal,
        shards: SimulatedShards,
        jobs: int | None = None,
    ) -> None:
        self._seed = seed
        self._random = random.Random(f"clients {seed}")  # noqa: S311 - it has to replay
        self._pool_random = random.Random(f"pools {seed}")  # noqa: S311
        self._order_random = random.Random(f"orders {seed}")  # noqa: S311
        self._kind_random = random.Random(f"kinds {seed}")  # noqa: S311
        crowd = faults.mood == "crowd"
        self._together = self._kind_random.choice((None, 40.0, 40.0, 40.0) if crowd else (None, 40.0))
        self._kinds = self._kind_random.choice((_KINDS, _ALIKE)) if self._together else _KINDS
        self._shards = shards
        self._platform = platform
        self._faults = faults
        self._journal = journal
        self.scheduler = self._scheduler("x")
        self.plans = [self._plan(number) for number in range(faults.jobs)][:jobs]
        self.orders = [f"order{number}" for number in range(self._order_random.randint(0, 3))][:jobs]
        if jobs is None and self._order_random.random() < 0.15:
            self.orders += [CONTESTED] * 2
        self.ordered: set[str] = set()
        """Of the orders those that have landed, as far as the clients know."""
        self._bulk = BulkClients(seed, faults, journal, scheduler=self._scheduler, workpool=self._workpool)
        self._jobs = jobs
        self.caps = {name: {cap, DEFAULT_MAX_CONCURRENCY} for name, cap in POOLS.items()}
        """Of each pool all caps that somebody asked for, and the one that it has until somebody does."""

    async def run(self) -> None:
        """Everything they do, until the horizon."""
        async with asyncio.TaskGroup() as group:
            for party in self._bulk.parties(self.plans):
                group.create_task(self._want(party))
            if self._jobs is None:
                group.create_task(self._bulk.fill(self.plans))
            for number, order in enumerate(self.orders):
                group.create_task(self._order(order, random.Random(f"order {number} {self._seed}")))  # noqa: S311
            group.create_task(self._care())
            group.create_task(self._steer())

    def retries(self, job_id: str) -> int:
        """How often a job may be tried again."""
        policies = (plan.options.retry for plan in self.plans if plan.id == job_id)
        return (next(policies, None) or RetryPolicy()).max_attempts

    def _scheduler(self, incarnation: str) -> Scheduler:
        return Scheduler(lambda: Stub(self._platform), now=self._platform.clock.workers, mint=lambda: incarnation)

    def _plan(self, number: int) -> Plan:
        draw = self._random
        crowd = self._faults.mood == "crowd"
        target = draw.choice((*("app:ok",) * 8, "app:sync", "app:hang")) if crowd else draw.choice(_TARGETS)
        kind, shard_key = self._kind_random.choice(self._kinds)
        if kind == "mutation" and target == "app:ok" and (self._together is not None or not crowd):
            target = draw.choice((*("shard:apply",) * 4, "shard:ask"))  # mostly a job is what it is taken for
        duration = draw.choice((5, 300, 4_000, 25_000, 90_000))
        args: dict[str, Any] = {"ms": 30_000 if crowd else duration + draw.randrange(7)}
        if target in ("app:flaky", "app:deadly"):
            args["fails"] = draw.choice((1, 2, 99))
        if target == "app:grown":
            args["note"] = "new"
        if target.startswith("shard:"):
            args = {"fails": draw.choice((0, 0, 1, 99))} if target == "shard:apply" else {}
        if target in _FAULTY and _FAULTY[target] in self._faults.without:
            target, args = "app:ok", {"ms": duration}
        if target == "app:misfit":
            target, args = "app:ok", {"nobody": "takes this"}
        delays = (0, 0, 1, 250, 3_000, 40_000, 600_000, 3_600_000, 86_400_000, 8 * 86_400_000)
        pool, priority = self._pool(crowd=crowd)
        at = draw.uniform(0, 5) if crowd else draw.uniform(0, draw.choice((1.0, 0.02)) * self._faults.horizon)
        return Plan(
            id=f"job{number}",
            incarnation=f"inc{number}",
            at=at if self._together is None else at % 30,
            delay=draw.choice((0, 0, 900)) if crowd else draw.choice(delays) + draw.randrange(3),
            target=target,
            args=args,
            options=RunOptions(
                id=f"job{number}",
                retry=draw.choice(_POLICIES),
                shard_key=shard_key,
                # longer than a lease and a silence, and no longer: each further second is like the one before
                timeout=60_000 if crowd else draw.choice((3_000, 30_000, 120_000, 150_000)),
                pool=pool,
                priority=priority,
            ),
            kind=kind,
            together=self._together,
        )

    def _pool(self, *, crowd: bool) -> tuple[str | None, int]:
        """Where a job runs: half of them in no pool, of a crowd most."""
        draw = self._pool_random
        pool = draw.choice((*(None,) * (30 if crowd else 3), *POOLS))
        return pool, draw.choice((0, 0, 0, -10, 1, 10)) if pool else 0

    def _workpool(self, name: str, incarnation: str = "x") -> Workpool:
        return Workpool(
            lambda: Stub(self._platform),
            name,
            POOLS[name],
            now=self._platform.clock.workers,
            mint=lambda: incarnation,
        )

    # -- one job ---------------------------------------------------------------------------------------

    async def _want(self, party: Sequence[Plan]) -> None:
        await asyncio.sleep(party[0].at)
        if len(party) > 1:
            await self._bulk.schedule(party)
        await asyncio.gather(*(self._look_after(plan) for plan in party))

    async def _look_after(self, plan: Plan) -> None:
        draw = random.Random(f"{plan.id} {self._seed}")  # noqa: S311
        for _ in range(draw.choice((1, 20, 20, 20))):
            if plan.acknowledged or await self._schedule(plan):
                break
            await asyncio.sleep(self._faults.wait(10, plan.id))
        if plan.acknowledged and draw.random() < 0.2:
            await self._schedule(plan)  # it does not know that it has landed
        if plan.acknowledged and draw.random() < 0.2:
            await self._take(plan)
        if draw.random() < 0.3:
            soon, later = draw.choice((0.02, 2.0, 60.0, plan.delay / 1000)), plan.delay / 1000 + draw.random() * 20
            await asyncio.sleep(draw.choice((soon * draw.random() * 2, later)))  # later: while it runs
            await self._try(lambda: self.scheduler.cancel(plan.id))
        if draw.random() < 0.3:
            found = await self._try(lambda: self.scheduler.get(plan.id))
            if found is not None and found.target != ("app:ok" if plan.taken else plan.target):
                self._journal.violate("what is read was written", "%s has the target %s", plan.id, found.target)

    async def _schedule(self, plan: Plan) -> bool:
        again = plan.acknowledged
        pool = plan.options.pool
        delay = plan.delay_at(asyncio.get_running_loop().time())
        try:
            if pool is not None and POOLS[pool]:
                workpool = self._workpool(pool, plan.incarnation)
                landed = await workpool.enqueue(plan.reference, plan.args, plan.options, delay=delay)
            else:
                scheduler = self._scheduler(plan.incarnation)
                landed = await scheduler.run_after(delay, plan.reference, plan.args, plan.options)
        except LunoraError as error:
            if error.code not in ("SCHEDULER_UNAVAILABLE", "ORIGIN_NOT_CONFIGURED"):
                self._journal.violate("a repeated call is recognised", "%s: %s", plan.id, error)
            return False
        if landed != plan.id:
            self._journal.violate("a repeated call is recognised", "%s is called %s", plan.id, landed)
        plan.acknowledged = True
        self._journal.note("client: %s is scheduled%s", plan.id, " again" if again else "")
        return True

    async def _take(self, plan: Plan) -> None:
        """Somebody else wants the same id, and gets it if it is free."""
        known = self._known(plan.id)
        try:
            await self._scheduler(plan.incarnation + "-other").run_after(0, "app:ok", {"ms": 1}, plan.options)
        except LunoraError as error:
            if error.code not in ("SCHEDULER_UNAVAILABLE", "ORIGIN_NOT_CONFIGURED", "DUPLICATE_SCHEDULE_ID"):
                self._journal.violate("an id is taken once", "%s: %s", plan.id, error)
        else:
            if known and self._known(plan.id):
                self._journal.violate("an id is taken once", "%s was given away twice", plan.id)
            plan.taken = True

    async def _order(self, order: str, draw: random.Random) -> None:
        """A mutation schedules a job, and perhaps another one takes that back."""
        key = draw.choice((None, SHARD_KEYS[1]))
        await asyncio.sleep(draw.random() * self._faults.horizon)
        for _ in range(20):
            if await self._mutate("shard:order", {"id": order, "delay": draw.choice((0, 3_000, 600_000))}, key):
                self.ordered.add(order)
                break
            await asyncio.sleep(self._faults.wait(10, order))
        if draw.random() < 0.5 and order != CONTESTED:
            await asyncio.sleep(draw.choice((0.02, 2.0, 60.0)) * draw.random())
            await self._mutate("shard:withdraw", {"id": order}, key)

    async def _mutate(self, path: str, args: dict[str, Any], key: str | None) -> bool:
        """Call a mutation; False if it may have landed or not."""
        try:
            await self._shards.client.mutate(ShardCall(path=path, args=json.dumps(args), auth=Auth()), key)
        except LunoraError as error:
            if error.code == "SQL_FAILED":  # it is there: an earlier call had landed
                return True
            if error.code != "SHARD_UNAVAILABLE":
                self._journal.violate("no call raises", "%s: %s", path, error)
            return False
        return True

    def _known(self, job_id: str) -> bool:
        return bool(
            self._platform.storage.rows.execute(
                "SELECT 1 FROM jobs WHERE id = ? AND scheduled_as NOT LIKE '%-other'", job_id
            )
        )

    # -- all of them -----------------------------------------------------------------------------------

    async def _care(self) -> None:
        draw = self._random
        end = asyncio.get_running_loop().time() + self._faults.horizon
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(self._faults.wait(self._faults.horizon / 12, "care"))
            await self._try(self.scheduler.status)
            page = await self._try(lambda: self.scheduler.dead(limit=5))
            for letter in page.jobs if page else ():
                match draw.randrange(4):
                    case 0:
                        await self._try(lambda job=letter.id: self.scheduler.dead_drop(job))  # type: ignore[misc]
                    case 1:
                        await self._try(lambda job=letter.id: self.scheduler.dead_retry(job))  # type: ignore[misc]
            if draw.random() < 0.1:
                await self._try(lambda: self.scheduler.cancel("nobody"))
            if draw.random() < 0.15:
                await self._bulk.change()
            await self._try(lambda: self.scheduler.list(states=ALL_STATES, limit=draw.randint(1, 20)))

    async def _steer(self) -> None:
        """Somebody pauses pools, changes their caps, and looks."""
        draw = self._pool_random
        end = asyncio.get_running_loop().time() + self._faults.horizon
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.001 + draw.expovariate(12 / self._faults.horizon))
            pool = self._workpool(draw.choice(("narrow", "wide")))
            change = draw.choice((pool.status, pool.pause, pool.resume, pool.resume, lambda pool=pool: self._cap(pool)))
            self._journal.count("pool changes")
            await self._try(change)
        for name in ("narrow", "wide"):  # everything has to come to its end
            for _ in range(1_000):
                if await self._try(self._workpool(name).resume):
                    break
                await asyncio.sleep(60)

    def _cap(self, pool: Workpool) -> Awaitable[object]:
        cap = self._pool_random.randint(1, POOLS[pool.name] + 2)
        self.caps[pool.name].add(cap)
        return pool.set_max_concurrency(cap)

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T | None:
        try:
            return await call()
        except LunoraError as error:
            if error.code != "SCHEDULER_UNAVAILABLE":
                self._journal.violate("no call raises", "%s", error)
            return None
