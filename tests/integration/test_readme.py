"""README.md is true: its walk is taken and its app is run, on real workerd."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pytest_workers.worker import Worker

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def settings() -> Path:
    """The settings of local runs, as `make dev` makes them."""
    from lunorash.cli.dev_vars import ensure_dev_vars

    ensure_dev_vars(ROOT)
    return ROOT / ".dev.vars"


def test_the_walk_with_curl_prints_what_it_says(worker_factory: Callable[..., Worker], settings: Path) -> None:
    worker = worker_factory()
    script = "set -e\n" + "".join(blocks("bash")).replace("http://localhost:8787", worker.url)
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    printed = [line for line in done.stdout.splitlines() if line]
    assert printed == "".join(blocks("json")).splitlines()
    assert any("Hello, Ada! (job hello-ada, attempt 1)" in line for line in worker.log_lines())
    worker.stop()


def test_the_app_of_the_readme_runs(worker_factory: Callable[..., Worker], settings: Path, tmp_path: Path) -> None:
    for block in blocks("python"):
        path = tmp_path / re.match(r"# (\S+)\n", block)[1]  # type: ignore[index]
        path.parent.mkdir(exist_ok=True)
        path.write_text(block, encoding="utf-8")
    (tmp_path / "lunora" / "__init__.py").touch()
    for name in ("wrangler.jsonc", "requirements", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".dev.vars").write_text(settings.read_text(encoding="utf-8"), encoding="utf-8")
    worker = worker_factory(tmp_path)
    answer = httpx.post(f"{worker.url}/trials", json={"user_id": "u1"})
    assert answer.status_code == 200, answer.text
    worker.wait_for_log(rf"the trial of u1 ends, attempt 1 of job {answer.json()['job']}", timeout=20)
    worker.stop()
