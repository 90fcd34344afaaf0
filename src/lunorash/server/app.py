"""Putting a Worker together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.scheduler.client import Scheduler, create_scheduler
from lunorash.server.dispatch_route import dispatch_route
from lunorash.studio.admin import ADMIN_ROUTES

__all__ = ["App", "AppBuilder", "define_app"]

HEALTH_PATH = "/_lunora/health"


def define_app() -> AppBuilder:
    """Start to put a Worker together.

    Example:
        The whole of ``src/worker.py``::

            app = (
                define_app()
                .scheduler(namespace=lambda env: env.SCHEDULER)
                .functions({"billing:end_trial": end_trial})
                .build()
            )
            Default = app.Default
    """
    return AppBuilder()


class AppBuilder:
    """Collects what a Worker is made of; every method returns the builder itself."""

    def __init__(self) -> None:
        self._namespace: Callable[[Any], Any] | None = None
        self._instance_name = "default"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._routes: list[Route] = []

    def scheduler(self, *, namespace: Callable[[Any], Any], instance_name: str = "default") -> AppBuilder:
        """Wire the scheduler: jobs can be scheduled, are run by this Worker, and the admin API shows them.

        Args:
            namespace: finds the Durable Object binding in the environment, ``lambda env: env.SCHEDULER``.
            instance_name: which SchedulerDO the app uses.
        """
        self._namespace = namespace
        self._instance_name = instance_name
        return self

    def functions(self, functions: Mapping[str, Callable[..., Any]]) -> AppBuilder:
        """Add functions by their path, such as ``"billing:end_trial"``.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a path that is taken.
        """
        for path in functions:
            if path in self._functions:
                raise LunoraError("INVALID_INPUT", f"there are two functions {path!r}; rename one")
        self._functions.update(functions)
        return self

    def routes(self, routes: Iterable[Route]) -> AppBuilder:
        """Add routes of your own. Paths under ``/_lunora/`` are the library's."""
        for route in routes:
            if route.path.startswith("/_lunora/"):
                raise LunoraError("INVALID_INPUT", f"the path {route.path!r} is reserved; choose one outside /_lunora/")
            if any((route.method, route.path) == (other.method, other.path) for other in self._routes):
                raise LunoraError("INVALID_INPUT", f"there are two routes {route.method} {route.path}; remove one")
            self._routes.append(route)
        return self

    def build(self) -> App:
        """Put it together.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a function path that is none.
        """
        table = FunctionTable(self._functions)
        namespace = self._namespace
        routes = [Route(method="GET", path=HEALTH_PATH, handler=_health), *ADMIN_ROUTES, *self._routes]
        if namespace is not None:
            routes.append(dispatch_route(table, namespace))

        def scheduler(env: Any) -> Scheduler:
            try:
                bound = None if namespace is None else namespace(env)
            except AttributeError:  # an environment's answer for a binding that it does not have
                bound = None
            return create_scheduler(namespace=bound, instance_name=self._instance_name, functions=table.paths)

        by_path: dict[str, dict[str, Handler]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route.handler
        return App(MappingProxyType(by_path), scheduler)


class App:
    """A Worker that has been put together.

    Args:
        routes: handlers by path, then by method.
        scheduler: makes the scheduler client of an environment.
    """

    def __init__(self, routes: Mapping[str, Mapping[str, Handler]], scheduler: Callable[[Any], Scheduler]) -> None:
        self.routes = routes
        self.scheduler = scheduler

    @property
    def Default(self) -> type[Any]:  # noqa: N802 - the runtime looks for a class of this name
        """The class to export as ``Default`` from the Worker's entry. Only inside a Worker."""
        from lunorash.server.entrypoint import make_entrypoint

        return make_entrypoint(self.routes, self.scheduler)


async def _health(_request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"ok": True})
