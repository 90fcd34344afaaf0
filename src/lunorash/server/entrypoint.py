"""The Cloudflare side of the HTTP server: a JavaScript request in, a JavaScript response out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from js import IdentityTransformStream, Object, Response
from pyodide.ffi import JsException, to_js
from workers import WorkerEntrypoint, fetch, python_to_rpc

from lunorash.codec import MAX_BODY_BYTES
from lunorash.errors import LunoraError
from lunorash.event_loop import spare_turns, start
from lunorash.http import Handler, HttpAnswer, HttpRequest, find_route
from lunorash.incident import report
from lunorash.scheduler.client import Scheduler
from lunorash.server.cron_trigger import Fired
from lunorash.server.queue_consumer import Delivery, QueueConsumer
from lunorash.traceparent import read_traceparent, tracing

__all__ = ["make_entrypoint"]

_CLOSE_S: Final = 10

Routes = Mapping[str, Mapping[str, Handler]]
Fetch = Callable[..., Awaitable[Any]]
Fire = Callable[[Fired, Any, Fetch], Awaitable[None]]
MakeConsumer = Callable[[str, Any, Fetch], QueueConsumer]


def make_entrypoint(
    routes: Routes, scheduler: Callable[[Any], Scheduler], fire: Fire, queue_consumer: MakeConsumer
) -> type[Any]:
    """Make the class that a Worker exports as ``Default``.

    Args:
        routes: handlers by path, then by method.
        scheduler: makes the scheduler client of an environment.
        fire: runs the jobs of a trigger, given what fired, the environment, and what makes HTTP requests.
        queue_consumer: makes what consumes a queue, given its name, the environment, and what makes HTTP requests.
    """

    spare_turns()

    class Default(WorkerEntrypoint):  # type: ignore[misc]
        """The Worker's default entrypoint."""

        async def fetch(self, request: Any) -> Any:
            """Answer a request."""
            body = _Body(request.js_object)
            with tracing(read_traceparent(body.headers.get("traceparent"))):
                answer = await _answer(routes, _read(request, self.env, body, scheduler))
            await body.discard()
            return _respond(answer, self.ctx)

        async def scheduled(self, controller: Any, env: Any = None, ctx: Any = None) -> None:  # noqa: ARG002
            """A Cron Trigger fired: run its jobs.

            The runtime passes three arguments, the last two of them None (cloudflare/cloudflare-docs#30383).
            """
            await fire(controller, self.env, fetch)

        async def queue(self, batch: Any, env: Any = None, ctx: Any = None) -> None:  # noqa: ARG002
            """Messages came from a queue: the calls of a queue workpool are run, others go back."""
            deliveries = [_delivery(python_to_rpc(message)) for message in batch.messages]
            await queue_consumer(str(batch.queue), self.env, fetch).consume(deliveries)

    return Default


async def _answer(routes: Routes, request: HttpRequest) -> HttpAnswer:
    try:
        return await find_route(routes, request.method, request.path)(request)
    except LunoraError as error:
        return HttpAnswer.of_error(error)
    except Exception as error:  # noqa: BLE001
        return HttpAnswer.of_error(report("a request", error))


def _read(request: Any, env: Any, body: _Body, scheduler: Callable[[Any], Scheduler]) -> HttpRequest:
    url = urlsplit(request.url)
    return HttpRequest(
        method=str(request.js_object.method),
        path=url.path,
        query=url.query,
        headers=body.headers,
        body=body.read,
        env=env,
        scheduler=lambda: scheduler(env),
        fetch=fetch,
        origin=f"{url.scheme}://{url.netloc}",
    )


def _delivery(message: Any) -> Delivery:
    """A message as the platform has it. Only text is taken over; what a stranger sent otherwise is not converted."""

    def retry(delay_s: int | None) -> None:
        if delay_s is None:
            message.retry()
        else:
            message.retry(to_js({"delaySeconds": delay_s}, dict_converter=Object.fromEntries))

    return Delivery(id=str(message.id), attempts=int(message.attempts), body=message.body, ack=message.ack, retry=retry)


class _Body:
    """The body of a request, read at most once and never beyond the limit."""

    def __init__(self, source: Any) -> None:
        # in one crossing; the platform gives their names in lower case
        self.headers: dict[str, str] = Object.fromEntries(source.headers).to_py()
        self._source = source
        self._stream = source.body or None

    async def read(self) -> bytes:
        stream, self._stream = self._stream, None
        if stream is None:
            return b""
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) <= MAX_BODY_BYTES:
            whole: bytes = (await self._source.arrayBuffer()).to_bytes()
            return whole
        body = bytearray()
        reader = stream.getReader()
        while not (chunk := await reader.read()).done:
            body += chunk.value.to_bytes()
            if len(body) > MAX_BODY_BYTES:
                await reader.cancel()
                raise LunoraError("PAYLOAD_TOO_LARGE", f"the body is larger than {MAX_BODY_BYTES:,} bytes")
        return bytes(body)

    async def discard(self) -> None:
        """Read what nobody asked for: a connection whose request was left lying breaks at the next one."""
        with suppress(LunoraError):
            await self.read()


def _respond(answer: HttpAnswer, ctx: Any) -> Any:
    if answer.upgraded is not None:
        return answer.upgraded
    headers = {"content-type": "application/json", **answer.headers}
    # what says of itself that it is compressed is not to be compressed again
    encode = "manual" if "content-encoding" in headers else "automatic"
    given = {"status": answer.status, "headers": headers, "encodeBody": encode}
    options = to_js(given, dict_converter=Object.fromEntries)
    if answer.content is not None:
        return Response.new(to_js(answer.content) if answer.content else None, options)
    if answer.stream is None:
        return Response.new(answer.text, options)
    pipe = IdentityTransformStream.new()
    # The runtime keeps the invocation, and so the task, alive until the stream has ended.
    ctx.waitUntil(start(_write_all(answer.stream, pipe.writable.getWriter())))
    return Response.new(pipe.readable, options)


async def _write_all(stream: Callable[[Callable[[bytes], Awaitable[object]]], Awaitable[None]], writer: Any) -> None:
    async def write(line: bytes) -> None:
        await writer.write(to_js(line))

    try:
        await stream(write)
        async with asyncio.timeout(_CLOSE_S):
            await writer.close()
    except (OSError, JsException, TimeoutError) as error:
        # The reader is gone. It will not count what it did not read, so there is nobody left to tell.
        print(f"lunora: an answer was not read to its end ({type(error).__name__})")
