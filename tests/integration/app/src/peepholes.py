"""Routes through which the tests reach into the Worker."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, Final

import pyodide_js
from failpoints import ARM
from journal import journal
from kept_statistics import KEPT_STATISTICS
from lost_alarms import LOST_ALARM
from routes.schedule import SCHEDULE
from timers import TIMERS

from lunorash.codec import decode_json
from lunorash.scheduler.ids import mint_id
from lunorash.server import HttpAnswer, HttpRequest, Route


async def read_journal(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body=decode_json(await journal(request.env).read()))


async def read_journal_behind(request: HttpRequest) -> HttpAnswer:
    number = int(request.parameter("number") or 0)
    return HttpAnswer(body=decode_json(await journal(request.env).read_behind(number)))


async def isolate(request: HttpRequest) -> HttpAnswer:
    """The isolate that answers: its name, which no other one ever has, its tasks, and the size of Python's memory."""
    if not _isolate:
        _isolate.append(mint_id())  # there is no randomness while modules are imported
    gc.collect()
    heap_mb = pyodide_js._module.HEAP8.length / 2**20
    return HttpAnswer(body={"isolate": _isolate[0], "tasks": len(asyncio.all_tasks()), "heap_mb": heap_mb})


async def turns(request: HttpRequest) -> HttpAnswer:
    """How many turns of the event loop a task takes that does nothing and is waited for."""
    loop: Any = asyncio.get_running_loop()
    put_off = loop.call_later
    taken: list[Any] = []

    def call_later(*args: Any, **options: Any) -> Any:
        taken.append(args)
        return put_off(*args, **options)

    loop.call_later = call_later
    try:
        await asyncio.create_task(_nothing())
    finally:
        del loop.call_later
    return HttpAnswer(body={"turns": len(taken)})


async def _nothing() -> None:
    """Nothing."""


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


_isolate: list[str] = []

PEEPHOLES: Final = (
    SCHEDULE,
    ARM,
    KEPT_STATISTICS,
    LOST_ALARM,
    TIMERS,
    Route(method="GET", path="/test/journal", handler=read_journal),
    Route(method="GET", path="/test/journal/behind", handler=read_journal_behind),
    Route(method="GET", path="/test/isolate", handler=isolate),
    Route(method="GET", path="/test/turns", handler=turns),
    Route(method="POST", path="/test/conformance", handler=run_case),
    Route(method="POST", path="/test/begin", handler=begin),
    Route(method="GET", path="/test/instance", handler=instance),
)
