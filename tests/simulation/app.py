"""The app: functions that succeed, fail, hang, resist, or take their isolate down."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.shard.gathering import Gathering

from .faults import Kind
from .journal import Journal, Run

__all__ = ["App"]

Behaviour = Callable[[float, bool], Awaitable[object]]
"""Takes how long to run, in seconds, and whether it may succeed by now."""


class App:
    """What one isolate can run on behalf of one dispatch.

    Args:
        journal: every run is written into it.
        run: makes the journal's entry of a run.
        alive: whether the isolate is.
        kill: ends the isolate.
        old: whether this is the version before, without ``app:late`` and with an ``app:grown`` that takes less.
        gathering: runs mutations on shards.
        struck: told of faults that take effect here.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        run: Callable[[ReceivedAttempt], Run],
        alive: Callable[[], bool],
        kill: Callable[[], object],
        old: bool,
        gathering: Gathering,
        struck: Callable[[Kind], None],
    ) -> None:
        self._journal = journal
        self._run = run
        self._alive = alive
        self._kill = kill
        self._old = old
        self._gathering = gathering
        self._struck = struck

    def bind(self, target: str, args: Mapping[str, Any], /) -> Callable[[ReceivedAttempt], object]:
        """Find a function and fit arguments to it."""
        function: Callable[..., object]
        if target == "app:sync":
            function = self._at_once
        elif target == "app:grown" and not self._old:
            function = self._grown
        elif target in _FUNCTIONS and not (target == "app:late" and self._old):
            function = self._awaited
        else:
            if target == "app:late":
                self._struck("old-version")
            raise LunoraError("FUNCTION_NOT_FOUND", f"there is no function {target}")
        try:
            inspect.signature(function).bind(None, **args)
        except TypeError as error:
            if target == "app:grown":
                self._struck("old-version")
            raise LunoraError("INVALID_INPUT", f"the arguments do not fit: {error}") from None
        return lambda attempt: function(attempt, **args)

    def _at_once(self, attempt: ReceivedAttempt, *, ms: int) -> None:
        self._end(self._start(attempt), "ok")

    def key(self, attempt: ReceivedAttempt, /) -> str | None:
        """The shard that a mutation runs on."""
        return self._gathering.key(attempt)

    async def run(self, attempts: Sequence[ReceivedAttempt], /) -> Sequence[LunoraError | str | None]:
        """Run mutations of one shard."""
        runs = [self._start(attempt) for attempt in attempts]
        try:
            answers = await self._gathering.run(attempts)
        except BaseException as error:
            for run in runs:
                self._end(run, "canceled" if isinstance(error, asyncio.CancelledError) else "failed")
            raise
        for run, answer in zip(runs, answers, strict=True):
            self._end(run, "failed" if isinstance(answer, LunoraError) else "ok")
        return answers

    async def _grown(self, attempt: ReceivedAttempt, *, ms: int, note: str) -> None:
        await self._awaited(attempt, ms=ms + len(note))

    async def _awaited(self, attempt: ReceivedAttempt, *, ms: int, fails: int = 0) -> object:
        run = self._start(attempt)
        kind = _FAULTS.get(attempt.target)
        may_succeed = len(self._journal.runs[attempt.job]) > fails
        try:
            if attempt.target == "app:deadly" and not may_succeed:
                await asyncio.sleep(ms / 1000)
                self._struck("handler-kill")
                self._kill()
                await asyncio.sleep(1)
            elif kind is not None:
                self._struck(kind)
            result = await _FUNCTIONS[attempt.target](ms / 1000, may_succeed)
        except BaseException as error:
            self._end(run, "canceled" if isinstance(error, asyncio.CancelledError) else "failed")
            raise
        self._end(run, "ok")
        return result

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


async def _garbage(seconds: float, may_succeed: bool) -> object:
    await asyncio.sleep(seconds)
    if may_succeed:
        return object()  # what a job returns is nobody's
    match int(seconds * 1000) % 5:
        case 0:
            raise LunoraError("\ud800" * 300, "\udfff" * 100_000)
        case 1:
            raise LunoraError(_Unprintable(), _Unprintable())  # type: ignore[arg-type]
        case 2:
            raise _Unprintable
        case 3:
            raise ExceptionGroup("\x00\n{", [ValueError('{"type":"end"}\n'), _Unprintable()])
        case _:
            raise GeneratorExit


class _Unprintable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


async def _stubborn(seconds: float, _: bool) -> None:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(min(seconds, 8))
        raise


_FUNCTIONS: Final[dict[str, Behaviour]] = {
    "app:ok": _ok,
    "app:late": _ok,
    "app:grown": _ok,
    "app:garbage": _garbage,
    "app:flaky": _flaky,
    "app:broken": _broken,
    "app:hang": _hang,
    "app:deadly": _ok,
    "app:stubborn": _stubborn,
}

_FAULTS: Final[dict[str, Kind]] = {"app:hang": "handler-hang", "app:garbage": "handler-garbage"}
