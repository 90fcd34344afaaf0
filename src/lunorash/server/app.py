"""Putting a Worker together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from lunorash.contexts import Auth
from lunorash.crons import CronJob
from lunorash.errors import LunoraError, shown
from lunorash.functions import FunctionTable
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.object_stub import object_stub
from lunorash.server.api import Api, AuthorizeShard
from lunorash.server.auth import Authenticate
from lunorash.server.cors import Cors
from lunorash.server.cron_runner import CronRunner
from lunorash.server.cron_trigger import Fired, fire
from lunorash.server.dispatch_route import dispatch_route
from lunorash.server.job_runner import JobRunner
from lunorash.server.queue_consumer import QueueConsumer
from lunorash.server.running import FunctionRunner
from lunorash.shard.client import Shards
from lunorash.shard.gathering import Gathering
from lunorash.shard.schema import Migration
from lunorash.studio.admin import AdminParts, admin_routes
from lunorash.studio.live_route import LIVE_ROUTE
from lunorash.studio.metrics_route import METRICS_ROUTE
from lunorash.studio.page_routes import PAGE_ROUTES
from lunorash.studio.session_routes import session_routes

__all__ = ["App", "AppBuilder", "define_app"]

HEALTH_PATH = "/_lunora/health"
_RESERVED = ("/_lunora/", "/api/")

Binding = Callable[[Any], Any]
"""Finds a binding in the environment: ``lambda env: env.SCHEDULER``."""

Fetch = Callable[..., Awaitable[Any]]


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


@dataclass(slots=True, kw_only=True)
class Parts:
    """What a Worker is made of."""

    shard: Binding | None = None
    scheduler: Binding | None = None
    instance_name: str = "default"
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    migrations: tuple[Migration, ...] = ()
    workflows: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    crons: dict[str, tuple[CronJob, ...]] = field(default_factory=dict)
    authenticate: Authenticate = _nobody
    authorize_shard: AuthorizeShard | None = None
    cors: Cors = field(default_factory=Cors)
    routes: list[Route] = field(default_factory=list)


class AppBuilder:
    """Collects what a Worker is made of; every method returns the builder itself."""

    def __init__(self) -> None:
        self._parts = Parts()

    def shard(self, namespace: Binding) -> AppBuilder:
        """Wire the shards, which keep the app's data and run its queries and mutations.

        Args:
            namespace: finds the Durable Object binding, ``lambda env: env.SHARD``.
        """
        self._parts.shard = namespace
        return self

    def scheduler(self, *, namespace: Binding, instance_name: str = "default") -> AppBuilder:
        """Wire the scheduler: jobs can be scheduled, are run by this Worker, and the admin API shows them.

        Args:
            namespace: finds the Durable Object binding, ``lambda env: env.SCHEDULER``.
            instance_name: which SchedulerDO the app uses.
        """
        self._parts.scheduler = namespace
        self._parts.instance_name = instance_name
        return self

    def functions(self, functions: Mapping[str, Callable[..., Any]]) -> AppBuilder:
        """Add functions by their path, such as ``"billing:end_trial"``.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a path that is taken.
        """
        for path in functions:
            if path in self._parts.functions:
                raise LunoraError("INVALID_INPUT", f"there are two functions {path!r}; rename one")
        self._parts.functions.update(functions)
        return self

    def migrations(self, migrations: Sequence[Migration]) -> AppBuilder:
        """Set the migrations of the shards' database, in order: names and SQL."""
        self._parts.migrations = tuple(migrations)
        return self

    def workflows(self, bindings: Mapping[str, str]) -> AppBuilder:
        """Set the bindings of the workflows that jobs may start, by name."""
        self._parts.workflows = dict(bindings)
        return self

    def agents(self, bindings: Mapping[str, str]) -> AppBuilder:
        """Set the bindings of the agents that jobs may start, by name."""
        self._parts.agents = dict(bindings)
        return self

    def crons(self, crons: Mapping[str, Sequence[CronJob]]) -> AppBuilder:
        """Set the cron jobs by the expression of their trigger, ``LUNORA_CRONS`` of ``lunora/_generated/crons.py``.

        Raises:
            LunoraError: ``DUPLICATE_CRON_NAME`` for two of one name: their runs could not be told apart.
        """
        names = Counter(job.name for jobs in crons.values() for job in jobs)
        for name, count in names.items():
            if count > 1:
                raise LunoraError(
                    "DUPLICATE_CRON_NAME", f"there are {count} cron jobs named {shown(name)}; rename them"
                )
        self._parts.crons = {expression: tuple(jobs) for expression, jobs in crons.items()}
        return self

    def auth(self, authenticate: Authenticate) -> AppBuilder:
        """Say who calls: a hook that turns a request into an `Auth`; see `lunorash.server.auth.jwt_hs256`."""
        self._parts.authenticate = authenticate
        return self

    def authorize_shard(self, hook: AuthorizeShard) -> AppBuilder:
        """Let clients name a shard, if the hook, given who calls and the shard's key, answers True.

        Without a hook they can use the default shard only. Jobs are not asked.
        """
        self._parts.authorize_shard = hook
        return self

    def cors(self, origins: Sequence[str]) -> AppBuilder:
        """Let web pages of these origins call the API."""
        self._parts.cors = Cors(origins)
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
            if any((route.method, route.path) == (other.method, other.path) for other in self._parts.routes):
                raise LunoraError("INVALID_INPUT", f"there are two routes {route.method} {route.path}; remove one")
            self._parts.routes.append(route)
        return self

    def build(self) -> App:
        """Put it together.

        Raises:
            LunoraError: ``INVALID_INPUT`` for a function path that is none; ``SCHEDULER_NOT_CONFIGURED`` and
                ``SHARD_NOT_CONFIGURED`` for a cron job whose options need what the app does not have.
        """
        _check_crons(self._parts)
        return App(self._parts)


