"""The command line as a person or a program meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from lunorash.cli.main import main

from .worker_server import ADMIN_TOKEN, RealWorker, Scripted


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds: one document, and nothing beside it."""
        return json.loads(self.out)


class Lunora(Protocol):
    def __call__(self, *arguments: str) -> Done: ...


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of this machine, and a folder that is no project."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LUNORA_ADMIN_TOKEN", ADMIN_TOKEN)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lunora(capsys: pytest.CaptureFixture[str]) -> Lunora:
    """Run a command line."""

    def run(*arguments: str) -> Done:
        status = main(list(arguments))
        printed = capsys.readouterr()
        return Done(status, printed.out, printed.err)

    return run


@pytest.fixture
def worker() -> Iterator[RealWorker]:
    with RealWorker() as started:
        yield started


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Scripted() as started:
        yield started
