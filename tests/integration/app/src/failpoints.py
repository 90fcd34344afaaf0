"""A ShardDO that can be made to crash wherever a crash might lose a job, or run one twice.

A crash aborts the object: what it had in memory is gone, and what it had stored without `sync` too. Or it hangs
there, so that the whole Worker can be killed.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import js
from workers.entrypoints import DurableObjectAbort

from lunorash.codec import decode_json
from lunorash.server import HttpAnswer, HttpRequest, Route

POINTS: Final = (
    "before commit",  # at the end of the transaction of a mutation
    "as it commits",  # committed, but not on disk yet
    "committed",  # on disk, and nothing of the outbox is sent
    "accepted",  # the SchedulerDO has the rows, and they are still in the outbox
    "answering",  # all is done, but the caller does not hear of it
)


def with_failpoints(shard_class: type[Any]) -> type[Any]:
    """Make the class to export instead of what `app.ShardDO` gives."""

    class ShardDO(shard_class):  # type: ignore[misc]
        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            self._sql("CREATE TABLE IF NOT EXISTS failpoint (point TEXT, hang INTEGER, calls INTEGER, crashes INTEGER)")
            self._point, self._hang = "", False
            wake = self._shard._wake

            def wake_and_crash(now: int) -> None:
                wake(now)
                self._crash_within("before commit", "as it commits")

            self._shard._wake = wake_and_crash

        async def arm(self, text: str) -> None:
            """Crash, or hang, at a point during some calls, after some others. Mutations and alarms are calls."""
            fields = {"after": 0, "times": 1, "hang": False, **decode_json(text)}
            self._sql("DELETE FROM failpoint")
            self._sql(
                "INSERT INTO failpoint VALUES (?, ?, ?, ?)",
                fields["point"],
                int(fields["hang"]),
                fields["after"],
                fields["times"],
            )
            await self.ctx.storage.sync()

        async def mutate(self, text: str) -> str:
            await self._count()
            answer: str = await super().mutate(text)
            await self._crash("answering")
            return answer

        async def mutate_many(self, text: str) -> str:
            await self._count()
            answer: str = await super().mutate_many(text)
            await self._crash("answering")
            return answer

        async def alarm(self, alarm_info: Any = None) -> None:
            await self._count()
            await super().alarm(alarm_info)

        async def _send_outbox(self) -> None:
            await self._crash("committed")
            await super()._send_outbox()

        def _scheduler(self) -> Any:
            scheduler = super()._scheduler()
            accept = scheduler.accept

            async def accept_and_crash(shard: str, rows: Any) -> int:
                accepted: int = await accept(shard, rows)
                await self._crash("accepted")
                return accepted

            scheduler.accept = accept_and_crash
            return scheduler

        async def _count(self) -> None:
            """A call begins: it is counted on disk, since what counts it may be gone at its end."""
            self._sql("UPDATE failpoint SET calls = calls - 1")
            armed = self._sql("SELECT point, hang FROM failpoint WHERE calls < 0 AND calls + crashes >= 0")
            self._point, self._hang = (armed[0]["point"], bool(armed[0]["hang"])) if armed else ("", False)
            if armed:
                await self.ctx.storage.sync()

        async def _crash(self, point: str) -> None:
            if point != self._point:
                return
            await self.ctx.storage.sync()
            if self._hang:
                print(f"hanging: {point}")
                await asyncio.sleep(600)
            self._abort(point)
            raise DurableObjectAbort(point)

        def _crash_within(self, *points: str) -> None:
            """Within a transaction, where nothing can be awaited."""
            if self._point not in points:
                return
            while self._hang:  # nothing on this Worker goes on
                pass
            self._abort(self._point)
            if self._point == "before commit":
                raise DurableObjectAbort(self._point)

        def _abort(self, point: str) -> None:
            """Abort as soon as Python has returned.

            `self.ctx.abort` does it from a Python function, whose frames are then never unwound: after some hundred
            times the interpreter's stack is used up, and the runtime dies.
            """
            context = self.ctx._ctx
            js.queueMicrotask(context.abort.bind(context, f"failpoint: {point}"))

        def _sql(self, sql: str, *params: Any) -> list[Any]:
            rows: list[Any] = self.ctx.storage.sql.exec(sql, *params).toArray()
            return rows

    return ShardDO


async def arm(request: HttpRequest) -> HttpAnswer:
    """``{"failpoints": [{"shard", "point", "after", "times", "hang"}]}``; the last three have defaults."""
    namespace, failpoints = request.env.SHARD, (await request.json())["failpoints"]
    await asyncio.gather(
        *(namespace.get(namespace.idFromName(one["shard"])).arm(json.dumps(one)) for one in failpoints)
    )
    return HttpAnswer(body={"armed": len(failpoints)})


ARM: Final = Route(method="POST", path="/test/failpoints", handler=arm)
