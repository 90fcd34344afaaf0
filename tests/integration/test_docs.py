"""The chapters in docs/ are true: what they show is run, on real workerd. For names and numbers see the unit tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from pytest_workers.worker import Worker

from lunorash.cli.dev_vars import ensure_dev_vars
from lunorash.cli.given_files import shipped_files
from lunorash.cli.main import main

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
TRACEPARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def example(worker_factory: Callable[..., Worker]) -> Iterator[Worker]:
    """The example app, as `make dev` serves it."""
    ensure_dev_vars(ROOT)
    worker = worker_factory(name="docs")
    yield worker
    worker.stop()


@pytest.mark.parametrize("page", [page.name for page in sorted(DOCS.glob("*.md")) if "```bash" in page.read_text()])
def test_the_commands_of_a_chapter_print_what_it_says(example: Worker, page: str) -> None:
    script = "set -e\n" + "".join(blocks(page, "bash")).replace("http://localhost:8787", example.url)
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert printed == "".join(blocks(page, "json")).splitlines()


def test_the_app_of_the_chapters_runs(worker_factory: Callable[..., Worker], tmp_path: Path) -> None:
    for page in sorted(DOCS.glob("*.md")):
        for block in [*blocks(page.name, "python"), *blocks(page.name, "sql")]:
            named = re.match(r"(?:#|--) (lunora/\S+)\n", block)
            assert named, block
            path = tmp_path / named[1]
            path.parent.mkdir(exist_ok=True)
            assert not path.exists(), f"two blocks are {named[1]}"
            path.write_text(block, encoding="utf-8")
    (tmp_path / "lunora" / "__init__.py").touch()
    for name in ("requirements", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    ensure_dev_vars(ROOT)
    shutil.copy(ROOT / ".dev.vars", tmp_path / ".dev.vars")
    config = shipped_files("template")["wrangler.jsonc"].decode().replace("{{name}}", "chapters")
    (queues,) = blocks("pools.md", "jsonc")
    (tmp_path / "wrangler.jsonc").write_text(config.replace('  "limits"', f'{queues}  "limits"'), encoding="utf-8")
    assert main(["codegen", "--project", str(tmp_path)]) == 0
    worker = worker_factory(tmp_path)

    def call(kind: str, path: str, **args: Any) -> Any:
        answer = httpx.post(
            f"{worker.url}/api/{kind}", json={"path": path, "args": args}, headers={"traceparent": TRACEPARENT}
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    job_id = call("mutation", "payouts:request", account="a1", cents=500)
    worker.wait_for_log(rf"paid 500 to a1, once for job {job_id}", timeout=20)
    call("mutation", "shipping:ship", parcel="small")
    worker.wait_for_log(r"parcel shipped at attempt 2", timeout=20)
    call("mutation", "shipping:ship", parcel="lost")
    worker.wait_for_log(r"parcel not shipped: dead, PARCEL_LOST", timeout=20)
    call("mutation", "invoices:close_month", month="May")
    worker.wait_for_log(rf"sending the invoices of May in {TRACEPARENT[:36]}[0-9a-f]{{16}}-01", timeout=20)
    call("action", "thumbnails:make_all", pictures=["a", "b", "c"])
    call("mutation", "thumbnails:make_first", picture="d")
    for picture in "abcd":
        worker.wait_for_log(rf"a thumbnail of {picture}", timeout=20)
    assert call("action", "thumbnails:waiting") == 0
    call("action", "exports:export", months=["May", "June"])
    for month in ("May", "June"):
        worker.wait_for_log(rf"writing {month}, once for message [0-9a-f]{{32}}", timeout=20)
    worker.stop()
