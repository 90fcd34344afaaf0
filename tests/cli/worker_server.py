"""A Worker that listens on a port of this machine: a real app with its admin API, or answers that a test wrote."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer, HttpRequest, find_route
from lunorash.scheduler import RetryPolicy, RunOptions
from lunorash.server import App, define_app
from tests.unit.scheduler_object import ADMIN_TOKEN, Namespace, environment

__all__ = ["ADMIN_TOKEN", "Asked", "RealWorker", "Scripted", "Served"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    query_text: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = tuple[int, dict[str, str], bytes]


class Served:
    """Whatever answers requests, on a port. Remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://localhost:{self._server.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]

    def answer(self, asked: Asked) -> Answer:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                asked = Asked(
                    self.command,
                    url.path,
                    {name: values[-1] for name, values in parse_qs(url.query).items()},
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(int(self.headers.get("content-length", 0))),
                    url.query,
                )
                served.asked.append(asked)
                status, headers, body = served.answer(asked)
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - as http.server calls it

            def log_message(self, *_: object) -> None: ...

        return Handler


class Scripted(Served):
    """Answers what a test has written for ``"METHOD /path"``: JSON, or what a function makes of the request."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Any] = {}

    def answer(self, asked: Asked) -> Answer:
        told = self.answers.get(f"{asked.method} {asked.path}")
        if callable(told):
            told = told(asked)
        if told is None:
            return 404, {}, b'{"error": {"code": "NOT_FOUND", "message": "there is no such route"}}'
        if isinstance(told, tuple):
            return told
        return 200, {}, json.dumps(told).encode()


def _nothing(_ctx: Any, **_args: Any) -> None: ...


_TARGETS: Final = ("billing:charge", "billing:refund", "billing2:charge", "email:send")


class RealWorker(Served):
    """An app's own routes over the real engine on sqlite, which has a thread to itself."""

    def __init__(self) -> None:
        super().__init__()
        self._inside = ThreadPoolExecutor(1)
        self._env = self._inside.submit(environment).result()
        self.namespace = Namespace(self._env)
        self._env.SCHEDULER = self.namespace
        self._app: App = (
            define_app()
            .scheduler(namespace=lambda env: env.SCHEDULER)
            .functions(dict.fromkeys(_TARGETS, _nothing))
            .build()
        )

    def __exit__(self, *details: object) -> None:
        super().__exit__(*details)
        for made in self.namespace.objects.values():
            self.inside(made.store.close)
        self._inside.shutdown()

    def inside(self, work: Callable[[], Any]) -> Any:
        """Do something where the engine lives."""
        return self._inside.submit(work).result()

    def schedule(self, job_id: str, target: str = "email:send", args: dict[str, Any] | None = None) -> None:
        def work() -> None:
            options = RunOptions(id=job_id, retry=RetryPolicy(max_attempts=1))
            # by the object's clock, which is not this machine's
            now = self.namespace.default.now
            asyncio.run(self._app.scheduler(self._env).run_at(now, target, args or {}, options))

        self.inside(work)

    def bury(self, job_id: str, target: str = "email:send", **args: Any) -> None:
        """A dead letter."""
        self.schedule(job_id, target, args)
        self.inside(self.namespace.default.bury)

    def states(self) -> dict[str, str]:
        """The state of each job by its id."""
        rows = self.inside(lambda: self.namespace.default.store.execute("SELECT id, state FROM jobs ORDER BY id"))
        return {row["id"]: row["state"] for row in rows}

    def answer(self, asked: Asked) -> Answer:
        async def read() -> bytes:
            return asked.body

        async def fetch(*_args: object, **_options: object) -> None:
            raise AssertionError("nothing here goes out")

        async def work() -> HttpAnswer:
            request = HttpRequest(
                method=asked.method,
                path=asked.path,
                query=asked.query_text,
                headers=asked.headers,
                body=read,
                env=self._env,
                scheduler=lambda: self._app.scheduler(self._env),
                fetch=fetch,
            )
            try:
                return await find_route(self._app.routes, asked.method, asked.path)(request)
            except LunoraError as error:
                return HttpAnswer.of_error(error)

        told = self.inside(lambda: asyncio.run(work()))
        return told.status, {"content-type": "application/json"}, told.text.encode()
