"""A SchedulerDO whose alarm gets lost: the platform has none, and the object believes that it still stands."""

from __future__ import annotations

import json
import time
from typing import Any

from lunorash.codec import decode_json
from lunorash.scheduler import RetryPolicy
from lunorash.scheduler.job import NewJob
from lunorash.server import HttpAnswer, HttpRequest, Route

__all__ = ["LOST_ALARM", "with_lost_alarms"]


def with_lost_alarms(base: type[Any]) -> type[Any]:
    """The class with a way to lose its alarm."""

    class SchedulerDO(base):  # type: ignore[misc]
        async def oversleep(self, by_ms: int) -> None:
            """All that waits has been due for so long, and the alarm that stood for it never went off."""
            overdue = int(time.time() * 1000) - by_ms
            self._store.execute("UPDATE jobs SET due = ? WHERE state = 'pending'", overdue)
            await self.ctx.storage.deleteAlarm()
            self._alarm._armed = overdue

        async def armed(self) -> bool:
            """Whether the platform has an alarm; asking this wakes nobody."""
            return await self.ctx.storage.getAlarm() is not None

    return SchedulerDO


async def lose_alarm(request: HttpRequest) -> HttpAnswer:
    """Let a scheduler of its own oversleep a job, then call one of its methods: ``{"method", "argument"}``."""
    body = await request.json()
    method, argument = body["method"], body["argument"]
    namespace = request.env.SCHEDULER
    stub = namespace.get(namespace.idFromName(f"lost-{method}"))
    job = NewJob(
        id=f"overslept-{method}",
        incarnation="i",
        target="probes:note",
        args="{}",
        due=int(time.time() * 1000) + 3_600_000,
        retry=RetryPolicy().to_dict(),
        timeout_ms=60_000,
    )
    stored = decode_json(await stub.schedule(json.dumps([job.to_dict()])))
    await stub.oversleep(60_000)
    lost = not await stub.armed()
    answer = await getattr(stub, method)(*([] if argument is None else [argument]))
    return HttpAnswer(body={"stored": stored, "lost": lost, "answer": answer, "armed": await stub.armed()})


LOST_ALARM = Route(method="POST", path="/test/lost-alarm", handler=lose_alarm)
