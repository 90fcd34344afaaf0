"""No wedge: an origin that stalls, aborts and drops for a minute, and then the same isolate serves new work.

cloudflare/workerd#6624: a task that is stuck can keep a Python isolate from ever answering again, and WebAssembly
memory never shrinks. So there are two storms, the same ones, and the second must not cost memory, nor leave tasks.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from pytest_workers.runtime import DevServer, Project
from pytest_workers.worker import Worker

from benchmarks.machine import worker_memory_mb
from tests.integration.client import Client, wait_for
from tests.integration.conftest import APP
from tests.integration.origin import (
    Behaviour,
    Dispatch,
    Origin,
    _send,
    break_off,
    drop,
    end_early,
    forward,
    hang,
    reply,
)
from tests.soak.plans import Plan

__all__ = ["Look", "Weathered", "storms"]

_JOBS: Final = 3
_EVERY_S: Final = 0.8
_SERVED_S: Final = 240
"""It waits behind what the storm has left, which was due before."""
_SETTLED_S: Final = 20
_GROWTH_MB: Final = 10
_NODE: Final = Path(sys.executable).with_name("node")
_COLLECT: Final = Path(__file__).with_name("collect_garbage.mjs")
_REST_S: Final = 180
_START_S: Final = 120


async def stall(dispatch: Dispatch) -> None:
    """Let the Worker begin and pass its headers on, then nothing, while it goes on running and writing."""
    reader, writer = await _send(dispatch)
    try:
        await dispatch.reply(await reader.readuntil(b"\r\n\r\n"))
        while dispatch.origin.behaviour is not forward:  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.1)
    finally:
        writer.close()


async def reset(dispatch: Dispatch) -> None:
    """Let the Worker begin, and reset both connections in the middle of its answer."""
    reader, writer = await _send(dispatch)
    await dispatch.reply(await reader.readuntil(b"\r\n\r\n"))
    for end in (writer, dispatch.writer):
        connection: socket.socket = end.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()


_MISDEEDS: Final[dict[Behaviour, int]] = {
    forward: 30,
    break_off: 20,
    end_early: 10,
    stall: 10,
    reset: 20,
    drop: 3,
    hang: 3,
    reply(503): 4,
}
"""How often of a hundred. Those that keep a dispatch from beginning open the breaker, which ends the traffic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """An isolate, as it was seen between storms.

    Args:
        isolate: its name.
        tasks: how many asyncio tasks it had, the one that looked included.
        heap_mb: Python's memory, which never shrinks.
        resident_mb: all memory of its workerd, when the garbage of JavaScript has been taken out: there may be 200 MiB
            of it, which says nothing.
    """

    isolate: str
    tasks: int
    heap_mb: float
    resident_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weathered:
    """What became of a Worker in two storms.

    Args:
        looks: before the first and after each, when all had come to rest.
        dispatches: how many were sent in each storm.
        unfinished: how many jobs had not come to rest at the end.
    """

    looks: tuple[Look, Look, Look]
    dispatches: list[int]
    unfinished: int

    def violations(self, *, resident: bool) -> list[str]:
        """Everything that is not as it should be.

        Args:
            resident: whether all memory is judged, and not Python's alone. A cold process grows for the first minute,
                whatever it does, so that short storms say nothing about it.
        """
        before, first, second = self.looks
        wrong = []
        if len({look.isolate for look in self.looks}) != 1:
            wrong.append(f"the isolate was replaced: {[look.isolate for look in self.looks]}")
        if second.heap_mb - first.heap_mb >= _GROWTH_MB:
            wrong.append(f"Python's memory grew from {first.heap_mb:.1f} to {second.heap_mb:.1f} MiB")
        if resident and second.resident_mb - first.resident_mb >= _GROWTH_MB:
            wrong.append(f"the second storm took memory from {first.resident_mb:.1f} to {second.resident_mb:.1f} MiB")
        if self.unfinished:
            wrong.append(f"{self.unfinished} jobs never came to rest")
        if second.tasks > before.tasks:
            wrong.append(f"{second.tasks - before.tasks} tasks were left behind")
        return wrong


