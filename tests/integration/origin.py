"""An origin that can misbehave: stands between a SchedulerDO and its Worker, on real sockets.

`LUNORA_ORIGIN_URL` points here. What it does with a dispatch is a `Behaviour`, which can be changed at any
time; the honest one is `forward`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")


@dataclass(frozen=True)
class Dispatch:
    """A request as it came, and the wire it came on."""

    head: bytes
    body: bytes
    writer: asyncio.StreamWriter
    origin: Origin

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if value}

    async def reply(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Behaviour = Callable[[Dispatch], Awaitable[None]]


async def forward(dispatch: Dispatch) -> None:
    """Pass the dispatch on to the Worker, and its answer back."""
    reader, writer = await _send(dispatch)
    try:
        while data := await reader.read(65536):
            await dispatch.reply(data)
    finally:
        writer.close()


async def forward_twice(dispatch: Dispatch) -> None:
    """Deliver the dispatch twice at once; both answers are noted, the accepted one goes back."""
    answers = await asyncio.gather(_answer(dispatch), _answer(dispatch))
    dispatch.origin.statuses += [int(answer.split(b" ", 2)[1]) for answer in answers]
    await dispatch.reply(next((answer for answer in answers if b" 200 " in answer[:20]), answers[0]))


async def end_early(dispatch: Dispatch) -> None:
    """Let the Worker begin, and end the answer properly before anything was said."""
    reader, writer = await _send(dispatch)
    await dispatch.reply(await reader.readuntil(b"\r\n\r\n") + b"0\r\n\r\n")
    writer.close()


async def break_off(dispatch: Dispatch) -> None:
    """Let the Worker begin, and break the connection after the headers."""
    reader, writer = await _send(dispatch)
    await dispatch.reply(await reader.readuntil(b"\r\n\r\n") + b"40\r\n{")
    writer.close()


async def drop(_dispatch: Dispatch) -> None:
    """Close the connection without a word."""


async def hang(dispatch: Dispatch) -> None:
    """Withhold the headers until the other side gives up."""
    origin = dispatch.origin
    origin.awaiting += 1
    origin.most_awaiting = max(origin.most_awaiting, origin.awaiting)
    try:
        await origin.gone(dispatch)
    finally:
        origin.awaiting -= 1


def reply(status: int, headers: str = "content-type: text/html", body: str = "<h1>no</h1>") -> Behaviour:
    """Answer something that no receiver answers."""

    async def behave(dispatch: Dispatch) -> None:
        text = f"HTTP/1.1 {status} X\r\n{headers}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
        await dispatch.reply(text.encode())

    return behave


@dataclass
class Origin:
    """The origin, on a port of its own, in a thread of its own."""

    worker_url: str = ""
    behaviour: Behaviour = forward
    dispatches: list[Dispatch] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    awaiting: int = 0
    most_awaiting: int = 0
    port: int = 0

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.open()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def open(self) -> None:
        """Listen; on the same port as before if it was shut."""
        self._server = self._run(asyncio.start_server(self._serve, "127.0.0.1", self.port))
        self.port = self._server.sockets[0].getsockname()[1]

    def shut(self) -> None:
        """Refuse connections."""

        async def shut() -> None:
            self._server.close()

        self._run(shut())

    def stop(self) -> None:
        async def cancel_all() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.shut()
        self._run(cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def gone(self, dispatch: Dispatch) -> None:
        """Wait until the other side has closed the connection."""
        await self._readers[dispatch.writer].read()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def __post_init__(self) -> None:
        self._readers: dict[asyncio.StreamWriter, asyncio.StreamReader] = {}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._readers[writer] = reader
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            dispatch = Dispatch(head, await reader.readexactly(length), writer, self)
            self.dispatches.append(dispatch)
            await self.behaviour(dispatch)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            del self._readers[writer]
            writer.close()


async def _send(dispatch: Dispatch) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(dispatch.origin.worker_url)
    reader, writer = await asyncio.open_connection("127.0.0.1", parts.port)
    kept = [line for line in dispatch.head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    writer.write(b"\r\n".join([*kept[:-2], b"connection: close", b"", b""]) + dispatch.body)
    await writer.drain()
    return reader, writer


async def _answer(dispatch: Dispatch) -> bytes:
    reader, writer = await _send(dispatch)
    try:
        return await reader.read()
    finally:
        writer.close()
