"""The public API: ``POST /api/query``, ``/api/mutation``, ``/api/action``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from lunorash.codec import encode_args
from lunorash.contexts import Auth
from lunorash.errors import LunoraError, shown
from lunorash.functions import FunctionTable
from lunorash.http import HttpAnswer, HttpRequest, Route
from lunorash.incident import conceal, report, tellable
from lunorash.refs import Kind, check_function_path
from lunorash.server.auth import Authenticate
from lunorash.server.cors import Cors
from lunorash.server.running import FunctionRunner, unknown_function

__all__ = ["Api", "AuthorizeShard"]

AuthorizeShard = Callable[[Auth, str], Awaitable[bool]]
"""Decides whether a caller may use a shard. It is not asked for jobs, nor for the default shard."""

_KINDS: Final[tuple[Kind, ...]] = ("query", "mutation", "action")
_FIELDS: Final = {"path", "args", "shard_key"}
_CONCEALED: Final = frozenset({"MIGRATION_FAILED", "MIGRATION_MISSING", "SQL_FAILED"})
"""Their texts tell the schema. Jobs keep them, for operators."""
_MAX_SHARD_KEY: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The routes through which clients call functions.

    Args:
        functions: the app's; internal ones are answered as if they were not there.
        runner: runs functions in an environment.
        authenticate: says who calls.
        authorize_shard: says who may use which shard; None leaves clients the default shard only.
        cors: which pages may call.
    """

    functions: FunctionTable
    runner: Callable[[HttpRequest], FunctionRunner]
    authenticate: Authenticate
    authorize_shard: AuthorizeShard | None
    cors: Cors

    def routes(self) -> list[Route]:
        """The routes, with those that answer browsers' preflights."""
        routes = []
        for kind in _KINDS:
            path = f"/api/{kind}"
            routes.append(Route(method="POST", path=path, handler=self._handler(kind)))
            if self.cors.origins:
                routes.append(Route(method="OPTIONS", path=path, handler=self._preflight))
        return routes

    def _handler(self, kind: Kind) -> Callable[[HttpRequest], Awaitable[HttpAnswer]]:
        async def handle(request: HttpRequest) -> HttpAnswer:
            headers = {"cache-control": "no-store", **self.cors.headers(request)}
            try:
                value = await self._run(kind, request)
            except LunoraError as error:
                return _failed(error, headers)
            except Exception as error:  # noqa: BLE001
                return _failed(report(f"an {kind}" if kind == "action" else f"a {kind}", error), headers)
            return HttpAnswer(encoded=f'{{"status": "success", "value": {value}}}', headers=headers)

        return handle

    async def _preflight(self, request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(status=200, body={}, headers=self.cors.preflight(request))

    async def _run(self, kind: Kind, request: HttpRequest) -> str:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise LunoraError("UNSUPPORTED_MEDIA_TYPE", "the content type must be application/json")
        body = await request.json()
        unknown = sorted(set(body) - _FIELDS)
        if unknown:
            raise LunoraError("INVALID_INPUT", f"there is no field {shown(unknown[0])}; there is path, args, shard_key")
        path = check_function_path(body.get("path"))
        function = self.functions.get(path)
        if function is None or function.internal:
            raise unknown_function(path)
        if function.kind != kind:
            raise LunoraError(
                "INVALID_INPUT", f"{path} is of the kind {function.kind}: post it to /api/{function.kind}"
            )
        args = encode_args(body.get("args", {}))
        auth = await self.authenticate(request)
        shard_key = await self._shard_key(body.get("shard_key"), auth)
        return await self.runner(request).run(function, path, args, auth=auth, shard_key=shard_key)

    async def _shard_key(self, shard_key: Any, auth: Auth) -> str | None:
        if shard_key is None:
            return None
        if not isinstance(shard_key, str) or not 1 <= len(shard_key) <= _MAX_SHARD_KEY:
            raise LunoraError(
                "INVALID_INPUT",
                f"shard_key is {shown(shard_key)}; it must be a string of 1 to {_MAX_SHARD_KEY} characters",
            )
        if self.authorize_shard is None or not await self.authorize_shard(auth, shard_key):
            raise LunoraError("SHARD_FORBIDDEN", "you may not use this shard")
        return shard_key


def _failed(error: LunoraError, headers: dict[str, str]) -> HttpAnswer:
    told = conceal(error, "a function") if error.code in _CONCEALED else tellable(error, "a function")
    return HttpAnswer(status=told.status, body={"status": "error", "error": told.to_dict()}, headers=headers)
