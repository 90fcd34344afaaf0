"""Routes through which the tests reach into the Worker."""

from __future__ import annotations

from typing import Final

from failpoints import ARM
from journal import journal
from lost_alarms import LOST_ALARM
from routes.schedule import SCHEDULE

from lunorash.codec import decode_json
from lunorash.server import HttpAnswer, HttpRequest, Route


async def read_journal(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body=decode_json(await journal(request.env).read()))


async def run_case(request: HttpRequest) -> HttpAnswer:
    case = (await request.json())["case"]
    namespace = request.env.CONFORMANCE
    return HttpAnswer(body={"failure": await namespace.get(namespace.idFromName(case)).run(case)})


async def begin(request: HttpRequest) -> HttpAnswer:
    """Ask the scheduler whether a dispatch may begin, as a receiver does."""
    namespace = request.env.SCHEDULER
    dispatch_id = (await request.json())["dispatch"]
    return HttpAnswer(body={"begin": await namespace.get(namespace.idFromName("default")).begin(dispatch_id)})


async def instance(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"instance": request.env.SCHEDULER.idFromName("default").toString()})


PEEPHOLES: Final = (
    SCHEDULE,
    ARM,
    LOST_ALARM,
    Route(method="GET", path="/test/journal", handler=read_journal),
    Route(method="POST", path="/test/conformance", handler=run_case),
    Route(method="POST", path="/test/begin", handler=begin),
    Route(method="GET", path="/test/instance", handler=instance),
)
