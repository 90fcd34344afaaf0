"""What `lunora dev` does around its server; the server itself is met in tests/integration."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from .conftest import Lunora


class Server:
    """Ends by itself at the second look, or does what a test says."""

    url = "http://localhost:8790"
    port = 8790

    def __init__(self) -> None:
        self.while_starting: Callable[[], None] = lambda: None
        self.while_running: Callable[[], None] = lambda: None
        self.closed = False
        self._looks = 0

    def start(self) -> None:
        self.while_starting()

    def trigger_scheduled(self, _cron: str, _time: int) -> dict[str, Any]:
        raise AssertionError("no minute begins in these tests")

    @property
    def running(self) -> bool:
        self._looks += 1
        self.while_running()
        return self._looks < 2

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """In a project with an empty app; what is done about signals is undone."""
    made = Server()

    def make_server(*_: object, echo: Callable[[str], None], say: Callable[[str], None], **_more: object) -> Server:
        say("preparing")
        for line in ("┌ a frame", "   ", "a \x1b[31mlog\x1b line"):
            echo(line)
        return made

    monkeypatch.setattr("lunorash.cli.dev.make_server", make_server)
    (tmp_path / "lunora").mkdir()
    handlers: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    yield made
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert "crons" not in {thread.name for thread in threading.enumerate()}


def _events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_what_happens_is_told_as_lines_of_json(lunora: Lunora, server: Server) -> None:
    done = lunora("dev", "--format", "json")
    assert done.status == 1
    assert _events(done.out) == [
        {"event": "progress", "message": "preparing"},
        {"event": "log", "line": "a \x1b[31mlog\x1b line"},
        {"event": "progress", "message": "starting the Worker on port 8790"},
        {"event": "ready", "url": "http://localhost:8790"},
        {"event": "crons", "crons": []},
        {"event": "ended"},
    ]
    assert server.closed


def test_people_are_told_what_to_try(lunora: Lunora, server: Server) -> None:
    done = lunora("dev")
    assert done.status == 1
    assert "==> preparing\na \\x1b[31mlog\\x1b line\n" in done.out
    assert "Ready on http://localhost:8790. In another terminal" in done.out
    assert "lunora run, each with --url http://localhost:8790\n" in done.out
    assert "==> no crons to fire" in done.out


def test_crons_may_be_left_alone(lunora: Lunora, server: Server) -> None:
    assert "crons" not in {event["event"] for event in _events(lunora("dev", "--no-crons", "--format", "json").out)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_in_good_order(lunora: Lunora, server: Server, number: signal.Signals) -> None:
    server.while_running = lambda: os.kill(os.getpid(), number)
    done = lunora("dev", "--format", "json")
    assert (done.status, _events(done.out)[-1]) == (0, {"event": "stopped"})
    assert server.closed


def test_nobody_waits_for_a_server_that_is_still_starting(lunora: Lunora, server: Server) -> None:
    server.while_starting = lambda: os.kill(os.getpid(), signal.SIGINT)
    done = lunora("dev")
    assert done.status == 1
    assert done.out.endswith("==> stopped before it was ready\n")
