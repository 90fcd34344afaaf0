"""The dispatch loop: starts dispatches, reads their answers, settles their jobs.

It knows nothing of Cloudflare: requests go through a `Transport` that is handed in, so the simulator runs
this very code under a virtual clock. Every task it starts belongs to it and outlives the alarm that started
it; none is left behind (cloudflare/workerd#6624).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final, Protocol

from lunorash.errors import LunoraError
from lunorash.event_loop import start
from lunorash.scheduler.deadlines import Deadlines
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.job import Dispatch, Result
from lunorash.scheduler.protocol import End, Heartbeat, Results, read_line

__all__ = ["Answer", "Dispatcher", "Transport", "Undelivered"]

MAX_AWAITING: Final = 6
"""Requests that may wait for headers at a time: a Durable Object has six such connections."""
HEADERS_TIMEOUT_S: Final = 15
SILENCE_S: Final = 60
"""A stream without a line for this long is dead: a heartbeat is due every five seconds."""
OVERRUN_S: Final = 60
"""What a receiver may take beyond the timeout of its attempts before it is given up."""


class Undelivered(Exception):  # noqa: N818 - it is an outcome, read as "undelivered because ..."
    """No good answer came: refused, unreachable, a redirect, not ours. Its text is the reason."""


class Answer(Protocol):
    """An answer whose headers were good."""

    def lines(self) -> AsyncGenerator[list[str]]:
        """The lines of its body, those that come together."""
        ...

    async def close(self) -> None:
        """Stop reading. Safe to call twice."""
        ...


class Transport(Protocol):
    """Sends dispatches. ``open`` may be cancelled, and then takes its request back."""

    async def open(self, dispatch: Dispatch) -> Answer:
        """Send it and wait for good headers; raises `Undelivered` otherwise."""
        ...


class Dispatcher:
    """The dispatches of one SchedulerDO that are under way.

    Args:
        engine: told of everything that happens.
        transport: sends the requests.
        clock: now, in epoch milliseconds.
        log: takes one line about what went wrong.
    """

    def __init__(
        self, engine: Engine, transport: Transport, *, clock: Callable[[], int], log: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._transport = transport
        self._clock = clock
        self._log = log
        # dicts, since a set of tasks has another order each time, and what goes wrong has to go wrong again
        self._awaiting: dict[str, None] = {}
        self._deadlines = Deadlines()
        self._tasks: dict[asyncio.Task[None], None] = {}

    def room(self) -> int:
        """How many dispatches may be started now."""
        return MAX_AWAITING - len(self._awaiting)

    def run_pass(self) -> None:
        """What an alarm does: rescue, prune, claim, start. Bounded, and waits for nothing."""
        self._start(self._engine.run_pass(self._clock()))

    async def join(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, dispatches: Sequence[Dispatch]) -> None:
        self._awaiting |= dict.fromkeys(dispatch.id for dispatch in dispatches)
        for dispatch in dispatches:
            task = start(self._deliver(dispatch))
            self._tasks[task] = None
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # Not even its end could be recorded. Its lease will end, and then it is rescued.
            self._log(f"lunora: a dispatch was left to its lease: {type(error).__name__}")

    async def _deliver(self, dispatch: Dispatch) -> None:
        try:
            answer = await self._headers(dispatch)
            try:
                await self._read(dispatch, answer)
            finally:
                await answer.close()
        except Undelivered as undelivered:
            self._engine.sever(dispatch.id, str(undelivered), self._clock())
        except Exception as error:  # noqa: BLE001 - whatever it is, the dispatch must not stay open
            self._log(f"lunora: dispatch {dispatch.id} broke off: {type(error).__name__}")
            self._engine.sever(dispatch.id, f"the answer broke off ({type(error).__name__})", self._clock())

    async def _headers(self, dispatch: Dispatch) -> Answer:
        try:
            async with self._deadlines.within(HEADERS_TIMEOUT_S):
                return await self._transport.open(dispatch)
        except TimeoutError:
            raise Undelivered(f"no answer within {HEADERS_TIMEOUT_S} s") from None
        finally:
            was_full = self.room() <= 0
            self._awaiting.pop(dispatch.id, None)
            if was_full:
                self._fill()

    def _fill(self) -> None:
        """There is room again: take what waits for it at once, and not by way of the alarm."""
        try:
            self._start(self._engine.claim(self._clock()))
        except Exception as error:  # noqa: BLE001 - this dispatch is not to blame, and the alarm tries again
            self._log(f"lunora: what waits for room was not started: {type(error).__name__}")
            self._engine.rearm(self._clock())

    async def _read(self, dispatch: Dispatch, answer: Answer) -> None:
        longest = max((attempt.timeout_ms for attempt in dispatch.attempts), default=0)
        clock = asyncio.get_running_loop().time
        give_up = clock() + longest / 1000 + OVERRUN_S
        # closed here, since one that is left to the loop takes a task and some turns to end
        async with aclosing(answer.lines()) as stream:
            ended = False
            while not ended:
                try:
                    async with self._deadlines.within(min(SILENCE_S, give_up - clock())):
                        lines = await anext(stream)
                except StopAsyncIteration:
                    raise Undelivered("the answer ended without its end line") from None
                except TimeoutError:
                    raise Undelivered("the receiver fell silent, or would not end") from None
                except LunoraError as error:
                    raise _not_ours(error) from None
                ended = self._hear(dispatch, lines)

    def _hear(self, dispatch: Dispatch, lines: list[str]) -> bool:
        """Record what some lines say, at once if the end is among them; returns whether it is."""
        results: list[Result] = []
        try:
            for line in lines:
                match read_line(line):
                    case Results() as told:
                        results += told.as_results()
                    case Heartbeat():
                        self._engine.renew(dispatch.id, self._clock())
                    case End():
                        self._engine.complete(dispatch.id, self._clock(), results)
                        return True
        except LunoraError as error:
            self._engine.settle(dispatch.id, results, self._clock())
            raise _not_ours(error) from None
        if results:
            self._engine.settle(dispatch.id, results, self._clock())
        return False


def _not_ours(error: LunoraError) -> Undelivered:
    return Undelivered(f"the answer is not ours: {error.message}")
