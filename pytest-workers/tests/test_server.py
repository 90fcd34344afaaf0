"""Ports, locks, logs and the supervisor, with small programs in place of a Worker."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.errors import (
    LogTimeoutError,
    PortTakenError,
    ServerStateError,
    StartTimeoutError,
    StateInUseError,
    TriggerError,
    WorkerStartError,
)
from pytest_workers.runtime import DevServer, Project, ports, supervisor
from pytest_workers.runtime import server as server_module
from pytest_workers.runtime.locks import take_state
from pytest_workers.runtime.log import Log, plain
from pytest_workers.runtime.process import SupervisedProcess
from pytest_workers.runtime.triggers import scheduled
from pytest_workers.worker import Worker


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def start(tmp_path: Path) -> Callable[[str], SupervisedProcess]:
    def make(script: str) -> SupervisedProcess:
        keep = os.open(tmp_path, os.O_RDONLY)
        try:
            command = ["/bin/sh", "-c", script]
            return SupervisedProcess(command, dict(os.environ), tmp_path, tmp_path / "log", keep)
        finally:
            os.close(keep)

    return make


STUBBORN = "trap '' TERM; (trap '' TERM; sleep 600) & sleep 600; sleep 600"


def test_an_end_at_once_reaches_what_ignores_a_polite_one(start: Callable[[str], SupervisedProcess]) -> None:
    process = start(STUBBORN)
    assert process.group is not None
    process.end(at_once=True)
    assert gone(process.group)
    assert not process.running


def test_a_polite_end_lets_it_finish(start: Callable[[str], SupervisedProcess], tmp_path: Path) -> None:
    process = start("trap 'echo goodbye; exit 0' TERM; echo ready; while :; do sleep 0.01; done")
    assert eventually(lambda: "ready" in (tmp_path / "log").read_text(encoding="utf-8"))
    process.end(at_once=False)
    assert process.group is not None
    assert gone(process.group)
    assert "goodbye" in (tmp_path / "log").read_text(encoding="utf-8")


def test_what_it_leaves_behind_ends_when_it_dies(start: Callable[[str], SupervisedProcess]) -> None:
    process = start("sleep 600 & exit 3")
    process.wait(10)
    assert not process.running
    assert process.group is not None
    assert gone(process.group)
    process.end(at_once=True)


def test_a_killed_supervisor_is_made_up_for(start: Callable[[str], SupervisedProcess]) -> None:
    process = start(STUBBORN)
    assert process.group is not None
    process._process.kill()
    process.end(at_once=True)
    assert eventually(lambda: gone(process.group or 0))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    # The forked child holds a copy of the pipe, so the pipe alone would not tell that the parent is gone.
    # Whoever runs the tests in the background ignores SIGINT, and so would what they start.
    script = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pytest_workers.runtime.process import SupervisedProcess
keep = os.open(".", os.O_RDONLY)
command = ["/bin/sh", "-c", "exec sleep 600"]
process = SupervisedProcess(command, dict(os.environ), pathlib.Path("."), pathlib.Path("log"), keep)
fork = os.fork()
if fork == 0:
    time.sleep(600)
print(process.group, fork, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with parent:
        assert parent.stdout is not None
        group, fork = map(int, parent.stdout.readline().split())
        try:
            parent.send_signal(number)
            parent.wait(30)
            assert eventually(lambda: gone(group))
        finally:
            os.kill(fork, signal.SIGKILL)


def test_it_ends_when_its_parent_was_gone_before_the_first_look(tmp_path: Path) -> None:
    # A busy machine ran the supervisor so late that it took the process that inherits orphans for its parent.
    gone_parent = subprocess.Popen(["/bin/true"])
    gone_parent.wait()
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-I", supervisor.__file__, str(gone_parent.pid), str(log.fileno()), "sleep", "600"]
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(log.fileno(),)
        )
    with process:
        assert process.stdout is not None
        group = int(process.stdout.readline())
        assert process.wait(10) == 128 + signal.SIGTERM
        assert gone(group)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not ports.is_free(port)
        with pytest.raises(PortTakenError, match=f"Port {port} is taken") as caught:
            ports.check_free(port)
        assert caught.value.code == "PORT_TAKEN"
    assert ports.is_free(port)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_number_that_is_no_port(port: int) -> None:
    with pytest.raises(PortTakenError, match="is not a port"):
        ports.check_free(port)


def test_a_picked_port_is_free() -> None:
    port = ports.pick_free()
    assert ports.LOWEST <= port < ports.HIGHEST
    ports.check_free(port)


def test_a_state_folder_is_taken_until_every_copy_is_closed(tmp_path: Path) -> None:
    first = take_state(tmp_path / "state")
    copy = os.dup(first)
    os.close(first)
    with pytest.raises(StateInUseError, match=f"process {os.getpid()}") as caught:
        take_state(tmp_path / "state")
    assert caught.value.code == "STATE_IN_USE"
    os.close(copy)
    os.close(take_state(tmp_path / "state"))


def test_colours_are_taken_out() -> None:
    assert plain("\x1b[31m✘ \x1b[41;31m[\x1b[0mERROR\x1b]8;;http://x\x07 link\x1b]8;;\x07") == "✘ [ERROR link"


def test_a_log_is_read_from_a_position_and_followed(tmp_path: Path) -> None:
    log = Log(tmp_path / "logs" / "worker.log")
    seen: list[str] = []
    with log.path.open("a", encoding="utf-8") as file:
        print("before", file=file, flush=True)
        begin = log.position()
        log.follow(seen.append)
        print("\x1b[1mafter\x1b[0m", file=file, flush=True)
        print("unfinished", end="", file=file, flush=True)
    log.unfollow()
    assert log.lines() == ["before", "after", "unfinished"]
    assert log.lines(begin) == ["after", "unfinished"]
    assert seen == ["after", "unfinished"]


def test_the_tail_is_short(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.path.write_text("\n\n".join("x" * 1000 for _ in range(200)), encoding="utf-8")
    lines = log.tail().splitlines()
    assert (len(lines), len(lines[0])) == (40, 400)


@pytest.fixture
def pretend(
    fake_project: Callable[..., Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., DevServer]:
    """A server whose `wrangler dev` is a Python script that knows its port."""

    def make(script: str) -> DevServer:
        def command(*_: object, port: int, **__: object) -> list[str]:
            return [sys.executable, "-c", f"port = {port}\n{script}"]

        monkeypatch.setattr(server_module, "dev_command", command)
        return DevServer(fake_project(), persist_to=tmp_path / "state")

    return make


SERVE = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500)
        self.end_headers()
        self.wfile.write(b"no outcome")
print("listening", flush=True)
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def test_any_answer_counts_and_port_and_log_survive_a_kill(pretend: Callable[..., DevServer]) -> None:
    with pretend(SERVE) as server:
        port = server.port
        with pytest.raises(ServerStateError) as caught:
            server.start()
        assert caught.value.code == "SERVER_STATE"
        with pytest.raises(TriggerError, match="answered 500: 'no outcome'") as refused:
            server.trigger_scheduled("* * * * *")
        assert refused.value.code == "TRIGGER_FAILED"
        server.kill()
        server.kill()
        assert not server.running
        with pytest.raises(ServerStateError):
            server.trigger_scheduled("* * * * *")
        server.restart()
        server.restart()
        assert server.port == port
        assert server.log_lines().count("listening") == 3
    assert not server.running


def test_a_worker_that_dies_shows_its_log_at_once(pretend: Callable[..., DevServer]) -> None:
    server = pretend("print('\\x1b[31mthe reason\\x1b[0m'); raise SystemExit(1)")
    begin = time.monotonic()
    with pytest.raises(WorkerStartError, match=r"'sample' failed to start[\s\S]*\nthe reason$") as caught:
        server.start(timeout=60)
    assert caught.value.code == "WORKER_START_FAILED"
    assert time.monotonic() - begin < 10
    assert not server.running


def test_one_that_died_by_itself_can_be_started_again(pretend: Callable[..., DevServer]) -> None:
    with pretend(SERVE) as server:
        assert server.process_group is not None
        os.killpg(server.process_group, signal.SIGKILL)
        assert eventually(lambda: not server.running)
        server.start()
        assert server.running


def test_a_worker_that_never_answers(pretend: Callable[..., DevServer]) -> None:
    script = "import socket, time\nlistener = socket.create_server(('127.0.0.1', port))\n"
    server = pretend(script + "print('silent', flush=True)\ntime.sleep(600)")
    with pytest.raises(StartTimeoutError, match=r"within 0.5 s[\s\S]*silent") as caught:
        server.start(timeout=0.5)
    assert caught.value.code == "START_TIMEOUT"
    assert not server.running


def test_another_port_is_tried_when_the_picked_one_was_lost(pretend: Callable[..., DevServer], tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    lose = f"import pathlib\nflag = pathlib.Path({str(flag)!r})\n"
    lose += "if not flag.exists():\n    flag.touch()\n    raise SystemExit('EADDRINUSE')\n"
    server = pretend(lose + SERVE)
    first = server.port
    with server:
        assert server.port != first


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(TriggerError, match="no time zone"):
        scheduled(1, "* * * * *", dt.datetime(2026, 1, 1))  # noqa: DTZ001


def test_nobody_answers_the_trigger() -> None:
    with pytest.raises(TriggerError, match="gave no answer"):
        scheduled(ports.pick_free(), "* * * * *", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


def test_a_line_that_never_comes(pretend: Callable[..., DevServer]) -> None:
    with pretend(SERVE) as server:
        worker = Worker("sample", server, 60.0)
        assert worker.wait_for_log("list(en)ing").group(1) == "en"
        with pytest.raises(LogTimeoutError, match=r"'never'[\s\S]*listening") as caught:
            worker.wait_for_log("never", timeout=0)
        assert caught.value.code == "LOG_TIMEOUT"


def test_a_log_that_is_discarded_before_its_follower_runs_is_still_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(tmp_path / "worker.log")
    seen: list[str] = []
    start = threading.Thread.start

    def discard_then_start(thread: threading.Thread) -> None:
        log.path.write_text("the last words\n")
        log.path.unlink()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", discard_then_start)
    log.follow(seen.append)
    log.unfollow()
    assert seen == ["the last words"]
