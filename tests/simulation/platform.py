"""Where a Durable Object lives: starts it, calls it, wakes it by its alarm, and kills it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final, Generic, Protocol, TypeVar

from .clock import Clock
from .durable import DurableStorage, ObjectStore
from .faults import Faults, Kind
from .journal import Journal
from .process import Crash, Process

__all__ = ["Disconnected", "Object", "Platform", "Stub"]

_OUTSIDE: Final = Context()
"""Of whatever belongs to no process, and so goes on whoever dies."""
_RETRY_MS: Final = 2_000
_LONGEST_RETRY: Final = 6
"""After so many failures the waits before the platform's next try of an alarm grow no more."""


class Object(Protocol):
    """One life of an object."""

    async def alarm(self) -> None:
        """Its alarm has gone off."""
        ...


Life = TypeVar("Life", bound=Object)


class Disconnected(Exception):  # noqa: N818 - it is what happened
    """The object died, or the network failed, before the answer came: the call may have landed."""


class Platform(Generic[Life]):
    """The platform of one object.

    Args:
        loop: virtual time.
        clock: what the object sees of it.
        faults: decides what goes wrong.
        journal: learns of everything.
        name: of the object.
        crash: the kind of fault that kills it at its awaits and at the edges of its transactions.
    """

    def __init__(  # noqa: PLR0917 - the parts of a world
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        faults: Faults,
        journal: Journal,
        name: str = "the object",
        crash: Kind = "crash",
    ) -> None:
        self.name = name
        self.clock = clock
        self.now = clock.now
        self.storage = DurableStorage()
        self.process: Process | None = None
        self.object: Life | None = None
        self.firing = False
        """Whether an alarm has gone off and its handler has not ended."""
        self.clock_is_new = False
        """Whether its clock has jumped since its last transaction: it cannot know yet."""
        self.build: Callable[[ObjectStore, Process], Life]
        self.watch: Callable[[], None]
        """Called after each transaction, when the object has started, and after each alarm."""
        self.passed: Callable[[int, int], None] = lambda *_: None
        """Called after each alarm with the versions of the rows before and after it."""
        self.answered: Callable[[], None] = lambda: None
        """Called when the object has answered a call."""
        self._loop = loop
        self._faults = faults
        self._journal = journal
        self._crash = crash
        self._calls: list[asyncio.Future[Any]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timed_version = 0
        self._failures = 0
        self._lives: list[Process] = []

    def later(self, delay: float, work: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
        """Do something later, whoever dies meanwhile."""
        return self._loop.call_later(delay, work, *args, context=_OUTSIDE.copy())

    # -- its lives -------------------------------------------------------------------------------------

    def kill(self, why: str) -> None:
        """End the object's life: only its storage is left."""
        process = self.process
        if process is None:
            return
        self._journal.note("CRASH of %s: %s", self.name, why)
        self._count("crashes")
        self.process = self.object = None
        process.kill()
        calls, self._calls = self._calls, []
        for call in calls:
            self._fail(call)
        if self.firing:
            self.later(0, self._try_again)  # the transaction in which it died is undone first

    def crash_point(self, where: str) -> None:
        """A point at which it may crash; raises `Crash` if it does, or has."""
        if self.process is not None and self._faults.crash_here(self._crash, where):
            self.kill(where)
            raise Crash(where)

    def bury(self) -> None:
        """Close what its lives have left."""
        for life in self._lives:
            life.bury()
        self.storage.rows.close()

    def _count(self, what: str) -> None:
        self._journal.count(f"{what} of {self.name}")

    def _start(self) -> Life | None:
        if self.object is None:
            process = self.process = Process(self._loop, f"life {len(self._lives) + 1} of {self.name}")
            self._lives.append(process)
            self._count("lives")
            store = ObjectStore(self.storage, process, crash_point=self.crash_point, committed=self._committed)
            try:
                self.object = process.run(lambda: self.build(store, process))
            except Crash:
                return None
            self.watch()
        return self.object

    def _committed(self) -> None:
        self.clock_is_new = False
        self._time_alarm()
        self.watch()

    # -- its alarm -------------------------------------------------------------------------------------

    def set_alarm(self, at: int) -> None:
        """What the object calls; part of the transaction that is open."""
        self._set_alarm(at)
        if at <= self.now():
            self._journal.violate("no alarm is set to the present", "set to %d ms ago", self.now() - at)

    def delete_alarm(self) -> None:
        """What the object calls; part of the transaction that is open."""
        self._set_alarm(None)

    def _set_alarm(self, at: int | None) -> None:
        self.storage.alarm = at
        self.storage.alarm_version += 1

    def clock_jumped(self) -> None:
        """The alarm that is stored goes off by the clock, which shows another time now."""
        self.clock_is_new = True
        self._timed_version = -1
        self._time_alarm()

    def _time_alarm(self) -> None:
        """Let the alarm that is stored go off at its time, or somewhat later."""
        if self._timed_version == self.storage.alarm_version:
            return
        self._timed_version = self.storage.alarm_version
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.storage.alarm is not None:
            delay = max(0.0, self.clock.seconds_until(self.storage.alarm))
            self._timer = self.later(delay + self._faults.lateness(), self._fire)

    def _fire(self) -> None:
        if self.firing:  # only one handler at a time
            self._timer = self.later(0.001, self._fire)
            return
        self._timer = None
        self.firing = True
        self._set_alarm(None)
        self._timed_version = self.storage.alarm_version
        self._count("firings")
        started = self._start()
        if started is not None and self.process is not None:
            self.process.spawn(self._handle(started))

    def _try_again(self) -> None:
        """The handler of an alarm died: the platform tries once more, unless another one was set."""
        self.firing = False
        self._failures = min(self._failures + 1, _LONGEST_RETRY)
        if self.storage.alarm is None:
            self._set_alarm(self.now() + _RETRY_MS * 2**self._failures)
        self._time_alarm()

    async def _handle(self, started: Life) -> None:
        process = self.process
        try:
            self.crash_point("as the alarm goes off")
            version = self.storage.rows.version
            await started.alarm()
        except Crash:
            return
        if process is self.process:
            self.firing = False
            self._failures = 0
            self.passed(version, self.storage.rows.version)
            self.watch()

    # -- calls to it -----------------------------------------------------------------------------------

    async def call(self, method: str, *args: str) -> Any:
        """Call a method of the object over the network; raises `Disconnected` when no answer comes."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        self.later(self._faults.latency(), self._arrive, answer, method, args)
        return await answer

    def _arrive(self, answer: asyncio.Future[Any], method: str, args: tuple[str, ...]) -> None:
        if self._loses():
            self._fail(answer)
            return
        self._calls.append(answer)
        started = self._start()
        if started is not None and self.process is not None:
            self.process.spawn(self._serve(started, answer, method, args))

    def _loses(self) -> bool:
        lost = self._faults.chance("call-loss", self._faults.call_trouble / 4)
        if lost:
            self._faults.struck("call-loss")
        return lost

    async def _serve(self, started: Life, answer: asyncio.Future[Any], method: str, args: tuple[str, ...]) -> None:
        handler: Callable[..., Coroutine[Any, Any, Any]] = getattr(started, method)
        try:
            self.crash_point(f"before {method}")
            result = await handler(*args)
            self._journal.note("%s%r -> %s", method, args, result)
            self.crash_point(f"before the answer to {method}")
        except Crash:
            return
        self.answered()
        if self._faults.chance("crash", 0.5):
            self._calls.remove(answer)  # it is on its way, and arrives whatever becomes of the object
        if self._loses():
            self.later(self._faults.latency(), self._fail, answer)
        else:
            self.later(self._faults.latency(), self._answer, answer, result)

    def _answer(self, answer: asyncio.Future[Any], result: Any) -> None:
        if answer in self._calls:
            self._calls.remove(answer)
        if not answer.done():
            answer.set_result(result)

    def _fail(self, answer: asyncio.Future[Any]) -> None:
        if not answer.done():
            answer.set_exception(Disconnected())
            answer.exception()  # whoever asked may be dead: nobody has to look


class Stub:
    """What a client takes for a binding to the object."""

    def __init__(self, platform: Platform[Any]) -> None:
        self._platform = platform

    def __getattr__(self, method: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        return lambda *args: self._platform.call(method, *args)