def _check_crons(parts: Parts) -> None:
    """Refuse now what could not be done when it is needed."""
    for job in (job for jobs in parts.crons.values() for job in jobs):
        if job.retry is not None and parts.scheduler is None:
            raise LunoraError(
                "SCHEDULER_NOT_CONFIGURED",
                f"the cron job {shown(job.name)} has a retry policy, and it is the scheduler that tries again; build "
                "the app with .scheduler(namespace=lambda env: env.SCHEDULER)",
            )
        if job.overlap == "skip" and parts.shard is None:
            raise LunoraError(
                "SHARD_NOT_CONFIGURED",
                f'the cron job {shown(job.name)} has overlap="skip", and it is a shard that knows whether one is under '
                "way; build the app with .shard(lambda env: env.SHARD)",
            )


class App:
    """A Worker that has been put together; made by `AppBuilder.build`.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._functions = FunctionTable(parts.functions)
        api = Api(
            functions=self._functions,
            runner=self._runner,
            authenticate=parts.authenticate,
            authorize_shard=parts.authorize_shard,
            cors=parts.cors,
        )
        health = Route(method="GET", path=HEALTH_PATH, handler=_health)
        dispatch = dispatch_route(self._job_runner, self._gathering, parts.scheduler)
        admin = admin_routes(
            AdminParts(
                functions=self._functions,
                workflows=parts.workflows,
                agents=parts.agents,
                crons=parts.crons,
                shards=lambda request: self._shards(request.env),
                run_cron=lambda request, job: self._cron_runner(request.env, request.fetch).run_by_hand(job),
                runner=self._runner,
            )
        )
        table: dict[str, dict[str, Handler]] = {}
        studio = (*PAGE_ROUTES, *session_routes(), LIVE_ROUTE, METRICS_ROUTE)
        for route in (health, *admin, *studio, dispatch, *api.routes(), *parts.routes):
            table.setdefault(route.path, {})[route.method] = route.handler
        self.routes: Mapping[str, Mapping[str, Handler]] = MappingProxyType(table)

    @property
    def Default(self) -> type[Any]:  # noqa: N802 - the runtime looks for a class of this name
        """The class to export as ``Default`` from the Worker's entry. Only inside a Worker."""
        from lunorash.server.entrypoint import make_entrypoint

        return make_entrypoint(self.routes, self.scheduler, self.fire, self._queue_consumer)

    @property
    def ShardDO(self) -> type[Any]:  # noqa: N802 - the name it is exported and bound by
        """The class to export as ``ShardDO`` from the Worker's entry. Only inside a Worker."""
        from lunorash.shard.durable_object import make_shard_class

        return make_shard_class(
            self._functions,
            self._parts.migrations,
            lambda env: _bound(self._parts.scheduler, env),
            self._parts.instance_name,
        )

    def scheduler(self, env: Any) -> Scheduler:
        """The scheduler client of an environment."""
        namespace = _bound(self._parts.scheduler, env)

        def stub() -> Any:
            if namespace is None:
                raise LunoraError(
                    "SCHEDULER_NOT_CONFIGURED",
                    "there is no binding to a SchedulerDO; bind the class as SCHEDULER under durable_objects in "
                    "wrangler.jsonc and build the app with .scheduler(namespace=lambda env: env.SCHEDULER)",
                )
            return object_stub(namespace, self._parts.instance_name)

        return Scheduler(stub, catalog=self._functions)

    async def fire(self, fired: Fired, env: Any, fetch: Fetch) -> None:
        """What a Cron Trigger starts: see `lunorash.server.cron_trigger.fire`."""
        runner = self._cron_runner(env, fetch)
        wake = None if self._parts.scheduler is None else self.scheduler(env).status
        await fire(fired, self._parts.crons, run=runner.run, wake=wake, log=print)

    def _cron_runner(self, env: Any, fetch: Fetch) -> CronRunner:
        scheduler = self.scheduler(env)
        runnable = self._job_runner_in(env, self._runner_in(env, scheduler, fetch))
        return CronRunner(runnable, shards=self._shards(env), scheduler=scheduler)

    def _shards(self, env: Any) -> Shards | None:
        """Its shards; None for an app that has none, so that nothing is asked of them in vain."""
        return None if self._parts.shard is None else Shards(_bound(self._parts.shard, env))

    def _runner(self, request: HttpRequest) -> FunctionRunner:
        return self._runner_in(request.env, request.scheduler(), request.fetch)

    def _runner_in(self, env: Any, scheduler: Scheduler, fetch: Fetch) -> FunctionRunner:
        return FunctionRunner(
            self._functions, env=env, shards=Shards(_bound(self._parts.shard, env)), scheduler=scheduler, fetch=fetch
        )

    def _job_runner(self, request: HttpRequest) -> JobRunner:
        """What runs the jobs of one dispatch."""
        return self._job_runner_in(request.env, self._runner(request))

    def _gathering(self, request: HttpRequest) -> Gathering:
        """What runs those of them in one call that are mutations."""
        return Gathering(self._functions, Shards(_bound(self._parts.shard, request.env)))

    def _job_runner_in(self, env: Any, runner: FunctionRunner) -> JobRunner:
        return JobRunner(self._functions, runner, env=env, workflows=self._parts.workflows, agents=self._parts.agents)

    def _queue_consumer(self, queue: str, env: Any, fetch: Fetch) -> QueueConsumer:
        return QueueConsumer(queue, self._job_runner_in(env, self._runner_in(env, self.scheduler(env), fetch)))


def _bound(binding: Binding | None, env: Any) -> Any:
    try:
        return None if binding is None else binding(env)
    except AttributeError:  # an environment's answer for a binding that it does not have
        return None


async def _health(_request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(body={"ok": True})
