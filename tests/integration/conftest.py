"""Workers that the integration tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_workers.worker import Worker

from tests.integration.client import Client

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
