"""The app: functions that succeed, fail, hang, resist, or take their isolate down."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.scheduler.protocol import ReceivedAttempt

from .journal import Journal, Run

__all__ = ["App"]

Behaviour = Callable[[float, bool], Awaitable[None]]
"""Takes how long to run, in seconds, and whether it may succeed by now."""


class App:
    """What one isolate can run on behalf of one dispatch.

    Args:
        journal: every run is written into it.
        run: makes the journal's entry of a run.
        alive: whether the isolate is.
        kill: ends the isolate.
        late: whether this deployment has the function ``app:late``.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        run: Callable[[ReceivedAttempt], Run],
        alive: Callable[[], bool],
        kill: Callable[[], object],
        late: bool,
    ) -> None:
        self._journal = journal
        self._run = run
        self._alive = alive
        self._kill = kill
        self._functions = _FUNCTIONS if late else {path: _FUNCTIONS[path] for path in _FUNCTIONS if path != "app:late"}

    def bind(self, target: str, args: Mapping[str, Any], /) -> Callable[[ReceivedAttempt], object]:
        """Find a function and fit arguments to it."""
        if target == "app:sync":
            function: Callable[..., object] = self._at_once
        elif target in self._functions:
            function = self._awaited
        else:
            raise LunoraError("FUNCTION_NOT_FOUND", f"there is no function {target}")
        try:
            inspect.signature(function).bind(None, **args)
        except TypeError as error:
            raise LunoraError("INVALID_INPUT", f"the arguments do not fit: {error}") from None
        return lambda attempt: function(attempt, **args)

    def _at_once(self, attempt: ReceivedAttempt, *, ms: int) -> None:
        self._end(self._start(attempt), "ok")

    async def _awaited(self, attempt: ReceivedAttempt, *, ms: int, fails: int = 0) -> None:
        run = self._start(attempt)
        may_succeed = len(self._journal.runs[attempt.job]) > fails
        try:
            if attempt.target == "app:deadly" and not may_succeed:
                await asyncio.sleep(ms / 1000)
                self._kill()
                await asyncio.sleep(1)
            await self._functions[attempt.target](ms / 1000, may_succeed)
        except BaseException as error:
            self._end(run, "canceled" if isinstance(error, asyncio.CancelledError) else "failed")
            raise
        self._end(run, "ok")

    def _start(self, attempt: ReceivedAttempt) -> Run:
        run = self._run(attempt)
        self._journal.start(run)
        return run

    def _end(self, run: Run, outcome: str) -> None:
        if self._alive():
            self._journal.end(run, outcome)


async def _ok(seconds: float, _: bool) -> None:
    await asyncio.sleep(seconds)


async def _flaky(seconds: float, may_succeed: bool) -> None:
    await asyncio.sleep(seconds)
    if not may_succeed:
        raise ValueError("not yet")


async def _broken(seconds: float, _: bool) -> None:
    await asyncio.sleep(seconds)
    match int(seconds * 1000) % 4:
        case 0:
            raise LunoraError("CARD_REFUSED", "no")
        case 1:
            raise SystemExit("out")
        case 2:
            raise TimeoutError
        case _:
            raise asyncio.CancelledError


async def _hang(_: float, __: bool) -> None:
    await asyncio.sleep(10**9)


async def _stubborn(seconds: float, _: bool) -> None:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(min(seconds, 8))
        raise


_FUNCTIONS: Final[dict[str, Behaviour]] = {
    "app:ok": _ok,
    "app:late": _ok,
    "app:flaky": _flaky,
    "app:broken": _broken,
    "app:hang": _hang,
    "app:deadly": _ok,
    "app:stubborn": _stubborn,
}
