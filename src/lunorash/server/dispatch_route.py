"""The receiver's endpoint: checks a dispatch, asks whether to begin, and streams the answer."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Any

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.scheduler.protocol import ANSWER_TYPE, DISPATCH_PATH, read_dispatch
from lunorash.scheduler.receiver import Receiver
from lunorash.scheduler.settings import read_origin, read_secrets
from lunorash.scheduler.signing import verify
from lunorash.server.job_runner import JobRunner
from lunorash.shard.gathering import Gathering

__all__ = ["dispatch_route"]


def dispatch_route(
    job_runner: Callable[[HttpRequest], JobRunner],
    gathering: Callable[[HttpRequest], Gathering],
    namespace: Callable[[Any], Any] | None,
) -> Route:
    """Make the route that takes dispatches.

    Args:
        job_runner: makes what runs the targets of jobs.
        gathering: makes what runs those that share a call.
        namespace: finds the SchedulerDO binding in the environment; None when the app has no scheduler, and then
            nobody's dispatches are taken.
    """

    async def receive(request: HttpRequest) -> HttpAnswer:
        body = await request.body()
        dispatch_id = verify(request.headers, body, read_secrets(request.env), int(time.time()))
        dispatch = read_dispatch(body)
        if not hmac.compare_digest(dispatch.audience.encode(), read_origin(request.env).encode()):
            raise LunoraError("DISPATCH_UNAUTHENTICATED", "the dispatch was made for another origin")
        if namespace is None:
            raise LunoraError("DISPATCH_UNAUTHENTICATED", "this Worker has no scheduler")
        if not await _instance(namespace(request.env), dispatch.instance).begin(dispatch_id):
            raise LunoraError(
                "DISPATCH_UNAUTHENTICATED", "the scheduler says no: this dispatch has begun before, or is over"
            )
        receiver = Receiver(
            job_runner(request), context=lambda attempt: attempt, log=print, together=gathering(request)
        )

        async def stream(write: Callable[[bytes], Awaitable[object]]) -> None:
            await receiver.answer(dispatch.attempts, write)

        return HttpAnswer(headers={"content-type": ANSWER_TYPE, "cache-control": "no-store"}, stream=stream)

    return Route(method="POST", path=DISPATCH_PATH, handler=receive)


def _instance(namespace: Any, object_id: str) -> Any:
    try:
        return namespace.get(namespace.idFromString(object_id))
    except Exception:  # noqa: BLE001 - what JavaScript throws for an id of another namespace
        raise LunoraError("DISPATCH_UNAUTHENTICATED", "the dispatch names a scheduler that is not ours") from None
