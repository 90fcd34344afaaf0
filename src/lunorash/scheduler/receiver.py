"""The receiving end of a dispatch: runs its attempts side by side and says how each ended.

It knows nothing of Cloudflare: where the lines go is handed in, so the simulator runs this very code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from lunorash.errors import LunoraError, SharedError, UnavailableError
from lunorash.event_loop import start
from lunorash.scheduler.attempting import attempt
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.scheduler.deadlines import Deadlines
from lunorash.scheduler.job import Outcome, Result
from lunorash.scheduler.protocol import END, HEARTBEAT, ReceivedAttempt, encode_results

__all__ = ["HEARTBEAT_S", "WRITE_TIMEOUT_S", "Receiver", "Runnable", "Together"]

HEARTBEAT_S: Final = 5
WRITE_TIMEOUT_S: Final = 10
"""A write that takes this long has no reader: after a reader is gone, writes neither fail nor complete."""
STOP_S: Final = 5
"""How long a cancelled function may take to clean up before it is left to itself."""

Write = Callable[[bytes], Awaitable[object]]
Timed = Callable[[Callable[[], object], int], Awaitable[object]]
"""Calls a function that may take so many milliseconds; see `attempt`."""

C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class Runnable(Protocol[C_contra]):
    """What an app can run."""

    def bind(self, target: str, args: Mapping[str, Any], /) -> Callable[[C_contra], object]:
        """Find a target and fit arguments to it; raises `LunoraError` if that cannot be."""
        ...


class Together(Protocol):
    """What runs attempts in one call with their like."""

    def key(self, attempt: ReceivedAttempt, /) -> Hashable | None:
        """What those have in common that can be in one call; None for what runs by itself."""
        ...

    async def run(self, attempts: Sequence[ReceivedAttempt], /) -> Sequence[object]:
        """Run attempts that have a key in common; answers for each the `LunoraError` it raised, or what it returned."""
        ...


class Receiver(Generic[C]):
    """Runs attempts.

    Args:
        runnable: what can be run.
        context: makes what a bound target is called with.
        log: takes one line about what went wrong.
        together: runs what can share a call; None if nothing can.
    """

    def __init__(
        self,
        runnable: Runnable[C],
        *,
        context: Callable[[ReceivedAttempt], C],
        log: Callable[[str], None],
        together: Together | None = None,
    ) -> None:
        self._runnable = runnable
        self._context = context
        self._log = log
        self._together = together

    async def answer(self, attempts: Sequence[ReceivedAttempt], write: Write) -> None:
        """Run all attempts; write results as they come, a heartbeat every five seconds, and the end line.

        If nobody reads any more, the attempts are cancelled and nothing further is written.
        """
        stopping, deadlines, running = asyncio.Event(), Deadlines(), _Running()

        def timed(call: Callable[[], object], timeout_ms: int) -> Awaitable[object]:
            return attempt(call, timeout_ms, deadlines=deadlines, stopping=stopping.is_set)

        async def written(line: bytes) -> None:
            async with deadlines.within(WRITE_TIMEOUT_S):
                await write(line)

        for body in self._bodies(attempts, timed):
            running.start(body)
        clock = asyncio.get_running_loop().time
        beat_at = clock() + HEARTBEAT_S
        try:
            while running:
                results = await running.ended(deadlines, beat_at - clock())
                if results and not running:
                    await written(encode_results(results) + END)  # together, since they are recorded together
                    return
                if results:
                    await written(encode_results(results))
                if clock() >= beat_at:
                    await written(HEARTBEAT)
                    beat_at = clock() + HEARTBEAT_S
            await written(END)
        except TimeoutError:
            self._log(f"lunora: nobody reads the answer any more: {len(running)} calls are cancelled")
        finally:
            stopping.set()
            stubborn = await running.stop()
            if stubborn:
                self._log(f"lunora: {stubborn} functions go on although they were cancelled")

    def _bodies(self, attempts: Sequence[ReceivedAttempt], timed: Timed) -> Iterator[Coroutine[Any, Any, list[Result]]]:
        """What there is to run: calls of attempts that share one, and have as much time; each of the others."""
        companies: dict[Hashable, list[ReceivedAttempt]] = {}
        for received in attempts:
            key = None if self._together is None else self._together.key(received)
            if key is None:
                yield self._run_alone(received, timed)
            else:
                companies.setdefault((key, received.timeout_ms), []).append(received)
        for company in companies.values():
            yield self._run_together(company, timed)

    async def _run_alone(self, received: ReceivedAttempt, timed: Timed) -> list[Result]:
        try:
            call = self._runnable.bind(received.target, received.args)
        except LunoraError as error:
            return [_failure(received, error, "unavailable")]
        try:
            value = await timed(lambda: call(self._context(received)), received.timeout_ms)
        except LunoraError as error:
            return [_failure(received, error)]
        return [_success(received, value)]

    async def _run_together(self, company: list[ReceivedAttempt], timed: Timed) -> list[Result]:
        together = cast("Together", self._together)
        try:
            answers = cast("Sequence[object]", await timed(lambda: together.run(company), company[0].timeout_ms))
        except LunoraError as error:
            # whose fault it is that there was no time is not known
            shared = error.code == "ATTEMPT_TIMED_OUT" and len(company) > 1
            answers = [SharedError.of(error) if shared else error for _ in company]
        return [
            _failure(received, answer) if isinstance(answer, LunoraError) else _success(received, answer)
            for received, answer in zip(company, answers, strict=True)
        ]


class _Running:
    """The tasks of a dispatch that are under way, or whose results have not been taken."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[list[Result]], None] = {}
        self._ended: list[asyncio.Task[list[Result]]] = []
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks) + len(self._ended)

    def start(self, body: Coroutine[Any, Any, list[Result]]) -> None:
        """Start a task; one that waits for nothing is over when this returns."""
        task = start(body)
        if task.done():
            self._ended.append(task)
        else:
            self._tasks[task] = None
            task.add_done_callback(self._note)

    async def ended(self, deadlines: Deadlines, seconds: float) -> list[Result]:
        """Take the results that are there; if there are none, wait for some, for no longer than so many seconds."""
        if not self._ended:
            self._news.clear()
            with suppress(TimeoutError):
                async with deadlines.within(seconds):
                    await self._news.wait()
        taken, self._ended = self._ended, []
        return [result for task in taken for result in task.result()]

    async def stop(self) -> int:
        """Cancel what is still under way; returns how much of it goes on all the same."""
        running = list(self._tasks)
        for task in running:
            task.cancel()
        _, stubborn = await asyncio.wait(running, timeout=STOP_S) if running else ((), ())
        return len(stubborn)

    def _note(self, task: asyncio.Task[list[Result]]) -> None:
        del self._tasks[task]
        self._ended.append(task)
        self._news.set()


def _success(received: ReceivedAttempt, value: object) -> Result:
    if not received.wants_result or not isinstance(value, str):
        return Result(job=received.job, attempt=received.number, outcome="ok")
    fits = _can_travel(value)
    return Result(
        job=received.job,
        attempt=received.number,
        outcome="ok",
        result=value if fits else None,
        result_omitted=not fits,
    )


def _failure(received: ReceivedAttempt, error: LunoraError, outcome: Outcome | None = None) -> Result:
    if outcome is None:
        outcome = "unavailable" if isinstance(error, UnavailableError) else "failed"
    return Result(
        job=received.job,
        attempt=received.number,
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
