"""The commands for a running Worker, and the crons that `lunora dev` fires, on real workerd."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.client import wait_for
from tests.integration.test_commands import ROOT, free_port

TICK = """
from lunora._generated.internal import internal
from lunorash.server import cron_jobs

crons = cron_jobs()
crons.cron("tick", "* * * * *", internal.presence.sweep, {"room_id": "lobby"})
"""
TOCK = 'crons.cron("tock", "* * * * *", internal.presence.sweep, {"room_id": "bar"})\n'


class Dev:
    """`lunora dev` in a process of its own, and command lines beside it."""

    def __init__(self, project: Path, log: Path) -> None:
        self.project = project
        self.port = free_port()
        self._log = log
        with log.open("w") as out, log.with_suffix(".err").open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lunorash.cli.main", "dev", "--port", str(self.port), "--format", "json"],
                cwd=project,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        """What has been told so far under a name; every line on stdout is an event."""
        *complete, _rest = self._log.read_text().split("\n")
        return [event for event in map(json.loads, complete) if event["event"] == name]

    @property
    def told(self) -> str:
        return self._log.read_text() + self._log.with_suffix(".err").read_text()

    def lunora(self, *arguments: str, status: int = 0, stdin: str = "") -> Any:
        """Run a command line against it; returns the JSON of its stdout."""
        done = self.lunora_text(*arguments, "--format", "json", status=status, stdin=stdin)
        return json.loads(done.stdout)

    def lunora_text(self, *arguments: str, status: int = 0, stdin: str = "") -> subprocess.CompletedProcess[str]:
        offline = arguments[:2] == ("crons", "next") or "--offline" in arguments
        where = [] if offline else ["--url", f"http://localhost:{self.port}"]
        environment: Mapping[str, str] = {
            name: value for name, value in os.environ.items() if name != "LUNORA_ADMIN_TOKEN"
        }
        done = subprocess.run(
            [sys.executable, "-m", "lunorash.cli.main", *arguments, *where],
            cwd=self.project,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """The example app with a cron for every minute; its state, settings and sources are its own."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("src", "requirements", "node_modules", "pyproject.toml", ".dev.vars.example"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "wrangler.jsonc", folder)
    shutil.copytree(ROOT / "lunora", folder / "lunora")
    (folder / "lunora" / "ticking.py").write_text(TICK)
    started = Dev(folder, tmp_path_factory.mktemp("log") / "dev.log")
    try:
        wait_for(lambda: started.events("crons"), "the server to be ready", 90, lambda: started.told)
        yield started
    finally:
        begin = time.monotonic()
        started.process.send_signal(signal.SIGINT)
        assert started.process.wait(30) == 0, started.told
    assert started.events("stopped")
    assert time.monotonic() - begin < 5


def test_a_function_is_run(dev: Dev) -> None:
    assert dev.lunora("run", "presence:who", '{"room_id": "lobby"}') == {"value": []}
    assert dev.lunora("run", "presence:sweep", "-", "--shard", "rooms", stdin='{"room_id": "lobby"}') == {"value": 0}
    assert dev.lunora_text("run", "demo:hello", '{"name": "Ada"}').stdout == '"Hello, Ada!"\n'
    assert dev.lunora("run", "demo:nobody", status=1)["error"]["code"] == "FUNCTION_NOT_FOUND"
    assert "lunora: " in dev.lunora_text("run", "demo:hello", '{"nome": "Ada"}', status=1).stderr


def test_jobs_are_listed_shown_and_cancelled(dev: Dev) -> None:
    later = '{"name": "Ada", "delay_ms": 3600000, "job_id": "%s"}'
    for job_id in ("first", "second"):
        assert dev.lunora("run", "demo:hello_later", later % job_id) == {"value": job_id}
    assert {"first", "second"} <= {job["id"] for job in dev.lunora("jobs", "list")["records"]}
    assert "first   demo:hello  pending  " in dev.lunora_text("jobs", "list", "--state", "pending").stdout
    assert dev.lunora("jobs", "get", "first")["record"]["args"] == {"name": "Ada"}
    assert dev.lunora("jobs", "cancel", "first", "nobody")["results"] == [
        {"id": "first", "cancelled": True},
        {"id": "nobody", "cancelled": False},
    ]
    assert [job["id"] for job in dev.lunora("jobs", "list", "--state", "canceled")["records"]] == ["first"]
    dev.lunora("jobs", "cancel", "first", status=1)
    dev.lunora("jobs", "cancel", "second")


