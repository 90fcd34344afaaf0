"""The network between the SchedulerDO and the Worker: the transport of dispatches, and their streams."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final

from lunorash.scheduler.dispatching import Undelivered
from lunorash.scheduler.job import Dispatch
from lunorash.scheduler.protocol import encode_dispatch, split_lines
from lunorash.scheduler.signing import sign

from .faults import Fate, Faults, Kind
from .garbage import garbage
from .journal import Journal
from .platform import Platform
from .process import Crash, Process
from .scheduler_object import SchedulerObject

__all__ = ["INSTANCE", "KEY", "Connection", "Deliver", "Network", "SimulatedTransport"]

KEY: Final = b"k" * 32
INSTANCE: Final = "simulated-object"
HEADERS_S: Final = 15.001
_MOMENT = 0.000_001  # keeps what is sent one after the other in order

Deliver = Callable[["Connection", bytes, Mapping[str, str]], None]
"""Hands a request to the Worker."""


class Connection:
    """One request, and the stream that answers it.

    Args:
        platform: virtual time.
        dispatch: what was sent.
        fate: what the network does to it.
        struck: told of the faults that take effect here.
        read: whether somebody waits for the answer; nobody does for a duplicated request.
    """

    def __init__(
        self,
        platform: Platform[SchedulerObject],
        dispatch: Dispatch,
        fate: Fate,
        *,
        struck: Callable[[Kind], None],
        read: bool = True,
    ) -> None:
        self.dispatch = dispatch
        self.headers: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """None when they are good, otherwise what is wrong with them."""
        self.reader_gone = not read
        self.swallowed = fate.hold > 0
        self.told: set[str] = set()
        """The jobs that the receiver has written a result of."""
        self._platform = platform
        self._fate = fate
        self._struck = struck
        self._chunks: deque[tuple[str, list[Any]] | Undelivered | None] = deque()
        self._arrival: asyncio.Future[None] | None = None
        self._writes = 0
        self._arrives = asyncio.get_running_loop().time() + fate.hold
        self._writer_gone = False

    # -- the Worker's end ------------------------------------------------------------------------------

    def respond(self, problem: str | None, delay: float) -> None:
        """Send the headers: good ones, or those of a refusal."""
        self._writer_gone = problem is not None
        self._platform.later(delay + self._fate.withhold, self.settle_headers, problem)

    def settle_headers(self, problem: str | None) -> None:
        """The headers arrive."""
        if not self.headers.done():
            self.headers.set_result(problem)

    async def write(self, data: bytes) -> None:
        """Write to the stream. It neither fails nor returns when there is nobody to read."""
        number, fate = self._writes, self._fate
        self._writes += 1
        if number == fate.cut_after:
            self._struck("network-cut")
            self.reader_gone = True
            text = data.decode()
            self._arrive(text[: len(text) // 2], [])
            self._arrive_end(Undelivered("the connection was reset") if fate.cut_loudly else None)
        if fate.silent_after is not None and number >= fate.silent_after and not self.reader_gone:
            self._struck("network-silence")
            if fate.swallows:
                self.swallowed = True
                return
            self.reader_gone = True
        if self.reader_gone:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(fate.delay / 4)
        if number == fate.garbage_at:
            self._struck("network-garbage")
            self._arrive(garbage(fate.garbage, self.dispatch), [])
        first = data.partition(b"\n")[0]
        results = json.loads(first)["results"] if first.startswith(b'{"type": "results"') else []
        self.told |= {result["job"] for result in results}
        if fate.split:
            text = data.decode()
            for cut in (text[:1], text[1:-3]):
                self._arrive(cut, [])
            self._arrive(text[-3:], results)
        else:
            self._arrive(data.decode(), results)

    @property
    def closed(self) -> bool:
        """Whether the Worker has said all it had to say."""
        return self._writer_gone

    def end(self) -> None:
        """Close the stream."""
        self._writer_gone = True
        if not self.reader_gone and self._fate.silent_after is None:
            self._arrive_end(None)

    def break_off(self) -> None:
        """The isolate has died: the reader sees a reset, or nothing but the end."""
        if not self._writer_gone:
            self._writer_gone = True
            self._platform.later(self._fate.delay, self.settle_headers, "the connection was reset")
            self._arrive_end(Undelivered("the connection was reset") if self._fate.cut_loudly else None)

    # -- the object's end ------------------------------------------------------------------------------

    async def chunk(self) -> tuple[str, list[Any]] | None:
        """The next text with the results that it completes; None at the end."""
        while not self._chunks:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        chunk = self._chunks.popleft()
        if isinstance(chunk, Undelivered):
            raise chunk
        return chunk

    def _arrive(self, text: str, results: list[Any]) -> None:
        self._schedule((text, results))

    def _arrive_end(self, end: Undelivered | None) -> None:
        self._schedule(end)

    def _schedule(self, item: tuple[str, list[Any]] | Undelivered | None) -> None:
        now = asyncio.get_running_loop().time()
        self._arrives = max(self._arrives + _MOMENT, now + self._fate.delay)
        self._platform.later(self._arrives - now, self._push, item)

    def _push(self, item: tuple[str, list[Any]] | Undelivered | None) -> None:
        self._chunks.append(item)
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)


class Network:
    """All connections of one simulation.

    Args:
        platform: the object's platform.
        journal: learns what was sent and read.
        faults: decide what becomes of a request.
        deliver: hands a request to the Worker.
    """

    def __init__(
        self, platform: Platform[SchedulerObject], journal: Journal, *, faults: Faults, deliver: Deliver
    ) -> None:
        self.platform = platform
        self.journal = journal
        self.opened: set[str] = set()
        """The ids of all dispatches that were ever sent."""
        self.processed: Callable[[Dispatch, list[Any]], None] = lambda *_: None
        """Told of results that a dispatch loop has read and gone on from."""
        self.probed: Callable[[], None] = lambda: None
        """Told of every probe."""
        self.closed: Callable[[Dispatch], None] = lambda _: None
        """Told of every stream that was closed after its end line."""
        self._faults = faults
        self._deliver = deliver

    def connect(self, process: Process, dispatch: Dispatch, body: bytes, headers: Mapping[str, str]) -> Connection:
        """Send a request."""
        struck = self._faults.struck
        fate = self._faults.fate(asyncio.get_running_loop().time(), dispatch)
        connection = Connection(self.platform, dispatch, fate, struck=struck)
        process.deaths.append(lambda: setattr(connection, "reader_gone", True))
        self.journal.note("send %s %s %s", dispatch.id, [a.job for a in dispatch.attempts] or "probe", fate)
        later = self.platform.later
        if fate.refused is not None:
            later(0.01, connection.settle_headers, fate.refused)
        if fate.delivered:
            later(fate.delay, self._deliver, connection, body, headers)
        if fate.copy_after is not None:
            copy = Connection(self.platform, dispatch, Fate(), struck=struck, read=False)
            later(fate.copy_after, self._deliver, copy, body, headers)
        return connection


class SimulatedTransport:
    """The transport of one life of the object.

    Args:
        network: carries its requests.
        process: the life.
        origin: where to.
        room_changed: called a moment after headers have come or been given up.
    """

    def __init__(self, network: Network, process: Process, origin: str, *, room_changed: Callable[[], None]) -> None:
        self._awaiting: dict[str, float] = {}
        self._network = network
        self._process = process
        self._origin = origin
        self._room_changed = room_changed

    async def open(self, dispatch: Dispatch) -> SimulatedAnswer:
        network = self._network
        network.platform.crash_point("before a dispatch is sent")
        network.opened.add(dispatch.id)
        network.journal.count("dispatches")
        if not dispatch.attempts:
            network.probed()
        now = asyncio.get_running_loop().time()
        self._awaiting[dispatch.id] = now
        if len(self._awaiting) > 6:
            network.journal.violate("at most six dispatches await headers", "%d do", len(self._awaiting))
        body = encode_dispatch(dispatch, audience=self._origin, instance=INSTANCE)
        headers = sign(dispatch.id, network.platform.now() // 1000, body, KEY)
        connection = network.connect(self._process, dispatch, body, headers)
        try:
            problem = await connection.headers
            network.platform.crash_point("as the headers come")
            if problem is not None:
                raise Undelivered(problem)
        except BaseException:
            connection.reader_gone = True
            raise
        finally:
            self._check_patience()
            del self._awaiting[dispatch.id]
            network.platform.later(0.001, self._room_changed)
        return SimulatedAnswer(network, connection, self._process)

    def _check_patience(self) -> None:
        longest = asyncio.get_running_loop().time() - min(self._awaiting.values())
        if longest > HEADERS_S:
            self._network.journal.violate("headers are due in 15 s", "one dispatch waits for %.1f s", longest)


class SimulatedAnswer:
    """An answer whose headers were good."""

    def __init__(self, network: Network, connection: Connection, process: Process) -> None:
        self._network = network
        self._connection = connection
        self._process = process
        self._last = ""
        self._read: list[Any] = []
        """The results that were read last, until the dispatch loop has gone on from them."""

    def lines(self) -> AsyncGenerator[list[str]]:
        return split_lines(self._texts())

    async def _texts(self) -> AsyncGenerator[str]:
        while True:
            self._network.platform.crash_point("while a stream is read")
            chunk = await self._connection.chunk()
            if chunk is None:
                return
            self._last, self._read = chunk
            yield self._last
            self._gone_on()

    def _gone_on(self) -> None:
        if self._read:
            self._network.processed(self._connection.dispatch, self._read)
            self._read = []

    async def close(self) -> None:
        self._connection.reader_gone = True
        self._network.platform.crash_point("as a stream is closed")
        if not self._process.alive:
            raise Crash(self._process.name)
        if self._last.endswith('{"type":"end"}\n'):  # of END, which may have come in pieces
            self._gone_on()
            self._network.closed(self._connection.dispatch)
