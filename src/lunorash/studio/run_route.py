"""Running any function from outside, an internal one too: for operators, and for ``lunora run``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from lunorash.codec import encode_args
from lunorash.contexts import Auth
from lunorash.errors import LunoraError, shown
from lunorash.functions import FunctionTable, RegisteredFunction
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.incident import describe, report
from lunorash.refs import check_function_path
from lunorash.scheduler.options import RunOptions
from lunorash.shard.answers import UnexpectedError
from lunorash.studio.admin import guarded

__all__ = ["run_route"]

_FIELDS: Final = {"path", "args", "shard_key"}


class _Runner(Protocol):
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


def run_route(functions: FunctionTable, runner: Callable[[HttpRequest], _Runner]) -> Route:
    """Make the route. The function runs as nobody, as it would for a job.

    Args:
        functions: the app's.
        runner: makes what runs them, in the environment of a request.
    """

    async def run(request: HttpRequest) -> HttpAnswer:
        body = await request.json()
        unknown = sorted(set(body) - _FIELDS)
        if unknown:
            raise LunoraError("INVALID_INPUT", f"there is no field {shown(unknown[0])}; there is path, args, shard_key")
        path = check_function_path(body.get("path"))
        function = functions.find(path)
        args = encode_args(body.get("args", {}))
        shard_key = RunOptions(shard_key=body.get("shard_key")).shard_key
        try:
            value = await runner(request).run(function, path, args, auth=Auth(), shard_key=shard_key)
        except UnexpectedError as error:
            raise LunoraError("ATTEMPT_FAILED", error.detail) from None
        except LunoraError:
            raise
        except Exception as error:  # noqa: BLE001
            # it is an operator who asks; to anybody else `report` would be the whole answer
            report("a function", error)
            raise LunoraError("ATTEMPT_FAILED", describe(error)) from None
        return HttpAnswer(encoded=f'{{"value": {value}}}')

    return Route(method="POST", path="/_lunora/admin/run", handler=guarded(run))
