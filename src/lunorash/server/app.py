"""Putting a Worker together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.scheduler.client import Scheduler
from lunorash.server.api import Api, AuthorizeShard
from lunorash.server.auth import Authenticate
from lunorash.server.cors import Cors
from lunorash.server.dispatch_route import dispatch_route
from lunorash.server.job_runner import JobRunner
from lunorash.server.running import FunctionRunner
from lunorash.shard.client import Shards
from lunorash.shard.schema import Migration
from lunorash.studio.admin import ADMIN_ROUTES

__all__ = ["App", "AppBuilder", "define_app"]

HEALTH_PATH = "/_lunora/health"
_RESERVED = ("/_lunora/", "/api/")

Binding = Callable[[Any], Any]
"""Finds a binding in the environment: ``lambda env: env.SCHEDULER``."""


def define_app() -> AppBuilder:
    """Start to put a Worker together. ``lunora/_generated/app.py`` has one that knows your functions already.

    Example:
        The whole of ``src/worker.py``::

            app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).build()
            Default = app.Default
            ShardDO = app.ShardDO
    """
    return AppBuilder()


async def _nobody(_request: HttpRequest) -> Auth:
    return Auth()


class AppBuilder:
    """Collects what a Worker is made of; every method returns the builder itself."""

    def __init__(self) -> None:
        self._shard: Binding | None = None
        self._scheduler: Binding | None = None
        self._instance_name = "default"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._migrations: tuple[Migration, ...] = ()
        self._workflows: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._authenticate: Authenticate = _nobody
        self._authorize_shard: AuthorizeShard | None = None
        self._cors = Cors()
        self._routes: list[Route] = []

    def shard(self, namespace: Binding) -> AppBuilder:
        """Wire the shards, which keep the app's data and run its queries and mutations.

        Args:
            namespace: finds the Durable Object binding, ``lambda env: env.SHARD``.
        """
        self._shard = namespace
        return self

    def scheduler(self, *, namespace: Binding, instance_name: str = "default") -> AppBuilder:
        """Wire the scheduler: jobs can be scheduled, are run by this Worker, and the admin API shows them.

        Args:
            namespace: finds the Durable Object binding, ``lambda env: env.SCHEDULER``.
            instance_name: which SchedulerDO the app uses.
        """
        self._scheduler = namespace
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

    def migrations(self, migrations: Sequence[Migration]) -> AppBuilder:
        """Set the migrations of the shards' database, in order: names and SQL."""
        self._migrations = tuple(migrations)
        return self

    def workflows(self, bindings: Mapping[str, str]) -> AppBuilder:
        """Set the bindings of the workflows that jobs may start, by name."""
        self._workflows = dict(bindings)
        return self

    def agents(self, bindings: Mapping[str, str]) -> AppBuilder:
        """Set the bindings of the agents that jobs may start, by name."""
        self._agents = dict(bindings)
        return self

    def auth(self, authenticate: Authenticate) -> AppBuilder:
        """Say who calls: a hook that turns a request into an `Auth`; see `lunorash.server.auth.jwt_hs256`."""
        self._authenticate = authenticate
        return self

    def authorize_shard(self, hook: AuthorizeShard) -> AppBuilder:
        """Let clients name a shard, if the hook, given who calls and the shard's key, answers True.

        Without a hook they can use the default shard only. Jobs are not asked.
        """
        self._authorize_shard = hook
        return self

    def cors(self, origins: Sequence[str]) -> AppBuilder:
        """Let web pages of these origins call the API."""
        self._cors = Cors(origins)
        return self

    def routes(self, routes: Iterable[Route]) -> AppBuilder:
        """Add routes of your own. Paths under ``/_lunora/`` and ``/api/`` are the library's.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a path that is reserved or taken.
        """
        for route in routes:
            if route.path.startswith(_RESERVED):
                raise LunoraError(
                    "INVALID_INPUT", f"the path {route.path!r} is reserved; choose one outside {_RESERVED}"
                )
            if any((route.method, route.path) == (other.method, other.path) for other in self._routes):
                raise LunoraError("INVALID_INPUT", f"there are two routes {route.method} {route.path}; remove one")
            self._routes.append(route)
        return self

    def build(self) -> App:
        """Put it together.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a function path that is none.
        """
        return App(
            FunctionTable(self._functions),
            shard=self._shard,
            scheduler=self._scheduler,
            instance_name=self._instance_name,
            migrations=self._migrations,
            workflows=self._workflows,
            agents=self._agents,
            authenticate=self._authenticate,
            authorize_shard=self._authorize_shard,
            cors=self._cors,
            routes=tuple(self._routes),
        )


