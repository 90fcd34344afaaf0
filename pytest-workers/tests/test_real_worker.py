"""The runtime and the fixtures against real workerd."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pytest_workers.errors import PortTakenError, StateInUseError, WorkerStartError
from pytest_workers.runtime import DevServer, Project, prepare
from pytest_workers.runtime.command import dev_environment
from pytest_workers.worker import Worker

DEADLINE_SECONDS = 30.0


def until(condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def group_is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, write_project: Callable[..., Path]) -> Path:
    return write_project(tmp_path_factory.mktemp("sample") / "project")


@pytest.fixture(scope="module")
def project(folder: Path, pins: Path, node_modules: Path) -> Project:
    return Project.load(folder, pins=pins, node_modules=node_modules)


@pytest.fixture(scope="module")
def sample(worker_factory: Callable[..., Worker], folder: Path, pins: Path, node_modules: Path) -> Worker:
    return worker_factory(
        folder,
        pins=pins,
        node_modules=node_modules,
        vars={"GREETING": "I am {origin}: hello"},
        health_path="/health",
    )


def test_it_answers_and_the_given_variables_win(sample: Worker) -> None:
    answer = httpx.get(f"{sample.url}/vars").json()
    assert answer == {"greeting": f"I am http://localhost:{sample.port}: hello", "untouched": "kept"}


def test_the_log_is_readable_while_it_runs(sample: Worker) -> None:
    begin = sample.log_position()
    httpx.get(f"{sample.url}/say/hello")
    assert sample.wait_for_log(r"the Worker says (\w+)", since=begin).group(1) == "hello"
    assert not any("\x1b" in line for line in sample.log_lines())


def test_trigger_scheduled_reaches_the_handler(sample: Worker) -> None:
    begin = sample.log_position()
    outcome = sample.trigger_scheduled("*/5 * * * *", time=1_800_000_000_000)
    assert outcome["outcome"] == "ok"
    sample.wait_for_log(r"scheduled \*/5 \* \* \* \* 1800000000000", since=begin)
    assert sample.trigger_scheduled("0 0 1 1 *")["outcome"] == "exception"


def traces_of(server: DevServer) -> int:
    """How wrangler's Observability page is answered when it asks what was traced."""
    path = "/cdn-cgi/explorer/api/local/observability/query"
    return httpx.post(f"{server.url}{path}", json={"sql": "SELECT count(*) FROM spans"}).status_code


def test_requests_are_traced_only_where_that_is_wanted(sample: Worker, project: Project, tmp_path: Path) -> None:
    assert traces_of(sample.server) != 200
    with DevServer(project, persist_to=tmp_path, health_path="/health", traces=True) as traced:
        assert traces_of(traced) == 200


def test_its_port_and_its_state_are_taken(sample: Worker, project: Project, tmp_path: Path) -> None:
    with pytest.raises(PortTakenError, match=str(sample.port)):
        DevServer(project, port=sample.port, persist_to=tmp_path).start()
    with pytest.raises(StateInUseError, match=f"process {os.getpid()}"):
        DevServer(project, persist_to=sample.server.persist_to).start()


def test_two_servers_run_at_once_and_share_nothing(
    sample: Worker, worker_factory: Callable[..., Worker], folder: Path, pins: Path, node_modules: Path
) -> None:
    httpx.get(f"{sample.url}/count")
    other = worker_factory(folder, pins=pins, node_modules=node_modules, health_path="/health")
    try:
        assert other.port != sample.port
        assert httpx.get(f"{other.url}/count").text == "1"
        assert httpx.get(f"{other.url}/vars").json()["greeting"] == "from dev.vars"
    finally:
        other.stop()


def test_a_kill_keeps_the_state_and_an_overdue_alarm_fires(sample: Worker) -> None:
    before = int(httpx.get(f"{sample.url}/count").text)
    httpx.get(f"{sample.url}/alarm")
    url, group = sample.url, sample.server.process_group
    assert group is not None
    sample.kill()
    assert group_is_gone(group)
    assert not sample.running
    begin = sample.log_position()
    sample.restart()
    assert sample.url == url
    assert int(httpx.get(f"{sample.url}/count").text) == before + 1
    sample.wait_for_log("the alarm fires", timeout=DEADLINE_SECONDS, since=begin)


