"""The Worker: isolates that run the real receiver, and the app's functions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from lunorash.errors import LunoraError
from lunorash.scheduler.protocol import ReceivedAttempt, read_dispatch
from lunorash.scheduler.receiver import Receiver
from lunorash.scheduler.signing import verify
from lunorash.shard.gathering import Gathering

from .app import App
from .faults import Faults
from .journal import Journal, Run
from .network import KEY, Connection
from .platform import Disconnected, Platform
from .process import Process
from .scheduler_object import SchedulerObject
from .shards import SimulatedShards

__all__ = ["ORIGIN", "Worker"]

ORIGIN: Final = "https://app.example.com"
_OTHER_KEY: Final = b"o" * 32
_ISOLATES: Final = 3


class Isolate:
    """One isolate: its process, and which deployment it runs."""

    def __init__(self, process: Process, *, old: bool) -> None:
        self.process = process
        self.old = old
        self.connections: list[Connection] = []
        self.runs: list[Run] = []


class Worker:
    """All isolates of the Worker.

    Args:
        loop: virtual time.
        platform: where the SchedulerDO is.
        faults: decides what goes wrong.
        journal: learns what ran.
        shards: what its functions may call.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        platform: Platform[SchedulerObject],
        faults: Faults,
        journal: Journal,
        shards: SimulatedShards,
    ) -> None:
        self._loop = loop
        self._platform = platform
        self._faults = faults
        self._journal = journal
        self._shards = shards
        self._isolates: list[Isolate] = []
        self._buried: list[Process] = []

    # -- its isolates ----------------------------------------------------------------------------------

    def kill_one(self) -> bool:
        """Kill an isolate, if there is any."""
        if not self._isolates:
            return False
        self._kill(self._faults.random.choice(self._isolates), "at random")
        return True

    def replace_old(self) -> None:
        """A gradual deploy has come to its end."""
        for isolate in [*self._isolates]:
            if isolate.old:
                self._kill(isolate, "a deployment")

    def replace_all(self) -> None:
        """A deployment: no isolate stays."""
        for isolate in [*self._isolates]:
            self._kill(isolate, "a deployment")

    def bury(self) -> None:
        """Close what the isolates have left."""
        for process in self._buried:
            process.bury()

    def _kill(self, isolate: Isolate, why: str) -> None:
        if not isolate.process.alive:
            return
        self._journal.note("CRASH of %s: %s", isolate.process.name, why)
        self._journal.count("isolate crashes")
        self._isolates.remove(isolate)
        isolate.process.kill()
        for run in isolate.runs:
            self._journal.end(run, "killed")
        for connection in isolate.connections:
            connection.break_off()

    def _pick(self) -> Isolate:
        number = self._faults.random.randrange(_ISOLATES)
        if number < len(self._isolates):
            return self._isolates[number]
        process = Process(self._loop, f"isolate {len(self._buried) + 1}")
        self._buried.append(process)
        isolate = Isolate(process, old=self._faults.old_version(self._loop.time()))
        self._isolates.append(isolate)
        return isolate

    # -- a request -------------------------------------------------------------------------------------

    def receive(self, connection: Connection, body: bytes, headers: Mapping[str, str]) -> None:
        """A request arrives."""
        isolate = self._pick()
        isolate.connections = [known for known in isolate.connections if not known.closed]
        isolate.connections.append(connection)
        isolate.process.spawn(self._answer(isolate, connection, body, headers))

    async def _answer(self, isolate: Isolate, connection: Connection, body: bytes, headers: Mapping[str, str]) -> None:
        try:
            outage = self._faults.outage(self._loop.time())
            keys = [_OTHER_KEY] if outage is not None and outage.kind == "forbidden" else [KEY]
            dispatch_id = verify(headers, body, keys, self._platform.clock.workers() // 1000)
            dispatch = read_dispatch(body)
            if dispatch.audience != ORIGIN:
                raise LunoraError("DISPATCH_UNAUTHENTICATED", "the dispatch was made for another origin")
            if not await self._platform.call("begin", dispatch_id):
                raise LunoraError("DISPATCH_UNAUTHENTICATED", "the scheduler says no")
        except LunoraError as error:
            if self._faults.clocks_apart(self._loop.time()):
                self._faults.struck("clock-apart")
            connection.respond(f"{error.status} {error.code}", self._faults.latency())
            return
        except Disconnected:
            connection.respond("500 the scheduler did not answer", self._faults.latency())
            return
        connection.respond(None, self._faults.latency())

        app = self._app(isolate, connection)
        receiver = Receiver(
            app,
            together=app,
            context=lambda attempt: attempt,
            log=lambda text: self._journal.note("%s: %s", isolate.process.name, text),
        )
        await receiver.answer(dispatch.attempts, connection.write)
        untold = {attempt.job for attempt in dispatch.attempts} - connection.told
        if untold and not connection.reader_gone and not connection.swallowed:
            self._journal.violate("the receiver tells how every attempt ended", "it says nothing of %s", untold)
        connection.end()

    def _app(self, isolate: Isolate, connection: Connection) -> App:
        def run(attempt: ReceivedAttempt) -> Run:
            entry = Run(
                attempt=attempt,
                isolate=isolate.process,
                started=self._platform.now(),
                since=self._platform.clock.steady(),
                stubborn=attempt.target == "app:stubborn",
                unheard=lambda: connection.swallowed,
            )
            isolate.runs = [known for known in isolate.runs if known.ended is None]
            isolate.runs.append(entry)
            return entry

        return App(
            self._journal,
            run=run,
            alive=lambda: isolate.process.alive,
            kill=lambda: self._platform.later(0, self._kill, isolate, "by its function"),
            old=isolate.old,
            gathering=Gathering(self._shards.functions, self._shards.client),
            struck=self._faults.struck,
        )