class App:
    """A Worker that has been put together; made by `AppBuilder.build`."""

    def __init__(
        self,
        functions: FunctionTable,
        *,
        shard: Binding | None,
        scheduler: Binding | None,
        instance_name: str,
        migrations: Sequence[Migration],
        workflows: Mapping[str, str],
        agents: Mapping[str, str],
        authenticate: Authenticate,
        authorize_shard: AuthorizeShard | None,
        cors: Cors,
        routes: Sequence[Route],
    ) -> None:
        self._functions = functions
        self._shard = shard
        self._scheduler = scheduler
        self._instance_name = instance_name
        self._migrations = migrations
        self._workflows = workflows
        self._agents = agents
        api = Api(
            functions=functions,
            runner=self._runner,
            authenticate=authenticate,
            authorize_shard=authorize_shard,
            cors=cors,
        )
        health = Route(method="GET", path=HEALTH_PATH, handler=_health)
        table: dict[str, dict[str, Handler]] = {}
        for route in (health, *ADMIN_ROUTES, dispatch_route(self._job_runner, scheduler), *api.routes(), *routes):
            table.setdefault(route.path, {})[route.method] = route.handler
        self.routes: Mapping[str, Mapping[str, Handler]] = MappingProxyType(table)

    @property
    def Default(self) -> type[Any]:  # noqa: N802 - the runtime looks for a class of this name
        """The class to export as ``Default`` from the Worker's entry. Only inside a Worker."""
        from lunorash.server.entrypoint import make_entrypoint

        return make_entrypoint(self.routes, self.scheduler)

    @property
    def ShardDO(self) -> type[Any]:  # noqa: N802 - the name it is exported and bound by
        """The class to export as ``ShardDO`` from the Worker's entry. Only inside a Worker."""
        from lunorash.shard.durable_object import make_shard_class

        return make_shard_class(
            self._functions, self._migrations, lambda env: _bound(self._scheduler, env), self._instance_name
        )

    def scheduler(self, env: Any) -> Scheduler:
        """The scheduler client of an environment."""
        namespace = _bound(self._scheduler, env)

        def stub() -> Any:
            if namespace is None:
                raise LunoraError(
                    "SCHEDULER_NOT_CONFIGURED",
                    "there is no binding to a SchedulerDO; bind the class as SCHEDULER under durable_objects in "
                    "wrangler.jsonc and build the app with .scheduler(namespace=lambda env: env.SCHEDULER)",
                )
            return namespace.get(namespace.idFromName(self._instance_name))

        return Scheduler(stub, catalog=self._functions)

    def _runner(self, request: HttpRequest) -> FunctionRunner:
        return FunctionRunner(
            self._functions,
            env=request.env,
            shards=Shards(_bound(self._shard, request.env)),
            scheduler=request.scheduler(),
            fetch=request.fetch,
        )

    def _job_runner(self, request: HttpRequest) -> JobRunner:
        return JobRunner(
            self._functions,
            self._runner(request),
            env=request.env,
            workflows=self._workflows,
            agents=self._agents,
        )


def _bound(binding: Binding | None, env: Any) -> Any:
    try:
        return None if binding is None else binding(env)
    except AttributeError:  # an environment's answer for a binding that it does not have
        return None


async def _health(_request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"ok": True})
