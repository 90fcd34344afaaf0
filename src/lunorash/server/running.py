"""Running functions: for a caller over HTTP, and for a job."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from lunorash.codec import decode_json
from lunorash.contexts import ActionContext, Auth, Job
from lunorash.errors import LunoraError, UnavailableError, shown
from lunorash.functions import FunctionTable, RegisteredFunction
from lunorash.refs import FunctionReference, Kind
from lunorash.scheduler.client import Scheduler
from lunorash.server.environment import Environment
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards
from lunorash.traceparent import current_traceparent, with_traceparent
from lunorash.values import encode_value

__all__ = ["FunctionRunner"]

Fetch = Callable[..., Awaitable[Any]]


class FunctionRunner:
    """Runs the functions of an app in one environment.

    Args:
        functions: the app's.
        env: the Worker's bindings and variables.
        shards: its shards.
        scheduler: its scheduler.
        fetch: makes HTTP requests.
    """

    def __init__(
        self, functions: FunctionTable, *, env: Any, shards: Shards, scheduler: Scheduler, fetch: Fetch
    ) -> None:
        self._functions = functions
        self._env = env
        self._shards = shards
        self._scheduler = scheduler
        self._fetch = fetch

    async def run(
        self,
        function: RegisteredFunction[..., Any],
        path: str,
        args: str,
        *,
        auth: Auth,
        job: Job | None = None,
        shard_key: str | None = None,
    ) -> str:
        """Run a function of any kind; returns its result as JSON text.

        Args:
            function: what to run.
            path: its path.
            args: its arguments, JSON text.
            auth: who calls.
            job: the job it runs for.
            shard_key: which shard a query or mutation runs on.

        Raises:
            LunoraError: what is wrong with the arguments, or what the function raised.
        """
        call = ShardCall(path=path, args=args, auth=auth, job=job, traceparent=current_traceparent())
        if function.kind == "query":
            return await self._shards.query(call, shard_key)
        if function.kind == "mutation":
            return await self._shards.mutate(call, shard_key)
        return await self.act(function, function.signature.parse(args), auth=auth, job=job)

    async def act(
        self, function: RegisteredFunction[..., Any], args: Mapping[str, Any], *, auth: Auth, job: Job | None
    ) -> str:
        """Run an action; returns its result as JSON text.

        Args:
            function: what to run.
            args: its arguments, parsed.
            auth: who calls.
            job: the job it runs for.

        Raises:
            LunoraError: what the action raised, or that its result cannot be encoded.
        """
        value = function.function(self._action_context(auth, job), **args)
        if inspect.isawaitable(value):
            value = await value
        return function.signature.encode(value)

    def _action_context(self, auth: Auth, job: Job | None) -> ActionContext[Scheduler]:
        async def call(
            kind: Kind, target: FunctionReference[Any] | str, args: Mapping[str, Any] | None, shard_key: str | None
        ) -> Any:
            path = target.path if isinstance(target, FunctionReference) else target
            self._functions.find(path, kind)
            shard_call = ShardCall(
                path=path,
                args=encode_value({} if args is None else dict(args), what="args"),
                auth=auth,
                traceparent=current_traceparent(),
            )
            run = self._shards.query if kind == "query" else self._shards.mutate
            try:
                return decode_json(await run(shard_call, shard_key), what="the result")
            except UnavailableError as error:
                # the action has run already: to its caller this is a failure like any other
                raise LunoraError(error.code, error.message, status=error.status, data=error.data) from None

        async def run_query(
            target: FunctionReference[Any] | str, args: Mapping[str, Any] | None = None, *, shard_key: str | None = None
        ) -> Any:
            return await call("query", target, args, shard_key)

        async def run_mutation(
            target: FunctionReference[Any] | str, args: Mapping[str, Any] | None = None, *, shard_key: str | None = None
        ) -> Any:
            return await call("mutation", target, args, shard_key)

        return ActionContext(
            env=Environment(self._env),
            auth=auth,
            now=datetime.now(UTC),
            random=Random(secrets.randbits(128)),  # noqa: S311 - seeded with real randomness
            scheduler=self._scheduler,
            fetch=_traced(self._fetch, current_traceparent()),
            run_query=run_query,
            run_mutation=run_mutation,
            job=job,
        )


def _traced(fetch: Fetch, traceparent: str | None) -> Fetch:
    """What makes HTTP requests that are part of the trace, if there is one."""
    if traceparent is None:
        return fetch

    async def traced(resource: Any, **options: Any) -> Any:
        return await fetch(resource, **with_traceparent(traceparent, resource, options))

    return traced


def unknown_function(path: str) -> LunoraError:
    """What a caller is told of a path that is not there, or not for them: the same."""
    return LunoraError("FUNCTION_NOT_FOUND", f"there is no function {shown(path)}")
