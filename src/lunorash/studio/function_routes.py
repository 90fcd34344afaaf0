"""The admin API of functions: which there are, with what they take, and running one now, an internal one too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

from pydantic import Field

from lunorash.codec import encode_args
from lunorash.contexts import Auth
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable, RegisteredFunction
from lunorash.http import HttpAnswer, HttpRequest
from lunorash.incident import describe, report
from lunorash.refs import check_function_path
from lunorash.shard.answers import UnexpectedError
from lunorash.studio.asking import Asked, Told

__all__ = ["FunctionHandlers", "Functions", "RunBody", "Value"]


class RunBody(Asked):
    """A function to run.

    Args:
        path: ``module.path:name``.
        args: its arguments by name.
        shard_key: which shard a query or a mutation runs on.
    """

    path: str = Field(min_length=1, max_length=200)
    args: dict[str, Any] = Field(default_factory=dict)
    shard_key: str | None = Field(None, min_length=1, max_length=256)


class Value(Told):
    """What a function returned.

    Args:
        value: any JSON value.
    """

    value: Any


class Function(Told):
    """Something that a job can call.

    Args:
        path: as a job's target.
        kind: what it is.
        visibility: whether clients may call it, or only jobs and other functions.
        args_schema: the JSON Schema of its arguments; null if it takes any, or if there is none.
        problem: why there is no schema, where there should be one.
    """

    path: str
    kind: Literal["query", "mutation", "action", "workflow", "agent"]
    visibility: Literal["public", "internal"]
    args_schema: dict[str, Any] | None
    problem: str | None = None


class Functions(Told):
    """All that a job can call.

    Args:
        functions: by path.
    """

    functions: tuple[Function, ...]


class Runner(Protocol):
    """Runs a function of any kind; returns its result as JSON text."""

    def run(
        self,
        function: RegisteredFunction[..., object],
        path: str,
        args: str,
        *,
        auth: Auth,
        shard_key: str | None = None,
    ) -> Awaitable[str]: ...


@dataclass(frozen=True, kw_only=True)
class FunctionHandlers:
    """Who answers for an app's functions.

    Args:
        functions: the app's.
        workflows: the bindings of workflows, by name.
        agents: the bindings of agents, by name.
        runner: makes what runs functions, in the environment of a request.
    """

    functions: FunctionTable
    workflows: Mapping[str, str]
    agents: Mapping[str, str]
    runner: Callable[[HttpRequest], Runner]

    async def list_functions(self, _request: HttpRequest, _asked: None) -> Told:
        """List all that a job can call: functions with what they take, workflows, agents."""
        return self._listed

    async def run_function(self, request: HttpRequest, asked: RunBody) -> HttpAnswer:
        """Run a function of any kind, an internal one too. It runs as nobody, as it would for a job."""
        path = check_function_path(asked.path)
        function = self.functions.find(path)
        args = encode_args(asked.args)
        try:
            value = await self.runner(request).run(function, path, args, auth=Auth(), shard_key=asked.shard_key)
        except UnexpectedError as error:
            raise LunoraError("ATTEMPT_FAILED", error.detail) from None
        except LunoraError:
            raise
        except Exception as error:  # noqa: BLE001
            # it is an operator who asks; to anybody else `report` would be the whole answer
            report("a function", error)
            raise LunoraError("ATTEMPT_FAILED", describe(error)) from None
        return HttpAnswer(encoded=f'{{"value": {value}}}')

    @cached_property
    def _listed(self) -> Functions:
        """An app's functions stay what they are."""
        kinds: tuple[tuple[Literal["workflow", "agent"], Mapping[str, str]], ...] = (
            ("workflow", self.workflows),
            ("agent", self.agents),
        )
        started = [
            Function(path=f"{kind}s.{name}", kind=kind, visibility="internal", args_schema=None)
            for kind, names in kinds
            for name in names
        ]
        listed = [self._listed_one(path) for path in self.functions.paths]
        return Functions(functions=tuple(sorted([*listed, *started], key=lambda each: each.path)))

    def _listed_one(self, path: str) -> Function:
        function = self.functions.find(path)
        visibility: Literal["public", "internal"] = "internal" if function.internal else "public"
        try:
            schema = function.signature.schema()
        except LunoraError as error:
            return Function(
                path=path, kind=function.kind, visibility=visibility, args_schema=None, problem=error.message
            )
        return Function(path=path, kind=function.kind, visibility=visibility, args_schema=schema)