def storms(*, seconds: float, seed: int, say: Callable[[str], None]) -> Weathered:
    """Let a Worker weather two storms that are the same.

    Args:
        seconds: how long each lasts.
        seed: draws what the origin does.
        say: told how it goes.
    """
    origin = Origin()
    origin.start()
    with tempfile.TemporaryDirectory(prefix="lunora-storm-", ignore_cleanup_errors=True) as state:
        server = DevServer(
            Project.load(APP),
            persist_to=Path(state),
            vars={"LUNORA_ORIGIN_URL": origin.url},
            health_path="/_lunora/health",
            progress=say,
        )
        try:
            server.start(_START_S)
            origin.worker_url = server.url
            client = Client(Worker("storm", server, _START_S))
            with client.http:
                _serves(client)
                return _weather(client, origin, seconds, seed, say)
        except BaseException:
            for line in server.log_lines()[-40:]:
                say(f"| {line}")
            raise
        finally:
            server.close()
            origin.stop()


def _weather(client: Client, origin: Origin, seconds: float, seed: int, say: Callable[[str], None]) -> Weathered:
    before = _settled(client, tasks=1)
    looks, dispatches = [before], []
    for number in (1, 2):
        already = len(origin.dispatches)
        _storm(client, origin, seconds, seed, f"storm{number}")
        took = _serves(client)
        dispatches.append(len(origin.dispatches) - already)
        try:
            wait_for(lambda: not _unfinished(client), "rest", _REST_S, client.status)
        except AssertionError as error:
            say(str(error))
        looks.append(_settled(client, before.tasks))
        say(f"storm {number}: {dispatches[-1]} dispatches; new work was served after {took:.1f} s; {looks[-1]}")
    return Weathered(looks=(looks[0], looks[1], looks[2]), dispatches=dispatches, unfinished=_unfinished(client))


def _settled(client: Client, tasks: int) -> Look:
    """What there is when an isolate has put its tasks away, or has had the time for it."""
    deadline = time.monotonic() + _SETTLED_S
    while client.call("GET", "/test/isolate").json()["tasks"] > tasks and time.monotonic() < deadline:
        time.sleep(0.5)
    return _look(client)


def _storm(client: Client, origin: Origin, seconds: float, seed: int, name: str) -> None:
    random = Random(seed)  # noqa: S311 - chance, not secrets
    behaviours = random.choices([*_MISDEEDS], [*_MISDEEDS.values()], k=10_000)
    fates = iter(behaviours)

    async def misbehave(dispatch: Dispatch) -> None:
        await next(fates)(dispatch)

    origin.behaviour = misbehave
    # the same number of jobs, whatever the machine has time for
    for number in range(round(seconds / _EVERY_S)):
        began = time.monotonic()
        plans = [
            Plan(id=f"{name}-{number}-{job}", kind="action", ms=random.choice((0, 0, 500, 3_000)), retries=8)
            for job in range(_JOBS)
        ]
        client.value("action", "soak:enqueue", {"jobs": [plan.to_call() for plan in plans]})
        time.sleep(max(0, began + _EVERY_S - time.monotonic()))
    origin.behaviour = forward


def _serves(client: Client) -> float:
    """New work is done; returns the seconds that it took."""
    began = time.monotonic()
    client.wait(client.schedule("soak:work"), "succeeded", within=_SERVED_S)
    return time.monotonic() - began


def _unfinished(client: Client) -> int:
    status = client.status()
    return int(status["backlog"] + status["in_flight"])


def _look(client: Client) -> Look:
    group = client.worker.server.process_group
    assert group is not None, "the server has ended"
    seen: dict[str, Any] = client.call("GET", "/test/isolate").json()
    collecting = subprocess.Popen([_NODE, str(_COLLECT), str(_inspector_port(group))])
    while collecting.poll() is None:  # an idle isolate does not listen to its inspector
        client.call("GET", "/_lunora/health")
        time.sleep(0.05)
    assert collecting.returncode == 0, "the garbage was not taken out"
    return Look(**seen, resident_mb=round(worker_memory_mb(group), 1))


def _inspector_port(process_group: int) -> int:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pgid=", "-o", "args="], capture_output=True, text=True, check=True
    )
    ports = re.findall(rf"^ *{process_group} .* --inspector-port (\d+)", listed.stdout, re.MULTILINE)
    return int(ports[0])