def test_a_broken_worker_shows_its_log(
    worker_factory: Callable[..., Worker],
    write_project: Callable[..., Path],
    tmp_path: Path,
    pins: Path,
    node_modules: Path,
) -> None:
    broken = write_project(tmp_path / "broken", "\nimport there_is_no_such_module\n")
    with pytest.raises(WorkerStartError) as caught:
        worker_factory(broken, pins=pins, node_modules=node_modules)
    assert caught.value.code == "WORKER_START_FAILED"
    assert "No module named 'there_is_no_such_module'" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_wrangler_deploys_what_was_vendored(project: Project, tmp_path: Path) -> None:
    prepared = prepare(project)
    command = [str(prepared.toolchain.node), str(prepared.toolchain.wrangler), "deploy", "--dry-run"]
    result = subprocess.run(  # noqa: S603
        [*command, "--config", str(project.config.path), "--outdir", str(tmp_path / "out")],
        env=dev_environment(prepared, {}),
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Vendored Modules" in result.stdout
    assert list((tmp_path / "out").rglob("pydantic_core*"))


def pytest_command(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command += ["--rootdir", str(folder), "-c", str(folder / "pyproject.toml")]
    return [*command, *arguments, str(folder / "test_sample.py")]


@pytest.fixture
def write_test_run(
    write_project: Callable[..., Path], tmp_path: Path, pins: Path, node_modules: Path
) -> Callable[[str], Path]:
    def write(test: str) -> Path:
        folder = write_project(tmp_path / "run")
        pyproject = f"""
            [tool.pytest-workers]
            pins = "{pins}"
            node-modules = "{node_modules}"
            health-path = "/health"
            vars = {{ GREETING = "from pyproject" }}
        """
        (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
        (folder / "test_sample.py").write_text(test, encoding="utf-8")
        return folder

    return write


def test_the_fixtures_and_the_report_of_a_failure(write_test_run: Callable[[str], Path]) -> None:
    test = """
import httpx

def test_passes(worker):
    assert httpx.get(worker.url + "/vars").json()["greeting"] == "from pyproject"
    assert httpx.get(worker.url + "/count").text == "1"
    httpx.get(worker.url + "/say/earlier")
    worker.wait_for_log("the Worker says earlier")

def test_fails(worker):
    httpx.get(worker.url + "/say/during")
    assert httpx.get(worker.url + "/count").text == "1"

def test_of_module(module_worker, worker):
    assert module_worker.url != worker.url
    assert httpx.get(module_worker.url + "/count").text == "1"
"""
    folder = write_test_run(test)
    result = subprocess.run(  # noqa: S603
        pytest_command(folder, "--workers-log"), capture_output=True, text=True, check=False, timeout=120, cwd=folder
    )
    assert "1 failed, 2 passed" in result.stdout, result.stdout + result.stderr
    assert "sample | the Worker says earlier" in result.stdout
    assert "module test_sample | " in result.stdout
    report = result.stdout.partition("= FAILURES =")[2]
    assert "the Worker says during" in report.partition("Log of Worker sample")[2]
    assert "the Worker says earlier" not in report


def test_nothing_is_left_of_a_test_run_that_was_killed(write_test_run: Callable[[str], Path]) -> None:
    test = """
import pathlib, time

def test_hangs(worker):
    partial = pathlib.Path(__file__).with_name("partial")
    partial.write_text(str(worker.server.process_group))
    partial.rename(partial.with_name("group"))
    time.sleep(600)
"""
    folder = write_test_run(test)
    run = subprocess.Popen(pytest_command(folder, "-q"), cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        assert until(lambda: (folder / "group").exists() or run.poll() is not None)
        group = int((folder / "group").read_text(encoding="utf-8"))
        assert not group_is_gone(group)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert until(lambda: group_is_gone(group), 10)
