"""The consuming end of the queue workpools: runs the calls of a batch side by side, and settles each with its queue.

It knows nothing of Cloudflare: deliveries are handed in with what acknowledges them.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lunorash.errors import LunoraError, UnavailableError, shown
from lunorash.incident import report
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.scheduler.queue_message import read_message
from lunorash.scheduler.receiver import STOP_S, Runnable
from lunorash.scheduler.retry import RetryPolicy

__all__ = ["BACKOFF", "INCARNATION", "TIME_LIMIT_S", "Delivery", "QueueConsumer"]

TIME_LIMIT_S: Final = 14 * 60
"""How long a batch may take. The platform ends it after 15 minutes, and then forgets which of its calls were done."""

INCARNATION: Final = "queue"
"""Stands where a job has its incarnation. The queue's name is no part of it: a message that was moved to a dead-letter
queue, and is taken from there, is the same message."""

BACKOFF: Final = RetryPolicy(max_attempts=100, base_ms=30_000, max_ms=3_600_000, jitter=0.2)
"""When a call that failed is tried again; the jitter keeps a batch that failed together from coming back together.
How often is a setting of the queue: ``max_retries``, at most 100."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One delivery of a message.

    Args:
        id: the message's, which all its deliveries have in common.
        attempts: which delivery this is, from 1.
        body: what it carries.
        ack: tells the queue that it is done.
        retry: tells the queue to deliver it again, after so many seconds or, for None, when the queue's own settings
            say; or to move it to the dead-letter queue, if this was the last.
    """

    id: str
    attempts: int
    body: object
    ack: Callable[[], object]
    retry: Callable[[int | None], object]


@dataclass(frozen=True, slots=True)
class _Stray:
    """A message that is none of ours, or of another version of ours."""

    why: str
    of_another_version: bool


@dataclass(frozen=True, slots=True)
class _Failure:
    """A call that did not end well."""

    target: str
    code: object
    retry_after_ms: int | None = None


_MAX_WAIT_S: Final = 24 * 60 * 60
"""A queue keeps a message back no longer."""

_STUBBORN: Final = _Failure("a function that goes on although it was cancelled", "ATTEMPT_TIMED_OUT")


class QueueConsumer:
    """Takes the messages of one queue.

    Args:
        queue: the queue's name.
        runnable: what can be run.
        log: takes one line about each message that is not done with.
        random: a source of numbers in [0, 1), for the jitter of retries.
        time_limit_s: how long a batch may take, in seconds.
    """

    def __init__(
        self,
        queue: str,
        runnable: Runnable[ReceivedAttempt],
        *,
        log: Callable[[str], None] = print,
        random: Callable[[], float] = random.random,
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        self._queue = queue
        self._runnable = runnable
        self._log = log
        self._random = random
        self._time_limit_s = time_limit_s

    async def consume(self, deliveries: Sequence[Delivery]) -> None:
        """Run what a batch asks for; each delivery is acknowledged or sent back, whatever becomes of the others."""
        stopping = asyncio.Event()
        running = {asyncio.create_task(self._take(delivery, stopping)): delivery for delivery in deliveries}
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._time_limit_s
        try:
            while running and clock() < deadline:
                done, _ = await asyncio.wait(running, timeout=deadline - clock(), return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    self._settle(running.pop(task), task.result())
        finally:
            stopping.set()
            for task in running:
                task.cancel()
        if running:
            await asyncio.wait(running, timeout=STOP_S)
            for task, delivery in running.items():
                self._settle(delivery, task.result() if task.done() else _STUBBORN)

    async def _take(self, delivery: Delivery, stopping: asyncio.Event) -> _Failure | _Stray | None:
        """Run one call; returns what went wrong."""
        try:
            message = read_message(delivery.body)
        except LunoraError as error:
            return _Stray(error.message, isinstance(error, UnavailableError))
        attempt = ReceivedAttempt(
            job=delivery.id,
            incarnation=INCARNATION,
            number=delivery.attempts,
            target=message.target,
            args=message.args,
            scheduled_for=message.due,
            timeout_ms=int(self._time_limit_s * 1000),
            shard_key=message.shard_key,
        )
        try:
            value = self._runnable.bind(message.target, message.args)(attempt)
            if inspect.isawaitable(value):
                await value
        except LunoraError as error:
            return _Failure(message.target, error.code, error.retry_after_ms)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this call and no other
            if isinstance(error, asyncio.CancelledError) and stopping.is_set():
                return _Failure(message.target, "ATTEMPT_TIMED_OUT")
            return _Failure(message.target, report(f"{shown(message.target)} of {self._name(delivery)}", error).code)
        return None

    def _settle(self, delivery: Delivery, problem: _Failure | _Stray | None) -> None:
        asked = problem.retry_after_ms if isinstance(problem, _Failure) else None
        wait_s = -(-BACKOFF.delay_after_ms(max(1, delivery.attempts), asked, random=self._random) // 1000)
        wait_s = min(wait_s, _MAX_WAIT_S)
        if problem is None:
            delivery.ack()
        elif isinstance(problem, _Stray):
            self._log(f"lunora: {self._name(delivery)} goes back, it is no call that can be run: {problem.why}")
            # a deploy may be in progress, so time helps; a stranger's message is left to the queue's own settings
            delivery.retry(wait_s if problem.of_another_version else None)
        else:
            self._log(
                f"lunora: {self._name(delivery)} goes back for {wait_s} s, or to the dead letters: "
                f"{shown(problem.target)} failed at attempt {delivery.attempts} with {shown(problem.code)}"
            )
            delivery.retry(wait_s)

    def _name(self, delivery: Delivery) -> str:
        return f"the message {delivery.id} of the queue {self._queue}"
