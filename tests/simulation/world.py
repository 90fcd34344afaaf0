"""One simulation: the world is put together, runs, is left alone until it has come to rest, and is looked over."""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
from collections.abc import Callable
from typing import Any, Final

from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.history import DEAD_RETENTION_MS, HISTORY_MS

from .clients import ALL_STATES, Clients
from .clock import Clock
from .durable import ObjectStore
from .faults import EPOCH_MS, Faults, Kind
from .journal import Journal, Run, Violation
from .network import Network, SimulatedTransport
from .platform import Platform, Stub
from .pools import Pools
from .process import Crash, Process
from .rows import Rows
from .scenario import Scenario
from .scheduler_object import SchedulerObject
from .shards import SimulatedShards
from .tables import Tables
from .virtual_loop import Deadlock, Endless, VirtualLoop
from .wakes import Wakes
from .worker import ORIGIN, Worker

__all__ = ["World"]

_MONTH_S: Final = 30 * 24 * 3600
_DAY_MS: Final = 24 * 3600 * 1000
_ONE_BY_ONE: Final = BatchSizes(mutations=1, actions=1)


class World:
    """The world of one seed.

    Args:
        scenario: everything that happens is a function of it; a number is the whole scenario of that seed.
    """

    def __init__(self, scenario: Scenario | int) -> None:
        self.scenario = scenario = Scenario(scenario) if isinstance(scenario, int) else scenario
        seed = scenario.seed
        self.faults = Faults(seed, scenario.without)
        self._shuffler = random.Random(f"order {seed}")  # noqa: S311 - it has to replay
        self._engine_random = random.Random(f"engine {seed}")  # noqa: S311
        self._ids = itertools.count(1)
        sizes = random.Random(f"sizes {seed}")  # noqa: S311
        self._history = random.Random(f"history {seed}").random() < 0.7  # noqa: S311
        self._sizes = sizes.choice((BatchSizes(), BatchSizes(), BatchSizes(mutations=4, actions=2), _ONE_BY_ONE))
        self.loop = VirtualLoop(self._shuffler.shuffle)
        self.loop.set_exception_handler(self._unexpected)
        self.clock = Clock(self.loop, self.faults.clocks_apart)
        self.journal = Journal(clock=self.clock.steady, stop=self.loop.stop)
        self.platform: Platform[SchedulerObject] = Platform(self.loop, self.clock, self.faults, self.journal)
        self.shards = SimulatedShards(
            seed,
            self.loop,
            self.clock,
            self.faults,
            self.journal,
            scheduler=lambda: Scheduler(lambda: Stub(self.platform), now=self.clock.now),
        )
        self.worker = Worker(self.loop, self.platform, self.faults, self.journal, self.shards)
        self.network = Network(self.platform, self.journal, faults=self.faults, deliver=self.worker.receive)
        self.tables = tables = Tables(self.platform.storage.rows)
        self.rows = Rows(
            self.platform,
            self.journal,
            self.network,
            tables,
            steady=self.faults.steady,
            sizes=self._sizes,
            history=self._history,
        )
        self._cut_short: set[str] = set()
        self.pools = Pools(self.platform, self.journal, tables)
        outages = len(self.faults.outages)
        self.wakes = Wakes(self.platform, self.journal, tables, self.pools, self.rows, outages=outages)
        self.journal.on_start = self._starts
        self.rows.succeeded = self.shards.succeeded
        self.shards.withdrawn = self.rows.withdrawn
        self.clients = Clients(seed, self.platform, self.faults, self.journal, self.shards, scenario.jobs)
        self.rows.retries = self.clients.retries
        self.pools.caps = self.clients.caps
        self.platform.build = self._build
        self.platform.watch = self._watch
        self.platform.passed = self.wakes.passed
        self.platform.answered = self.wakes.answered
        self.network.probed = self.wakes.probed

    @property
    def _origin(self) -> str | None:
        outage = self.faults.outage(self.loop.time())
        return None if outage is not None and outage.kind == "unconfigured" else ORIGIN

    def run(self) -> Violation | None:
        """Run it to its end; returns the promise that was broken, if one was."""
        collecting = gc.isenabled()
        gc.disable()  # what a collection finalises depends on what ran before: a seed would not replay
        try:
            self.loop.call_soon(lambda: self.loop.create_task(self._story()).add_done_callback(self._over))
            self.loop.run_forever()
        except Deadlock:
            self.journal.violate("it goes on", "nothing is ready and no timer is set")
        except Endless:
            self.journal.violate("it ends", "there is always something that goes on")
        finally:
            self.platform.bury()
            self.shards.bury()
            self.worker.bury()
            self.loop.close()
            if collecting:
                gc.enable()
        return self.journal.violation

    def _over(self, story: asyncio.Task[None]) -> None:
        if story.exception() is not None:
            self.journal.violate("the story ends", "%r", story.exception())
        self.loop.stop()

    # -- the story -------------------------------------------------------------------------------------

    async def _story(self) -> None:
        chaos = [
            self._repeat("kill", self.faults.kill_every, self._kill),
            self._repeat("isolate-kill", self.faults.isolate_kill_every, self._kill_isolate),
            self._repeat("deploy", self.faults.deploy_every, self._deploy),
            self._repeat("clock-jump", self.faults.jump_every, self._jump),
            self._roll_out(),
            self._reconfigure(),
        ]
        tasks = [asyncio.create_task(part) for part in chaos]
        if self.scenario.calm_after is not None:
            self.loop.call_later(self.scenario.calm_after, self._calm)
        await asyncio.gather(self.clients.run(), asyncio.sleep(self.faults.horizon))
        for task in tasks:
            task.cancel()
        self._calm()
        await self._rest()
        self._lost()
        await self._walk()
        self._expect()
        await self._prune()
        self.wakes.check_count()

    def _calm(self) -> None:
        """From now on nothing goes wrong any more."""
        if self.faults.quiet:
            return
        self.faults.quiet = True
        # whoever had just done its work, and was not heard of yet, does it again: seed 5524
        self._cut_short = {row["id"] for row in self.rows if row["state"] == "running"}
        self.worker.replace_all()
        if self.faults.outages or self.faults.random.random() < 0.5:
            self.platform.kill("a deployment")
            self.shards.replace_all()
        self.journal.note("faults have stopped")

    async def _repeat(self, kind: Kind, mean: float, work: Callable[[], None]) -> None:
        while mean:
            # ever more seldom, since some clients wait for days
            late = self.loop.time() - self.faults.horizon
            await asyncio.sleep(self.faults.wait(max(mean, late / 5), kind))
            if self.faults.chance(kind, 1):
                work()

    def _kill(self) -> None:
        if self.faults.random.random() < 0.3:
            self.shards.kill_one()
        elif self.platform.process is not None:
            self.faults.struck("kill")
            self.platform.kill("at random")

    def _kill_isolate(self) -> None:
        if self.worker.kill_one():
            self.faults.struck("isolate-kill")

    def _jump(self) -> None:
        """All clocks are set."""
        by = self.faults.jump_ms()
        self.journal.note("the clocks jump by %d ms", by)
        self.journal.count("clock jumps")
        self.clock.jump(by)
        self.platform.clock_jumped()
        self.shards.clock_jumped()

    async def _roll_out(self) -> None:
        """When a gradual deploy ends, nothing of the version before is left."""
        for rollout in sorted(self.faults.rollouts, key=lambda window: window.end):
            await asyncio.sleep(rollout.end - self.loop.time())
            self.worker.replace_old()

    async def _reconfigure(self) -> None:
        """A deployment without an origin, and the next one that has it again."""
        for outage in self.faults.outages:
            for moment in (outage.start, outage.end):
                await asyncio.sleep(moment - self.loop.time())
                self.journal.note("outage %s: %s", outage.kind, "begins" if moment == outage.start else "ends")
                if outage.kind == "unconfigured" and not self.faults.quiet:
                    self._deploy()

    def _deploy(self) -> None:
        self.faults.struck("deploy")
        self.platform.kill("a deployment")
        self.shards.replace_all()
        self.worker.replace_all()

    async def _rest(self) -> None:
        """Nothing goes wrong any more, so everything has to come to an end."""
        pause, waited = 10.0, 0.0
        while waiting := [*self.shards.unsent(), *self.rows.waiting()]:
            if waited > _MONTH_S:
                self.journal.violate("everything comes to rest", "after a month %s have not", waiting)
                return
            await asyncio.sleep(pause)
            waited += pause
            pause = min(pause * 1.5, 6 * 3600)
        await asyncio.sleep(900)  # what runs unheard ends as well

    def _lost(self) -> None:
        stored = {row["id"] for row in self.rows}
        orders = self.shards.orders()
        for order in orders - stored - self.rows.gone:
            self.journal.violate("no job is lost", "%s was committed and is nowhere", order)
        for order in self.clients.ordered - orders:
            self.journal.violate("no job is lost", "%s was answered and is not committed", order)
        for order in stored - orders - {plan.id for plan in self.clients.plans} - self.rows.refused:
            self.journal.violate("what is rolled back was never asked for", "%s is there", order)
        for plan in self.clients.plans:
            if plan.acknowledged and plan.id not in stored and plan.id not in self.rows.gone:
                self.journal.violate("no job is lost", "%s was acknowledged and is nowhere", plan.id)

    async def _walk(self) -> None:
        """The pages show every job once. What is pruned meanwhile, as in seed 8973, may be among them."""
        before = self._kept()
        listed = [job.id async for job in self.clients.scheduler.walk(states=ALL_STATES)]
        if len(listed) != len(set(listed)) or not self._kept() <= set(listed) <= before:
            self.journal.violate("pages show every job once", "they show %s of %s", sorted(listed), sorted(before))

    def _kept(self) -> set[str]:
        return {row["id"] for row in self.rows if row["id"] not in self.rows.remembered}

    def _expect(self) -> None:
        """Without faults every job runs exactly as often as it has to."""
        if self.faults.mood not in ("calm", "crowd") or self.faults.deploy_every or self.faults.rollouts:
            return
        if self.faults.happened["handler-kill"]:
            return  # it may have taken the answer of a neighbour with it
        for job, runs in self.journal.runs.items():
            outcomes = [run.outcome for run in runs if run.attempt.incarnation == runs[-1].attempt.incarnation]
            if len(outcomes) > 1 and set(outcomes) == {"ok"} and job not in self._cut_short:
                self.journal.violate("in calm weather a job runs once", "%s ran %d times", job, len(outcomes))

    async def _prune(self) -> None:
        """After their retention all rows are gone, and nothing wakes any more."""
        await asyncio.sleep((HISTORY_MS + _DAY_MS) / 1000)
        if any(row["state"] != "dead" for row in self.rows):
            self.journal.violate("history is pruned", "%s is left", [row["id"] for row in self.rows])
        await asyncio.sleep((DEAD_RETENTION_MS + _DAY_MS) / 1000)
        rows = self.platform.storage.rows
        counts = {
            table: rows.execute(f"SELECT count(*) AS n FROM {table}")[0]["n"]
            for table in ("jobs", "dispatches", "attempts", "tombstones", "remembered", "origins")
        }
        origins = counts.pop("origins")
        if any(counts.values()) or origins > 1:
            self.journal.violate("storage is empty in the end", "%s, %d origins", counts, origins)
        if rows.execute("SELECT 1 FROM history WHERE kept <> 0"):
            self.journal.violate("storage is empty in the end", "more history is counted than there is")
        if self.shards.unsent():
            self.journal.violate("storage is empty in the end", "there are rows in %s", self.shards.unsent())
        if self.platform.storage.alarm is not None or not self.shards.is_at_rest():
            self.journal.violate("nothing wakes in the end", "an alarm is armed")

    # -- the world -------------------------------------------------------------------------------------

    def _build(self, store: ObjectStore, process: Process) -> SchedulerObject:
        origin = self._origin
        transport = SimulatedTransport(self.network, process, origin or "", room_changed=self.wakes.check)
        return SchedulerObject(
            store,
            set_alarm=self.platform.set_alarm,
            delete_alarm=self.platform.delete_alarm,
            transport=transport,
            origin=origin,
            clock=self.clock.now,
            random=self._engine_random.random,
            mint=lambda: f"m{next(self._ids)}",
            journal=self.journal,
            sizes=self._sizes,
            history=self._history,
        )

    def _starts(self, run: Run) -> None:
        self.rows.starts(run)
        self.pools.starts(run)

    def _watch(self) -> None:
        changes = self.tables.look()
        if changes:
            self.rows.committed(changes.get("jobs", ()))
            self.pools.check(changes)
        self.wakes.committed(changes, self._origin)
        self.wakes.check()

    def _unexpected(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Crash):
            self.journal.violate("nothing unexpected", "%s", context)

    def report(self, lines: int = 80) -> str:
        """What was broken, and how it came to that."""
        violation = self.journal.violation
        if violation is None:
            return f"seed {self.scenario.seed}: nothing was broken"
        return "\n".join(
            (
                *self.journal.trace(lines, EPOCH_MS),
                f"seed {self.scenario.seed} ({self.faults.mood}) breaks: {violation.invariant}: {violation.what}",
                f"replay it with: {self.scenario.command()}",
            )
        )
