"""README.md is true: its walk is taken and its app is run, on real workerd."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import jwt
import pytest
from pytest_workers.worker import Worker

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
JWT_SECRET = "a secret of the tests that is long enough"


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
    for block in [*blocks("python"), *blocks("sql")]:
        named = re.match(r"(?:#|--) (\S+)\n", block)
        assert named, block
        path = tmp_path / named[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(block, encoding="utf-8")
    (tmp_path / "lunora" / "__init__.py").touch()
    for name in ("requirements", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(settings, tmp_path / ".dev.vars")
    # the configuration of the example, without its agent and its workflow
    config = (ROOT / "wrangler.jsonc").read_text(encoding="utf-8")
    config = re.sub(r",\s*\{ \"name\": \"AGENT_SUPPORT\".*?\}", "", config)
    config = re.sub(r"\"workflows\": .*\n", "", config).replace(', "Support"', "")
    (tmp_path / "wrangler.jsonc").write_text(config, encoding="utf-8")

    worker = worker_factory(tmp_path, vars={"JWT_SECRET": JWT_SECRET})
    token = jwt.encode(
        {"sub": "u1", "iss": "https://id.example.com", "aud": "trials", "exp": time.time() + 60}, JWT_SECRET
    )
    answer = httpx.post(
        f"{worker.url}/api/mutation",
        json={"path": "trials:start_trial", "args": {"plan": "pro", "days": 0.00001}},
        headers={"authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200, answer.text
    worker.wait_for_log(r"charging u1 for pro, once for job \S+", timeout=20)
    for kind, function, args in (
        ("action", "imports:import_rows", {"row_ids": ["r1", "r2"]}),
        ("mutation", "imports:import_again", {"row_id": "r3"}),
    ):
        answer = httpx.post(f"{worker.url}/api/{kind}", json={"path": function, "args": args})
        assert answer.status_code == 200, answer.text
    for row_id in ("r1", "r2", "r3"):
        worker.wait_for_log(rf"importing {row_id} as \S+", timeout=20)
    worker.stop()

    # without an entry of its own the project gets one that is wired by the usual names
    (tmp_path / "src" / "worker.py").unlink()
    worker.start()
    assert httpx.get(f"{worker.url}/_lunora/health").json() == {"ok": True}
    nobody = httpx.post(f"{worker.url}/api/mutation", json={"path": "trials:start_trial", "args": {"plan": "pro"}})
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    worker.stop()
