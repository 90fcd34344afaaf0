"""Workers that the integration tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_workers.worker import Worker

from tests.integration.client import Client, wait_for
from tests.integration.origin import Origin, break_off, end_early, forward

APP = Path(__file__).parent / "app"

Launch = Callable[..., Client]


@pytest.fixture(scope="session")
def launch(worker_factory: Callable[..., Worker]) -> Iterator[Launch]:
    """Start a Worker of the tests' app with a state of its own; it ends with the test run."""
    clients: list[Client] = []

    def start(*, vars: dict[str, str] | None = None, **options: object) -> Client:  # noqa: A002 - as wrangler calls them
        client = Client(worker_factory(APP, vars=vars, **options))
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.http.close()


@pytest.fixture(scope="session")
def shared(launch: Launch) -> Client:
    """A Worker that nobody stops. Three jobs of 90 s run on it from the start, beside whatever the tests do."""
    client = launch(name="shared")
    for number in range(3):
        client.schedule("probes:slow", {"seconds": 90}, id=f"long-{number}")
    return client


@pytest.fixture(scope="session")
def long_jobs(shared: Client) -> list[str]:
    """The ids of those three."""
    return [f"long-{number}" for number in range(3)]


def _serving() -> Iterator[Origin]:
    origin = Origin()
    origin.start()
    yield origin
    origin.stop()


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    """An origin for the tests of one file."""
    yield from _serving()


@pytest.fixture(scope="session")
def relay() -> Iterator[Origin]:
    """The origin through which the SchedulerDO of `relayed` reaches its Worker."""
    yield from _serving()


@pytest.fixture(scope="session")
def relayed(launch: Launch, relay: Origin) -> Client:
    client = launch(vars={"LUNORA_ORIGIN_URL": relay.url}, name="relayed")
    relay.worker_url = client.worker.url
    return client


@pytest.fixture(scope="session")
def cut_off(relayed: Client, relay: Origin) -> dict[str, str]:
    """Ids of jobs, by what they do, that did it while their answer was cut: the next attempts come 35 s later."""
    ids: dict[str, str] = {}
    for behaviour in (break_off, end_early):
        relay.behaviour = behaviour
        name = f"cut off by {behaviour.__name__}"
        (ids[name],) = relayed.mutate("ledger:book", {"tags": [name], "then": ["more"]})
        wait_for(lambda name=name: relayed.effects(name), name, 10, relayed.status)  # type: ignore[misc]
    for kind in ("workflow", "agent"):
        ids[kind] = relayed.mutate("errands:start", {"kind": kind, "tag": "cut off"})
    wait_for(lambda: len(relayed.journal()) == 2, "both errands to run", 20, relayed.journal)
    relay.behaviour = forward
    return ids
