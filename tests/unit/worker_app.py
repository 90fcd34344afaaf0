"""A whole Worker without Cloudflare: the app's routes, and a scheduler object that they call."""

from __future__ import annotations

import json
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, find_route
from lunorash.scheduler import RunOptions
from lunorash.server import App, define_app
from tests.routes.schedule import SCHEDULE

from .action_context import Context
from .scheduler_object import ADMIN_TOKEN, Namespace, environment

__all__ = ["BEARER", "TARGET", "Worker", "refusal"]

TARGET: Final = "m:f"
BEARER: Final = {"authorization": f"Bearer {ADMIN_TOKEN}"}


class Worker:
    """An app, and the environment it runs in."""

    def __init__(self, **variables: Any) -> None:
        self.env = environment(**variables)
        self.namespace = Namespace(self.env)
        self.env.SCHEDULER = self.namespace
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.app: App = (
            define_app()
            .scheduler(namespace=lambda env: env.SCHEDULER)
            .functions({TARGET: self._function})
            .routes([SCHEDULE])
            .build()
        )

    def _function(self, ctx: Context, **args: Any) -> None:
        self.ran.append((ctx.job.id if ctx.job else "", args))

    async def _fetch(self, *_args: object, **_options: object) -> None:
        raise AssertionError("nothing here goes out")

    async def answer(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> HttpAnswer:
        """What the entrypoint would answer; an error that it does not expect comes through."""

        async def read() -> bytes:
            return body

        request = HttpRequest(
            method=method,
            path=path,
            query=query,
            headers=BEARER if headers is None else headers,
            body=read,
            env=self.env,
            scheduler=lambda: self.app.scheduler(self.env),
            fetch=self._fetch,
        )
        try:
            return await find_route(self.app.routes, method, path)(request)
        except LunoraError as error:
            return HttpAnswer.of_error(error)

    async def json(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        answer = await self.answer(method, path, **more)
        return answer.status, json.loads(answer.text)

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        return await self.json("POST", path, body=json.dumps(body).encode())

    async def schedule(self, job_id: str = "j", **options: Any) -> None:
        await self.app.scheduler(self.env).run_after(0, TARGET, {"a": 1}, RunOptions(id=job_id, **options))

    @property
    def object(self) -> Any:
        return self.namespace.default


def refusal(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["code"]
