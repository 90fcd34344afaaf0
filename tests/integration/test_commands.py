"""`lunora dev` and `lunora demo` as a newcomer meets them: what they print is true and can be pasted."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.client import wait_for

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as a newcomer has it, without settings and state of its own."""
    folder = tmp_path_factory.mktemp("project")
    for name in (
        "lunora",
        "src",
        "requirements",
        "node_modules",
        "pyproject.toml",
        "wrangler.jsonc",
        ".dev.vars.example",
    ):
        (folder / name).symlink_to(ROOT / name)
    return folder


class Server:
    """`lunora dev` in a process of its own."""

    def __init__(self, project: Path, port: int, log: Path) -> None:
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lunorash.cli.main", "dev", "--port", str(port)],
                cwd=project,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._log.read_text()


@pytest.fixture(scope="module")
def server(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(project, free_port(), tmp_path_factory.mktemp("log") / "dev.log")
    wait_for(lambda: "In another terminal" in started.output, "the server to be ready", 90, lambda: started.output)
    yield started
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(20) == 0, started.output


def test_fresh_secrets_are_made_once(server: Server, project: Path) -> None:
    settings = project / ".dev.vars"
    assert "made .dev.vars with fresh secrets" in server.output
    assert settings.stat().st_mode & 0o077 == 0
    assert '"generate"' not in settings.read_text()
    secret = re.search(r'_SECRET="whsec_(.+)"', settings.read_text())
    assert secret
    assert secret[1] not in server.output


def test_the_lines_that_dev_prints_can_be_pasted(server: Server, project: Path) -> None:
    printed = server.output.split("In another terminal, in this folder:")[1].split("Jobs survive")[0]
    script = "set -e\n" + printed.replace("\n  curl -s", "\n  echo; curl -s")

    def paste() -> list[dict[str, object]]:
        done = subprocess.run(["bash", "-c", script], cwd=project, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    record, listed, status = paste()
    assert isinstance(record["record"], dict)
    job_id = record["record"]["id"]
    assert record["record"]["state"] == "pending"
    assert isinstance(listed["records"], list)
    assert [job["id"] for job in listed["records"]] == [job_id]
    assert status["backlog"] == 1
    wait_for(lambda: f"Hello, Ada! (job {job_id}, attempt 1)" in server.output, "Ada to be greeted", 20)


def test_the_demo_tells_its_story_and_exits_0() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lunorash.cli.main", "demo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    story = re.sub(r"\s+", " ", done.stdout)
    for event in (
        "hello succeeded at attempt 1",
        "flaky attempt 2 failed",
        "flaky succeeded at attempt 3",
        "tomorrow canceled",
        "unlucky dead",
        "the dead letters: unlucky",
        "unlucky succeeded at attempt 3",
        "At the end: 0 waiting, 0 running, 0 dead.",
    ):
        assert event in story


def test_a_port_that_is_taken_is_named(project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "lunorash.cli.main", "dev", "--port", str(port)],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "PORT_TAKEN" in done.stderr
    assert str(port) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_project_is_told_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lunorash.cli.main", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ENTRY_NOT_FOUND" in done.stderr
