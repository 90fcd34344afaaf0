"""Chromium, a Worker with jobs of every kind, and pages of its studio."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from pytest_workers.worker import Worker

from tests.browser.chromium import REQUIRED, find_chromium
from tests.browser.content import fill
from tests.browser.studio import NewStudio, Studio
from tests.integration.client import Client
from tests.integration.conftest import APP


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program."""
    program = find_chromium()
    if program is None:
        problem = "there is no Chromium, so the studio was not tested in a browser; `apt-get install chromium`"
        if REQUIRED:
            pytest.fail(problem)
        pytest.skip(problem)
    return program


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Chromium, for one file: as long as it is there an event loop runs, and asyncio cannot be used by other tests."""
    # Chromium's own sandbox does not start as root, as which CI runs
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=[*arguments, "--disable-dev-shm-usage"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def client(chromium: str, worker_factory: Callable[..., Worker]) -> Iterator[Client]:
    """A Worker of the integration tests' app, with jobs in every state."""
    made = Client(worker_factory(APP, name="studio"))
    fill(made)
    yield made
    made.http.close()


@pytest.fixture
def new_studio(browser: Browser, client: Client) -> Iterator[NewStudio]:
    """Open further windows; in the end nothing may have gone wrong in any of them."""
    opened: list[Studio] = []

    def make(*, signed_in: bool = True, **options: Any) -> Studio:
        context = browser.new_context(
            **{
                "viewport": {"width": 1360, "height": 860},
                "color_scheme": "light",
                "reduced_motion": "reduce",
                **options,
            }
        )
        made = Studio(context, client)
        opened.append(made)
        if signed_in:
            token = client.http.headers["authorization"].removeprefix("Bearer ")
            # as the form does, and a second sooner
            answer = context.request.post(
                f"{made.url}/session", data={"token": token}, headers={"origin": client.worker.url}
            )
            assert answer.ok, answer.text()
        return made

    yield make
    problems = [problem for studio in opened for problem in studio.problems]
    for studio in opened:
        studio.context.close()
    assert problems == []


@pytest.fixture
def studio(new_studio: NewStudio) -> Studio:
    """A window in which somebody has signed in."""
    return new_studio()
