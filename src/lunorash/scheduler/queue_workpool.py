"""The queue workpool: calls that wait in a Cloudflare Queue, and are run by the Worker that consumes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.refs import Target
from lunorash.scheduler.calls import Catalog, check_call
from lunorash.scheduler.options import Delay, RunOptions, delay_ms
from lunorash.scheduler.queue_message import OVERHEAD_BYTES, encode_message

__all__ = ["MAX_BATCH", "MAX_BATCH_BYTES", "QueueCall", "QueueWorkpool", "create_queue_workpool"]

MAX_BATCH: Final = 100
"""How many messages are sent at once."""

MAX_BATCH_BYTES: Final = 256_000
"""How large they may be together."""

_MAX_DELAY_S: Final = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class QueueCall:
    """One call of many, for `QueueWorkpool.enqueue_many`.

    Args:
        target: a reference, such as ``internal.imports.process_row``, ``workflows.onboarding`` or
            ``agents.support``, or a function's path, ``"imports:process_row"``.
        args: its arguments, JSON values by name.
        delay: milliseconds or a `timedelta`, 0 to 24 h.
        shard_key: which shard a mutation runs on, 1 to 256 characters; None for the default shard.

    Example:
        >>> QueueCall("imports:process_row", {"row_id": 7}).args
        {'row_id': 7}
    """

    target: Target
    args: Mapping[str, Any] | None = None
    delay: Delay = 0
    shard_key: str | None = None


def create_queue_workpool(*, queue: Any, catalog: Catalog | None = None) -> QueueWorkpool:
    """Make a workpool of a Cloudflare Queue, whose consumer is this app.

    Prefer it over ``ctx.scheduler`` for many calls that each take long: the queue decides how many run at a time
    (``max_concurrency`` times ``max_batch_size``) and how often each is tried (``max_retries``). In exchange there is
    no id to cancel a call by or to look it up by, and it waits at most 24 h.

    Args:
        queue: the binding of the queue, ``ctx.env.IMPORTS``.
        catalog: what can be run, to refuse an unknown function, or arguments that it does not take, when it is
            enqueued; None to let any well-formed path through.

    Raises:
        LunoraError: ``QUEUE_NOT_CONFIGURED`` without the binding of a queue.

    Example:
        In an action::

            pool = create_queue_workpool(queue=ctx.env.IMPORTS)
            await pool.enqueue(internal.imports.process_row, {"row_id": 7})
    """
    if not callable(getattr(queue, "sendBatch", None)):
        # the type only: what was passed may be a secret
        given = "there is no binding" if queue is None else f"queue is of type {type(queue).__name__}, no binding"
        raise LunoraError(
            "QUEUE_NOT_CONFIGURED",
            f'{given} of a queue; bind one in wrangler.jsonc, "queues": {{"producers": [{{"binding": "IMPORTS", '
            '"queue": "imports"}], "consumers": [{"queue": "imports"}]}, and pass queue=ctx.env.IMPORTS',
        )
    return QueueWorkpool(queue, catalog=catalog)


class QueueWorkpool:
    """Puts calls into a queue. Made by `create_queue_workpool`.

    Args:
        queue: the binding of the queue.
        catalog: what can be run, if that is known.
        now: the current time in epoch milliseconds.
    """

    def __init__(
        self,
        queue: Any,
        *,
        catalog: Catalog | None = None,
        now: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._queue = queue
        self._catalog = catalog
        self._now = now

    async def enqueue(
        self,
        target: Target,
        args: Mapping[str, Any] | None = None,
        *,
        delay: Delay = 0,
        shard_key: str | None = None,
    ) -> None:
        """Run a function as soon as the queue's consumer gets to it.

        Args:
            target: a reference, such as ``internal.imports.process_row``, ``workflows.onboarding`` or
                ``agents.support``, or a function's path, ``"imports:process_row"``.
            args: its arguments, JSON values by name; with everything around them at most 127,900 bytes.
            delay: milliseconds or a `timedelta`, from 0, which leaves it to the queue, to 24 h. Queues count in whole
                seconds, so it is rounded up.
            shard_key: which shard a mutation runs on, 1 to 256 characters; None for the default shard.

        Raises:
            LunoraError: ``INVALID_INPUT``, ``PAYLOAD_TOO_LARGE`` and ``FUNCTION_NOT_FOUND``, each saying what to do;
                nothing is sent then. ``QUEUE_UNAVAILABLE`` when the queue did not take it.
        """
        call = QueueCall(target, args, delay, shard_key)
        await self._send([self._message(call, self._now())])

    async def enqueue_many(self, calls: Iterable[QueueCall]) -> None:
        """Enqueue any number of calls, up to 100 at a time, in order. None at all is fine.

        All are checked before the first is sent.

        Args:
            calls: what to enqueue.

        Raises:
            LunoraError: as `enqueue` does, naming the call. ``QUEUE_UNAVAILABLE`` says, also as ``data``, how many
                were sent before the queue stopped taking them.
        """
        now = self._now()
        messages = [self._nth_message(number, call, now) for number, call in enumerate(calls)]
        await self._send(messages)

    def _nth_message(self, number: int, call: object, now: int) -> _Message:
        if not isinstance(call, QueueCall):
            raise LunoraError("INVALID_INPUT", f"calls[{number}] is {shown(call)}; it must be QueueCall(target, args)")
        try:
            return self._message(call, now)
        except LunoraError as error:
            raise LunoraError(error.code, f"calls[{number}]: {error.message}", data=error.data) from None

    def _message(self, call: QueueCall, now: int) -> _Message:
        delay = delay_ms(call.delay, now=now)
        seconds = -(-delay // 1000)
        if seconds > _MAX_DELAY_S:
            raise LunoraError(
                "INVALID_INPUT",
                f"delay is {shown(call.delay)}; a queue keeps a message back for 24 h at most. "
                "Use ctx.scheduler.run_after, which takes any delay",
            )
        shard_key = RunOptions(shard_key=call.shard_key).shard_key
        target, args = check_call(call.target, call.args, self._catalog)
        text = encode_message(target=target, args=args, due=now + delay, shard_key=shard_key)
        return _Message(text, seconds, len(text.encode()) + OVERHEAD_BYTES)

    async def _send(self, messages: Sequence[_Message]) -> None:
        sent = 0
        for batch in _batches(messages):
            try:
                await self._queue.sendBatch([message.to_send() for message in batch])
            except Exception as error:
                # It may have landed, and a queue does not recognise a message that is sent again: the caller decides.
                raise LunoraError(
                    "QUEUE_UNAVAILABLE",
                    f"the queue did not take the messages ({type(error).__name__}); {sent:,} of {len(messages):,} were "
                    "sent. Try again with the rest",
                    data={"sent": sent},
                ) from error
            sent += len(batch)


@dataclass(frozen=True, slots=True)
class _Message:
    text: str
    delay_s: int
    size: int

    def to_send(self) -> dict[str, Any]:
        delay = {"delaySeconds": self.delay_s} if self.delay_s else {}
        return {"body": self.text, "contentType": "text", **delay}


def _batches(messages: Iterable[_Message]) -> Iterator[list[_Message]]:
    """Split messages into as few batches as their order allows."""
    batch: list[_Message] = []
    size = 0
    for message in messages:
        if batch and (len(batch) == MAX_BATCH or size + message.size > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += message.size
    if batch:
        yield batch
