"""The Worker that the tests run on: real workerd, with secrets of its own and nothing stored."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable

import pytest
from pytest_workers.worker import Worker


@pytest.fixture(scope="session")
def worker(worker_factory: Callable[..., Worker]) -> Worker:
    """The app, started once for all tests. They need no .dev.vars, so that they run anywhere."""
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    return worker_factory(vars={"LUNORA_SCHEDULER_SECRET": f"whsec_{secret}"})
