"""The receiving end of a dispatch: runs its attempts side by side and says how each ended.

It knows nothing of Cloudflare: where the lines go is handed in, so the simulator runs this very code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from lunorash.errors import LunoraError, SharedError, UnavailableError
from lunorash.scheduler.attempting import attempt
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.scheduler.job import Outcome, Result
from lunorash.scheduler.protocol import END, HEARTBEAT, ReceivedAttempt, encode_results

__all__ = ["HEARTBEAT_S", "WRITE_TIMEOUT_S", "Receiver", "Runnable"]

HEARTBEAT_S: Final = 5
WRITE_TIMEOUT_S: Final = 10
"""A write that takes this long has no reader: after a reader is gone, writes neither fail nor complete."""
STOP_S: Final = 5
"""How long a cancelled function may take to clean up before it is left to itself."""

Write = Callable[[bytes], Awaitable[object]]


C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class Runnable(Protocol[C_contra]):
    """What an app can run."""

    def bind(self, target: str, args: Mapping[str, Any], /) -> Callable[[C_contra], object]:
        """Find a target and fit arguments to it; raises `LunoraError` if that cannot be."""
        ...


class Receiver(Generic[C]):
    """Runs attempts.

    Args:
        runnable: what can be run.
        context: makes what a bound target is called with.
        log: takes one line about what went wrong.
    """

    def __init__(
        self,
        runnable: Runnable[C],
        *,
        context: Callable[[ReceivedAttempt], C],
        log: Callable[[str], None],
    ) -> None:
        self._runnable = runnable
        self._context = context
        self._log = log

    async def answer(self, attempts: Sequence[ReceivedAttempt], write: Write) -> None:
        """Run all attempts; write results as they come, a heartbeat every five seconds, and the end line.

        If nobody reads any more, the attempts are cancelled and nothing further is written.
        """
        stopping = asyncio.Event()
        running = [asyncio.create_task(self._attempt(attempt, stopping)) for attempt in attempts]
        clock = asyncio.get_running_loop().time
        beat_at = clock() + HEARTBEAT_S
        try:
            while running:
                await asyncio.wait(running, timeout=max(0, beat_at - clock()), return_when=asyncio.FIRST_COMPLETED)
                done = [task for task in running if task.done()]
                if done:
                    running = [task for task in running if not task.done()]
                    await _written(write, encode_results(task.result() for task in done))
                if clock() >= beat_at:
                    await _written(write, HEARTBEAT)
                    beat_at = clock() + HEARTBEAT_S
            await _written(write, END)
        except TimeoutError:
            self._log(f"lunora: nobody reads the answer any more: {len(running)} attempts are cancelled")
        finally:
            stopping.set()
            await self._stop(running)

    async def _stop(self, running: Sequence[asyncio.Task[Result]]) -> None:
        for task in running:
            task.cancel()
        if running:
            _, stubborn = await asyncio.wait(running, timeout=STOP_S)
            if stubborn:
                self._log(f"lunora: {len(stubborn)} functions go on although they were cancelled")

    async def _attempt(self, received: ReceivedAttempt, stopping: asyncio.Event) -> Result:
        try:
            call = self._runnable.bind(received.target, received.args)
        except LunoraError as error:
            return _result(received, "unavailable", error)
        try:
            value = await attempt(lambda: call(self._context(received)), received.timeout_ms, stopping=stopping.is_set)
        except LunoraError as error:
            return _result(received, "unavailable" if isinstance(error, UnavailableError) else "failed", error)
        if not received.wants_result or not isinstance(value, str):
            return Result(job=received.job, attempt=received.number, outcome="ok")
        omitted = not _can_travel(value)
        return Result(
            job=received.job,
            attempt=received.number,
            outcome="ok",
            result=None if omitted else value,
            result_omitted=omitted,
        )


def _result(attempt: ReceivedAttempt, outcome: Outcome, error: LunoraError) -> Result:
    return Result(
        job=attempt.job,
        attempt=attempt.number,
        outcome=outcome,
        retryable=bool(error.retryable),
        shared=isinstance(error, SharedError),
        code=error.code,
        message=error.message,
        retry_after_ms=error.retry_after_ms,
        traceback=error.trace,
    )


def _can_travel(result: str) -> bool:
    try:
        return len(result.encode()) <= MAX_RESULT_BYTES
    except UnicodeEncodeError:  # half a surrogate pair would spoil the whole line
        return False


async def _written(write: Write, line: bytes) -> None:
    async with asyncio.timeout(WRITE_TIMEOUT_S):
        await write(line)
