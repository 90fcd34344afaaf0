"""A whole Worker with functions of every kind, and the shards and the scheduler that they use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import date
from types import SimpleNamespace
from typing import Any, Final

from lunorash.contexts import ActionContext, Auth, MutationContext, QueryContext
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable, register
from lunorash.http import HttpAnswer, HttpRequest, find_route
from lunorash.server import App, define_app

from .scheduler_object import Namespace, environment
from .shard_object import ShardNamespace

__all__ = ["FUNCTIONS", "JSON", "ApiWorker"]

JSON: Final = {"content-type": "application/json"}


def note(ctx: MutationContext[Any], text: str) -> str:
    ctx.db.execute("INSERT INTO notes VALUES (?)", text)
    return text.upper()


def secret_note(ctx: MutationContext[Any], text: str) -> str:
    return note(ctx, text)


def notes(ctx: QueryContext) -> list[str]:
    return [row["text"] for row in ctx.db.fetch_all("SELECT text FROM notes ORDER BY rowid")]


async def whoami(ctx: MutationContext[Any]) -> list[Any]:
    return [ctx.auth.user_id, dict(ctx.auth.claims), ctx.job.id if ctx.job else None]


async def fails(ctx: MutationContext[Any], how: str) -> None:
    note(ctx, "lost")
    _fail(how)


async def waits(ctx: MutationContext[Any]) -> None:
    note(ctx, "lost")
    await asyncio.sleep(0)


async def bad_sql(ctx: MutationContext[Any]) -> None:
    ctx.db.execute("SELECT hunter2 FROM elsewhere")


async def act(ctx: ActionContext[Any], text: str) -> dict[str, Any]:
    result = await ctx.run_mutation("m:note", {"text": text})
    return {"result": result, "notes": await ctx.run_query("m:notes"), "who": ctx.auth.user_id}


def plain_act(_ctx: ActionContext[Any], n: int = 2**53 + 1) -> list[Any]:
    return [n, 1.0, date(2026, 1, 2)]


async def act_on(ctx: ActionContext[Any], path: str, args: dict[str, Any], shard_key: str | None = None) -> Any:
    return await ctx.run_mutation(path, args, shard_key=shard_key)


async def act_fails(_ctx: ActionContext[Any], how: str) -> None:
    _fail(how)


def _fail(how: str) -> None:
    errors: dict[str, Callable[[], Exception]] = {
        "expected": lambda: LunoraError("CARD_DECLINED", "no funds", status=402, data={"limit": 5}),
        "unexpected": lambda: KeyError("hunter2"),
        "set": lambda: LunoraError("MINE", "a set", data={1, 2}),
        "nan": lambda: LunoraError("MINE", "nan", data=[float("nan")]),
        "half a pair": lambda: LunoraError("MINE", "\ud800"),
    }
    raise errors[how]()


_MUTATIONS: Final = (note, whoami, fails, waits, bad_sql)
_ACTIONS: Final = (act, plain_act, act_on, act_fails)
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{f"m:{function.__name__}": register(function, kind="mutation", internal=False) for function in _MUTATIONS},
    **{f"m:{function.__name__}": register(function, kind="action", internal=False) for function in _ACTIONS},
    "m:notes": register(notes, kind="query", internal=False),
    "m:secret_note": register(secret_note, kind="mutation", internal=True),
    "m:secret_act": register(plain_act, kind="action", internal=True),
}


class ApiWorker:
    """An app, and the environment it runs in. Whoever bears ``x-user`` is that user."""

    def __init__(
        self,
        *,
        authorize_shard: Callable[[Auth, str], Any] | None = None,
        authenticate: Callable[[HttpRequest], Any] | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        self.env: SimpleNamespace = environment()
        self.env.SCHEDULER = Namespace(self.env)
        self.shards = ShardNamespace(FunctionTable(FUNCTIONS), self.env)
        self.env.SHARD = self.shards
        builder = (
            define_app()
            .shard(lambda env: env.SHARD)
            .scheduler(namespace=lambda env: env.SCHEDULER)
            .functions(FUNCTIONS)
            .auth(authenticate or _user)
            .cors(origins)
        )
        if authorize_shard is not None:
            builder.authorize_shard(authorize_shard)
        self.app: App = builder.build()

    def request(
        self,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        method: str = "POST",
        query: str = "",
    ) -> HttpRequest:
        """A request as the entrypoint makes it."""

        async def read() -> bytes:
            return body

        async def fetch(*_args: object, **_options: object) -> None:
            raise AssertionError("nothing here goes out")

        return HttpRequest(
            method=method,
            path=path,
            query=query,
            headers=JSON if headers is None else headers,
            body=read,
            env=self.env,
            scheduler=lambda: self.app.scheduler(self.env),
            fetch=fetch,
        )

    async def answer(
        self,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        method: str = "POST",
        query: str = "",
    ) -> HttpAnswer:
        """What the entrypoint would answer; an error that it does not expect comes through."""
        try:
            return await find_route(self.app.routes, method, path)(self.request(path, body, headers, method, query))
        except LunoraError as error:
            return HttpAnswer.of_error(error)

    async def post(self, kind: str, body: Any, **headers: str) -> tuple[int, Any]:
        answer = await self.answer(f"/api/{kind}", json.dumps(body).encode(), JSON | headers)
        return answer.status, json.loads(answer.text)

    def notes(self, shard: str = "default") -> list[str]:
        return self.shards.get(shard).notes()


async def _user(request: HttpRequest) -> Auth:
    user = request.headers.get("x-user")
    return Auth() if user is None else Auth(user_id=user, claims={"plan": "pro"})
