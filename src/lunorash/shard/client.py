"""A shard as the Worker calls it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lunorash.codec import decode_json
from lunorash.crons.runs import CronRun
from lunorash.errors import LunoraError
from lunorash.scheduler.object_stub import object_stub
from lunorash.shard.answers import raised_by
from lunorash.shard.calls import ShardCall

__all__ = ["Shards"]

_DEFAULT = "default"


class Shards:
    """Calls queries and mutations on shards.

    Args:
        namespace: the Durable Object binding, ``env.SHARD``.
    """

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    async def query(self, call: ShardCall, shard_key: str | None = None) -> str:
        """Run a query; returns its result as JSON text."""
        result: str = await self._call("query", call.to_text(), shard_key)
        return result

    async def mutate(self, call: ShardCall, shard_key: str | None = None) -> str:
        """Run a mutation; returns its result as JSON text."""
        result: str = await self._call("mutate", call.to_text(), shard_key)
        return result

    async def mutate_many(
        self, calls: Sequence[ShardCall], shard_key: str | None = None
    ) -> list[LunoraError | str | None]:
        """Run mutations of jobs for their effects, in one call to their shard, each in a transaction of its own.

        A mutation that asks the SchedulerDO something is then run by a call of its own, beside its like.

        Returns:
            for each what it raised, or its result as JSON text if that is wanted and the call says so; None if it has
            had its effect. Of a result that is too large to be passed on comes the beginning, which is too large too.

        Raises:
            LunoraError: ``SHARD_UNAVAILABLE`` when there is no answer, for whatever reason.
        """

        async def alone(call: ShardCall) -> LunoraError | str | None:
            try:
                result = await self.mutate(call, shard_key)
            except LunoraError as error:
                return error
            return result if call.wants_result else None

        if len(calls) == 1:
            return [await alone(calls[0])]
        answers = await self._call("mutate_many", ShardCall.many_to_text(calls), shard_key)
        if len(answers) != len(calls):
            raise LunoraError("SHARD_UNAVAILABLE", f"the shard answered {len(answers)} of {len(calls)} calls")
        asking = [call for call, answer in zip(calls, answers, strict=True) if "asks" in answer]
        asked = iter(await asyncio.gather(*(alone(call) for call in asking)))
        return [next(asked) if "asks" in answer else raised_by(answer) or answer.get("result") for answer in answers]

    async def hold_cron(self, name: str, holder: str) -> bool:
        """Take or renew the lease of a cron job that must not overlap; False while another run holds it."""
        return bool(await self._call("hold_cron", json.dumps({"name": name, "holder": holder})))

    async def release_cron(self, name: str, holder: str) -> None:
        """Give the lease of a cron job back."""
        await self._call("release_cron", json.dumps({"name": name, "holder": holder}))

    async def note_cron_run(self, run: CronRun) -> None:
        """Record how a run of a cron job stands."""
        await self._call("note_cron_run", json.dumps(asdict(run.bounded())))

    async def cron_runs(self, name: str | None, limit: int) -> list[CronRun]:
        """The newest runs of one cron job, or of all for None, the newest first."""
        return _runs(await self._call("cron_runs", json.dumps({"name": name, "limit": limit})))

    async def last_cron_runs(self, names: Sequence[str]) -> list[CronRun]:
        """The newest run of each of these cron jobs that has run."""
        return _runs(await self._call("last_cron_runs", json.dumps([*names])))

    async def _call(self, method: str, argument: str, shard_key: str | None = None) -> Any:
        if self._namespace is None:
            raise LunoraError(
                "SHARD_NOT_CONFIGURED",
                "there is no binding to a ShardDO; bind the class as SHARD under durable_objects in wrangler.jsonc "
                "and build the app with .shard(lambda env: env.SHARD)",
            )
        stub = object_stub(self._namespace, shard_key or _DEFAULT)
        try:
            text = await getattr(stub, method)(argument)
        except Exception as error:
            raise LunoraError(
                "SHARD_UNAVAILABLE", f"the shard did not answer ({type(error).__name__}); try again"
            ) from error
        answer = decode_json(text, what="the shard's answer")
        raised = raised_by(answer)
        if raised is not None:
            raise raised
        return answer["ok"]


def _runs(rows: list[dict[str, Any]]) -> list[CronRun]:
    return [CronRun(**row) for row in rows]
