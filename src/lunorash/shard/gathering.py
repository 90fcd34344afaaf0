"""Mutations of jobs that are called at the same moment reach their shard in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from lunorash.errors import LunoraError, SharedError
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards

__all__ = ["Gathering"]


@dataclass(slots=True, eq=False)
class _Batch:
    """Calls that travel together, with those who wait for what becomes of them."""

    calls: list[ShardCall] = field(default_factory=list)
    waiting: list[asyncio.Future[str | None]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class Gathering:
    """Runs mutations of jobs: those of one shard that are called before the event loop comes round, in one call.

    The attempts of a dispatch start in one go, so that this needs not to know of them. Each mutation is a transaction
    of its own and has an answer of its own.

    Args:
        shards: where they run.
    """

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self._batches: dict[str | None, _Batch] = {}

    async def mutate(self, call: ShardCall, shard_key: str | None = None) -> str | None:
        """Run a mutation for its effect; its result stays on the shard, unless the call says that it is wanted.

        Raises:
            LunoraError: as `Shards.mutate` does; a `SharedError` if the call broke that it shared with others.
        """
        batch = self._batches.get(shard_key)
        if batch is None:
            batch = self._batches[shard_key] = _Batch()
            asyncio.get_running_loop().call_soon(self._start, shard_key)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        batch.calls.append(call)
        batch.waiting.append(answer)
        try:
            return await answer
        except asyncio.CancelledError:
            if batch.task is not None and all(other.done() for other in batch.waiting):
                batch.task.cancel()
            raise

    def _start(self, shard_key: str | None) -> None:
        batch = self._batches.pop(shard_key)
        if all(answer.done() for answer in batch.waiting):
            return
        # It ends when its last answer is given, or with the last of those who wait for one.
        batch.task = asyncio.get_running_loop().create_task(self._send(batch, shard_key))

    async def _send(self, batch: _Batch, shard_key: str | None) -> None:
        answers: Sequence[Exception | str | None]
        try:
            answers = await self._shards.mutate_many(batch.calls, shard_key)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody is left waiting
            answers = [_for_each(error) if len(batch.calls) > 1 else error for _ in batch.calls]
        for answer, waiting in zip(answers, batch.waiting, strict=True):
            if waiting.done():
                continue
            if isinstance(answer, Exception):
                waiting.set_exception(answer)
            else:
                waiting.set_result(answer)


def _for_each(error: Exception) -> Exception:
    """What is told to each of those whose call broke. Any other answer is about the shard, and not about them."""
    if isinstance(error, LunoraError) and error.code == "SHARD_UNAVAILABLE":
        return SharedError.of(error)
    return error
