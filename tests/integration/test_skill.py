"""The skill file is true: its code runs in a new project, on real workerd."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import jwt
import pytest
from pytest_workers.worker import Worker

from lunorash.cli.given_files import shipped_files
from tests.integration.client import SECRET, TOKEN
from tests.integration.new_project import ROOT, lunora, new_project

NAME = "skills/lunora-setup-scheduler/SKILL.md"
SKILL = (ROOT / NAME).read_text(encoding="utf-8")
JWT_SECRET = "a secret of the tests that is long enough"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", SKILL, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project with what the skill file says."""
    folder = new_project(tmp_path_factory.mktemp("skill") / "my-app")
    for command in re.findall(r"^lunora .*$", "".join(blocks("")), re.MULTILINE):
        lunora(folder, *command.split()[1:])
    for name in ("lunora/reminders.py", "tests/test_reminders.py"):
        (folder / name).unlink()
    for block in [*blocks("python"), *blocks("sql")]:
        named = re.match(r"(?:#|--) (\S+)\n", block)
        assert named, block
        (folder / named[1]).parent.mkdir(exist_ok=True)
        (folder / named[1]).write_text(block, encoding="utf-8")
    (configured,) = blocks("jsonc")
    config = (folder / "wrangler.jsonc").read_text(encoding="utf-8")
    (folder / "wrangler.jsonc").write_text(
        config.replace('  "limits"', f'{configured.rstrip().removesuffix(",")},\n  "limits"'), encoding="utf-8"
    )
    lunora(folder, "codegen")
    return folder


@pytest.fixture(scope="module")
def worker(project: Path, worker_factory: Callable[..., Worker]) -> Worker:
    settings = {"JWT_SECRET": JWT_SECRET, "LUNORA_ADMIN_TOKEN": TOKEN, "LUNORA_SCHEDULER_SECRET": SECRET}
    return worker_factory(project, vars=settings)


def call(worker: Worker, path: str, **args: object) -> httpx.Response:
    """Call a mutation as a user who has signed in."""
    claims = {"sub": "u1", "iss": "https://id.example.com", "aud": "my-app", "exp": time.time() + 60}
    return httpx.post(
        f"{worker.url}/api/mutation",
        json={"path": path, "args": args},
        headers={"authorization": f"Bearer {jwt.encode(claims, JWT_SECRET)}"},
        timeout=30,
    )


def run(worker: Worker, path: str, **args: object) -> None:
    """Call a function as its owner."""
    answer = httpx.post(
        f"{worker.url}/_lunora/admin/run",
        json={"path": path, "args": args},
        headers={"authorization": f"Bearer {TOKEN}"},
        timeout=30,
    )
    assert answer.status_code == 200, answer.text


def test_the_copy_that_comes_with_a_new_project_is_the_same(project: Path) -> None:
    assert shipped_files("template")[NAME].decode() == SKILL, f"run: cp {NAME} src/lunorash/template/{NAME}"
    assert (project / NAME).read_text(encoding="utf-8") == SKILL


def test_it_says_what_it_is_for() -> None:
    front = re.match(r"---\nname: (\S+)\ndescription: (.+)\n---\n", SKILL)
    assert front
    assert front[1] == "lunora-setup-scheduler"
    assert 100 < len(front[2]) <= 1024, "longer ones are cut off where skills are listed"


def test_a_job_is_scheduled_in_a_mutation_and_runs(worker: Worker) -> None:
    assert call(worker, "trials:start_trial", days=0.00001).status_code == 200
    worker.wait_for_log("the trial of u1 has ended", timeout=20)


def test_crons_run(worker: Worker) -> None:
    for expression, said in {
        "*/5 * * * *": "sweeping lobby",
        "17 * * * *": "the hourly report",
        "0 9 * * *": "the daily report",
        "0 8 * * MON": "the weekly report",
        "0 0 1 * *": "the monthly report",
        "0 6 LW * *": "the payday report",
    }.items():
        assert worker.trigger_scheduled(expression)["outcome"] == "ok"
        worker.wait_for_log(said, timeout=20)


def test_a_workpool_runs_all_but_what_was_cancelled(worker: Worker) -> None:
    since = worker.log_position()
    run(worker, "imports:start", row_ids=["r1", "r2", "r3", "r4"])
    worker.wait_for_log(r"imports: [0-3] of 3 running", timeout=20, since=since)
    for row in ("r1", "r2", "r3", "r4"):
        worker.wait_for_log(f"row {row}", timeout=20, since=since)
    listed = httpx.get(
        f"{worker.url}/_lunora/admin/scheduled?state=canceled", headers={"authorization": f"Bearer {TOKEN}"}, timeout=30
    ).json()
    assert [record["args"] for record in listed["records"]] == [{"row_id": "late"}]


def test_a_queue_workpool_runs_what_is_in_the_queue(worker: Worker) -> None:
    since = worker.log_position()
    run(worker, "exports:start", names=["a", "b"])
    for name in ("a", "b"):
        worker.wait_for_log(f"exported {name}", timeout=30, since=since)


def test_every_error_it_names_exists() -> None:
    import lunorash.codegen
    from lunorash.errors import STATUS_BY_CODE

    folder = Path(lunorash.codegen.__file__).parent
    codegen = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    codes = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", SKILL)) - {"LUNORA_ORIGIN_URL", "LUNORA_SCHEDULER_SECRET"}
    assert len(codes) >= 4
    assert [code for code in codes if code not in STATUS_BY_CODE and f'"{code}"' not in codegen] == []
