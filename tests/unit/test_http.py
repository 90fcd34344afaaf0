from __future__ import annotations

from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, Route, find_route
from lunorash.scheduler.protocol import DISPATCH_PATH
from lunorash.server import define_app
from lunorash.studio.admin import PREFIX, AdminParts, admin_operations, admin_routes
from lunorash.studio.job_routes import JobQuery
from lunorash.studio.operation import STORED
from tests.routes.schedule import SCHEDULE

from .worker_app import Worker, refusal

_ADMIN = "/_lunora/admin"
_ROUTES = admin_routes(AdminParts())

# -- routing -------------------------------------------------------------------------------------------------


async def test_a_worker_says_that_it_is_well() -> None:
    assert await Worker().json("GET", "/_lunora/health", headers={}) == (200, {"ok": True})


@pytest.mark.parametrize(
    "path", ["", "/", "/nowhere", "/_lunora", f"{_ADMIN}/", "/_lunora/health/", "//_lunora/health"]
)
async def test_a_path_where_nothing_is_answers_404(path: str) -> None:
    assert refusal(await Worker().json("GET", path)) == (404, "NOT_FOUND")


async def test_a_known_path_with_another_method_answers_405_and_says_which() -> None:
    for route in (
        *_ROUTES,
        SCHEDULE,
        Route(method="POST", path=DISPATCH_PATH, handler=SCHEDULE.handler),
    ):
        for method in {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get"} - {route.method}:
            answer = await Worker().json(method, route.path)
            assert refusal(answer) == (405, "METHOD_NOT_ALLOWED"), route.path
            assert route.method in answer[1]["error"]["message"]
            assert route.method in (await Worker().answer(method, route.path)).headers["allow"].split(", ")


def test_one_path_may_take_several_methods() -> None:
    async def one(_request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(body=1)

    async def two(_request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(body=2)

    app = define_app().routes(
        [Route(method="GET", path="/x", handler=one), Route(method="POST", path="/x", handler=two)]
    ).build()  # fmt: skip
    assert find_route(app.routes, "GET", "/x") is one
    assert find_route(app.routes, "POST", "/x") is two
    with pytest.raises(LunoraError, match="this path takes GET, POST"):
        find_route(app.routes, "PUT", "/x")


def test_the_librarys_paths_are_not_the_apps_to_take() -> None:
    async def mine(_request: HttpRequest) -> HttpAnswer:
        return HttpAnswer()

    with pytest.raises(LunoraError, match="reserved") as raised:
        define_app().routes([Route(method="GET", path="/_lunora/mine", handler=mine)])
    assert raised.value.code == "INVALID_INPUT"


def test_two_functions_of_one_path_are_refused() -> None:
    with pytest.raises(LunoraError, match="there are two functions 'm:f'"):
        define_app().functions({"m:f": len}).functions({"m:f": max})


@pytest.mark.parametrize(("path", "function"), [("no path", len), ("m:f", 5), ("m:f", None)])
def test_what_is_no_function_is_refused_when_the_app_is_built(path: str, function: Any) -> None:
    with pytest.raises(LunoraError) as raised:
        define_app().functions({path: function}).build()
    assert raised.value.code == "INVALID_INPUT"


_BODIES = {
    "CapBody": b'{"name": "imports", "max_concurrency": 2}',
    "ChangeBody": b'{"filter": {}}',
    "JobQuery": b'{"id": "j"}',
    "PoolBody": b'{"name": "imports"}',
    "ScheduleBody": b'{"target": "m:f"}',
}


@pytest.mark.parametrize("how", ["never wired", "not bound", "bound to nothing"])
async def test_a_worker_without_a_scheduler_says_so_on_every_admin_route(how: str) -> None:
    worker = Worker()
    del worker.env.SCHEDULER
    if how == "never wired":
        worker.app = define_app().functions({"m:f": len}).build()
    elif how == "bound to nothing":
        worker.env.SCHEDULER = None
    asking = [operation for operation in admin_operations(AdminParts()) if set(STORED) <= set(operation.codes)]
    assert len(asking) >= 19
    for operation in asking:
        query, name = ("id=j" if operation.asks is JobQuery else ""), getattr(operation.asks, "__name__", "")
        answer = await worker.json(operation.method, PREFIX + operation.path, query=query, body=_BODIES.get(name, b""))
        assert refusal(answer) == (400, "SCHEDULER_NOT_CONFIGURED"), operation.path


def test_two_routes_of_one_method_and_path_are_refused() -> None:
    async def mine(_request: HttpRequest) -> HttpAnswer:
        return HttpAnswer()

    route = Route(method="GET", path="/x", handler=mine)
    with pytest.raises(LunoraError, match="there are two routes GET /x"):
        define_app().routes([route]).routes([route])
