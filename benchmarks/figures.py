"""The figures: what each measures in one run, and on what kind of Worker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlsplit

from benchmarks.bench_worker import BenchWorker
from benchmarks.measurement import percentile
from benchmarks.upstream import Upstream

__all__ = ["FIGURES", "FULL", "QUICK", "Figure", "Sizes"]

IN_FLIGHT: Final = 8
_ENQUEUE: Final = json.dumps({"path": "storing:enqueue", "args": {}})
RATE: Final = 20
"""Jobs that fall due in a second, where lateness is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured in one run.

    Args:
        enqueued: jobs that are scheduled one by one.
        bulk: jobs that are scheduled in one call.
        drained: jobs that fall due at once.
        waiting: actions that wait for an upstream answer.
        wait_s: seconds that each of them waits.
        punctual_s: seconds during which lateness is measured.
        stored: far-future jobs, for the figures with many stored.
        memory: after how many jobs memory is looked at, first and last.
    """

    enqueued: int = 1_500
    bulk: int = 1_000
    drained: int = 10_000
    waiting: int = 200
    wait_s: float = 5
    punctual_s: int = 20
    stored: int = 1_000_000
    memory: tuple[int, int] = (1_000, 100_000)


FULL: Final = Sizes()
QUICK: Final = Sizes(
    enqueued=80, bulk=100, drained=100, waiting=12, wait_s=1, punctual_s=3, stored=5_000, memory=(100, 300)
)  # fmt: skip
"""To see that everything works. The numbers mean little."""


Measure = Callable[[BenchWorker, Sizes], Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure.

    Args:
        what: what it is, in words.
        units: of each quantity that it measures, by name.
        measure: one run.
        loopback: whether dispatches stay inside the Worker.
        many: whether many far-future jobs are stored.
        once: whether a second run would not be like the first.
    """

    what: str
    units: Mapping[str, str]
    measure: Measure
    loopback: bool = False
    many: bool = False
    once: bool = False


def _enqueue(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
    numbers = iter(range(sizes.enqueued))
    lock = threading.Lock()

    def client() -> None:
        # the plainest client there is: it shares this machine's cores with what is measured
        connection = HTTPConnection(urlsplit(worker.url).netloc, timeout=60)
        while True:
            with lock:
                if next(numbers, None) is None:
                    break
            connection.request("POST", "/api/action", _ENQUEUE, {"content-type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != HTTPStatus.OK:
                raise RuntimeError(f"scheduling a job was answered with {answer.status}: {text[:500]!r}")
        connection.close()

    with ThreadPoolExecutor(IN_FLIGHT) as clients:
        begin = time.perf_counter()
        for done in [clients.submit(client) for _ in range(IN_FLIGHT)]:
            done.result()
        seconds = time.perf_counter() - begin
    return {"rate": sizes.enqueued / seconds}


def _schedule_many(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
    begin = time.perf_counter()
    in_worker: float = worker.call("storing:schedule_many", {"count": sizes.bulk})
    return {"in_worker": in_worker, "over_http": (time.perf_counter() - begin) * 1000}


def _drain(target: str) -> Measure:
    def measure(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
        return {"rate": sizes.drained / worker.drain(target, sizes.drained)}

    return measure


def _wait_for_upstream(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
    with Upstream(sizes.wait_s) as upstream:
        seconds = worker.drain("idle:wait", sizes.waiting, url=upstream.url)
        return {"seconds": seconds, "most_at_once": upstream.most_at_once}


def _lateness(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
    worker.call("idle:noted")
    count = RATE * sizes.punctual_s
    worker.drain("idle:note", count, step_ms=1000 // RATE)
    late: list[float] = worker.call("idle:noted")
    if len(late) != count:
        raise RuntimeError(f"{len(late)} of {count} jobs have noted how late they were")
    return {"p50": percentile(late, 0.5), "p99": percentile(late, 0.99), "earliest": min(late)}


def _memory(worker: BenchWorker, sizes: Sizes) -> Mapping[str, float]:
    few, many = sizes.memory
    worker.drain("idle:act", few)
    first = worker.memory_mb()
    done = few
    while done < many:
        more = min(many - done, 10_000)
        worker.drain("idle:act", more)
        done += more
    last = worker.memory_mb()
    return {"first": first, "last": last, "growth": last - first}


def _first_table(worker: BenchWorker, _sizes: Sizes) -> Mapping[str, float]:
    from benchmarks.studio_page import first_table_ms

    return {"first_row": first_table_ms(worker.url)}


_MANY: Final = ", with many far-future jobs stored"
_RATE: Final = {"rate": "jobs/s"}
_LATENESS: Final = Figure(
    what=f"from due to the start of the handler, of {RATE} actions a second; earliest below 0 would be too early",
    units={"p50": "ms", "p99": "ms", "earliest": "ms"},
    measure=_lateness,
)
_ONE_BY_ONE: Final = Figure(
    what=f"jobs scheduled one by one by an action, over HTTP, from one client with {IN_FLIGHT} requests in flight",
    units=_RATE,
    measure=_enqueue,
)
_IN_ONE_CALL: Final = Figure(
    what="many jobs scheduled in one call by an action: the call itself, and the request that asked for it",
    units={"in_worker": "ms", "over_http": "ms"},
    measure=_schedule_many,
)
_MUTATIONS: Final = Figure(
    what="due mutations on one shard that do nothing, drained through the origin",
    units=_RATE,
    measure=_drain("idle:mutation"),
)
_ACTIONS: Final = Figure(
    what="due actions that do nothing, drained through the origin", units=_RATE, measure=_drain("idle:act")
)


def _with_many(figure: Figure) -> Figure:
    return replace(figure, what=figure.what + _MANY, many=True)


FIGURES: Final[Mapping[str, Figure]] = {
    "enqueue": _ONE_BY_ONE,
    "schedule-many": _IN_ONE_CALL,
    "drain-mutations": _MUTATIONS,
    "drain-actions": _ACTIONS,
    "drain-mutations-loopback": replace(
        _MUTATIONS, what="due mutations on one shard that do nothing, drained through loopback", loopback=True
    ),
    "drain-actions-loopback": replace(
        _ACTIONS, what="due actions that do nothing, drained through loopback", loopback=True
    ),
    "upstream": Figure(
        what="actions that each wait for one slow answer of another server, from due to the end of the last",
        units={"seconds": "s", "most_at_once": "requests"},
        measure=_wait_for_upstream,
    ),
    "lateness": _LATENESS,
    "stored-enqueue": _with_many(_ONE_BY_ONE),
    "stored-schedule-many": _with_many(_IN_ONE_CALL),
    "stored-drain-mutations": _with_many(_MUTATIONS),
    "stored-drain-actions": _with_many(_ACTIONS),
    "stored-lateness": _with_many(_LATENESS),
    "stored-studio": _with_many(
        Figure(
            what="from opening the studio's jobs in Chromium to the first row",
            units={"first_row": "ms"},
            measure=_first_table,
        )
    ),
    "memory": Figure(
        what="resident memory of the workerd that holds the Worker, after the first and after the last of many actions",
        units={"first": "MiB", "last": "MiB", "growth": "MiB"},
        measure=_memory,
        once=True,
    ),
}
