"""What `lunora init` and `lunora registry add crons` give works from nothing, on real workerd."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pyjson5
import pytest
from pytest_workers.worker import Worker

from tests.integration.client import SECRET, TOKEN, wait_for
from tests.integration.new_project import lunora, new_project, run


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_project(tmp_path_factory.mktemp("starter") / "my-app")


def test_a_new_project_passes_its_own_tests(project: Path) -> None:
    printed = run(project, "-m", "pytest", "-p", "no:cacheprovider")
    assert " 2 passed in " in printed
    assert f"rootdir: {project}" in printed


def test_the_starter_of_the_registry_works_from_nothing(project: Path, worker_factory: Callable[..., Worker]) -> None:
    lunora(project, "registry", "add", "crons")
    lunora(project, "codegen")
    assert pyjson5.decode((project / "wrangler.jsonc").read_text(encoding="utf-8"))["triggers"] == {
        "crons": ["0 * * * *"]
    }
    worker = worker_factory(project, vars={"LUNORA_ADMIN_TOKEN": TOKEN, "LUNORA_SCHEDULER_SECRET": SECRET})
    scheduled_for = int(time.time()) // 3600 * 3_600_000
    before = time.time() * 1000
    assert worker.trigger_scheduled("0 * * * *", scheduled_for)["outcome"] == "ok"

    def ended() -> dict[str, object] | None:
        answer = httpx.get(
            f"{worker.url}/_lunora/admin/cron-jobs/runs", headers={"authorization": f"Bearer {TOKEN}"}, timeout=30
        )
        runs = answer.json()["runs"]
        return runs[0] if runs and runs[0]["ended"] is not None else None

    recorded = wait_for(ended, "the run to be recorded", 20, worker.log_lines)
    assert (recorded["name"], recorded["outcome"], recorded["scheduled_for"]) == (
        "heartbeat",
        "succeeded",
        scheduled_for,
    )
    # whoever calls it by hand sees what it returns
    ran = httpx.post(
        f"{worker.url}/_lunora/admin/cron-jobs/run",
        json={"name": "heartbeat"},
        headers={"authorization": f"Bearer {TOKEN}"},
        timeout=30,
    ).json()
    assert ran["result"]["ran_at"] >= before
    worker.stop()


def test_what_was_made_is_typed(project: Path, tmp_path: Path) -> None:
    """With the code that is generated from it: references know what their functions take."""
    lunora(project, "registry", "add", "crons")
    lunora(project, "codegen")
    folders = ["src", "lunora", "tests"]
    options = ["--strict", "--explicit-package-bases", "--cache-dir", str(tmp_path), "--ignore-missing-imports"]
    assert "Success: no issues found" in run(project, "-m", "mypy", *options, *folders)