def test_dead_letters_are_retried_and_dropped(dev: Dev) -> None:
    doomed = '{"failures": 2, "max_attempts": 1, "base_ms": 1, "job_id": "%s"}'
    for job_id in ("doomed", "gone"):
        dev.lunora("run", "demo:flaky_later", doomed % job_id)

    def dead() -> set[str]:
        filters = ("--target", "demo", "--error", "UPSTREAM_DOWN")
        return {letter["id"] for letter in dev.lunora("dead", "list", *filters)["records"]}

    wait_for(lambda: dead() == {"doomed", "gone"}, "both to be dead", 30, dead)
    shown = dev.lunora_text("jobs", "get", "doomed").stdout
    assert "attempt 2 of a job that fails 2 times" in shown
    assert dev.lunora("dead", "retry", "doomed")["results"] == [{"id": "doomed", "retried": True}]

    def state() -> str:
        return str(dev.lunora("jobs", "get", "doomed")["record"]["state"])

    wait_for(lambda: state() == "succeeded", "the retried one to succeed", 30, state)
    refused = dev.lunora_text("dead", "drop", "--all", status=2)
    assert "add --yes" in refused.stderr
    assert dev.lunora("dead", "drop", "--all", "--target", "demo:*", "--yes")["results"] == [
        {"id": "gone", "dropped": True}
    ]
    assert dead() == set()


def test_the_worker_and_the_sources_tell_the_same_of_cron_jobs(dev: Dev) -> None:
    running, written = dev.lunora("crons", "list")["jobs"], dev.lunora("crons", "list", "--offline")["jobs"]
    assert "tick" in {job["name"] for job in running}
    same = ("name", "cron", "english", "target", "args", "overlap", "timeout_ms", "retry")
    assert [[job[field] for field in same] for job in running] == [[job[field] for field in same] for job in written]
    assert set(running[0]) <= set(written[0])
    assert "tick" in dev.lunora_text("crons", "list").stdout
    told = {each["name"]: each["next"] for each in dev.lunora("crons", "next", "--count", "2")}
    assert set(told) == {job["name"] for job in written}
    assert all(len(fires) == 2 for fires in told.values())


def test_a_cron_job_is_run_now(dev: Dev) -> None:
    assert dev.lunora("crons", "run", "tick") == {"name": "tick", "ran": True, "result": 0}
    assert dev.lunora("crons", "run", "nobody", status=1)["error"]["code"] == "CRON_JOB_NOT_FOUND"

    def runs() -> list[dict[str, Any]]:
        return list(dev.lunora("crons", "runs", "tick")["runs"])

    wait_for(runs, "the run to be recorded", 10, runs)
    assert "tick" in dev.lunora_text("crons", "runs").stdout


def test_crons_fire_at_their_minute(dev: Dev) -> None:
    wait_for(lambda: dev.events("cron"), "a minute to begin", 75, lambda: dev.told)
    fired = next(event for event in dev.events("cron") if "tick" in event["jobs"])
    assert (fired["expression"], fired["outcome"]) == ("* * * * *", "ok")
    assert fired["scheduled_for"].endswith(":00Z")

    def recorded() -> list[dict[str, Any]]:
        return [run for run in dev.lunora("crons", "runs", "tick")["runs"] if run["scheduled_for"] % 60_000 == 0]

    wait_for(recorded, "the fire to be recorded", 10, recorded)


def test_changed_sources_change_what_fires(dev: Dev) -> None:
    before = len(dev.events("crons"))
    (dev.project / "lunora" / "ticking.py").write_text(TICK + TOCK)
    wait_for(lambda: len(dev.events("crons")) > before, "the change to be seen", 20, lambda: dev.told)
    told = {cron["name"]: cron for cron in dev.events("crons")[-1]["crons"]}
    assert told["tock"]["english"] == "Every minute"
    wait_for(
        lambda: "tock" in {job["name"] for job in dev.lunora("crons", "list")["jobs"]},
        "the Worker to be built anew",
        60,
        lambda: dev.told,
    )


def test_the_demo_reports_to_programs() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lunorash.cli.main", "demo", "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"ok": True, "backlog": 0, "in_flight": 0, "dead": 0}
    assert "unlucky succeeded" in " ".join(done.stderr.split())
