"""The mutations of a dispatch reach their shard in one call."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lunorash.contexts import Auth
from lunorash.errors import LunoraError, SharedError, UnavailableError
from lunorash.functions import FunctionTable
from lunorash.scheduler.protocol import ReceivedAttempt
from lunorash.shard.answers import UnexpectedError
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards

__all__ = ["Gathering"]


class Gathering:
    """Runs mutations of jobs for their effects; their results stay on the shard, but for those that are wanted.

    Args:
        functions: the app's.
        shards: where they run.
    """

    def __init__(self, functions: FunctionTable, shards: Shards) -> None:
        self._functions = functions
        self._shards = shards

    def key(self, attempt: ReceivedAttempt, /) -> str | None:
        """The shard that a mutation runs on; None for what is no mutation.

        It is asked of this deployment: the scheduler may have taken the function for something else.
        """
        function = self._functions.get(attempt.target)
        if function is None or function.kind != "mutation":
            return None
        return f"shard {attempt.shard_key or ''}"

    async def run(self, attempts: Sequence[ReceivedAttempt], /) -> Sequence[LunoraError | str | None]:
        """Run mutations of one shard in one call, each undone by itself if it fails.

        Returns:
            for each what it raised, or its result if that is wanted, or what became of the call: a `SharedError` if it
            broke, and others were in it.
        """
        answers: dict[str, LunoraError | str | None] = {}
        calls: list[ShardCall] = []
        for attempt in attempts:
            try:
                calls.append(self._call(attempt))
            except LunoraError as error:  # it is not charged for that, whatever ails the shard
                answers[attempt.job] = UnavailableError.of(error)
        if calls:
            told = await self._answers(calls, attempts[0])
            answers |= zip((attempt.job for attempt in attempts if attempt.job not in answers), told, strict=True)
        return [answers[attempt.job] for attempt in attempts]

    def _call(self, attempt: ReceivedAttempt) -> ShardCall:
        args = json.dumps(attempt.args)
        self._functions.find(attempt.target, "mutation").signature.parse(args)
        return ShardCall(
            path=attempt.target,
            args=args,
            auth=Auth(),
            job=attempt.as_job(),
            wants_result=attempt.wants_result,
            traceparent=attempt.traceparent,
        )

    async def _answers(self, calls: list[ShardCall], first: ReceivedAttempt) -> list[LunoraError | str | None]:
        try:
            answers = await self._shards.mutate_many(calls, first.shard_key)
            return [answer.told() if isinstance(answer, UnexpectedError) else answer for answer in answers]
        except LunoraError as error:
            # any other answer is about the shard, and not about them
            shared = error.code == "SHARD_UNAVAILABLE" and len(calls) > 1
            return [SharedError.of(error) if shared else error for _ in calls]
