"""Property tests are the same on every run, and a slow machine fails none of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import settings

from .scheduler_object import NOW

settings.register_profile("unit", deadline=None, derandomize=True)
settings.load_profile("unit")


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Worker's clock stands where the scheduler object's does."""
    stopped = SimpleNamespace(time=lambda: NOW / 1000)
    monkeypatch.setattr("lunorash.server.dispatch_route.time", stopped)
    monkeypatch.setattr("lunorash.scheduler.client.time", stopped)
