"""README.md is true: its walk is taken and its app is run, on real workerd."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pyjson5
import pytest
import typer
from pytest_workers.worker import Worker

from lunorash.cli.given_files import shipped_files
from lunorash.cli.main import app, main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
JWT_SECRET = "a secret of the tests that is long enough"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def chapter(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


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
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(block, encoding="utf-8")
    (tmp_path / "lunora" / "__init__.py").touch()
    for name in ("requirements", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(settings, tmp_path / ".dev.vars")
    config = shipped_files("template")["wrangler.jsonc"].decode().replace("{{name}}", "trials")
    (queues,) = blocks("jsonc")
    config = config.replace('  "limits"', f'{queues}  "limits"')
    (tmp_path / "wrangler.jsonc").write_text(config, encoding="utf-8")

    assert main(["codegen", "--project", str(tmp_path)]) == 0
    triggers = pyjson5.decode((tmp_path / "wrangler.jsonc").read_text(encoding="utf-8"))["triggers"]
    assert sorted(triggers["crons"]) == ["*/5 * * * *", "0 6 LW * *", "0 8 * * MON"]

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

    urls = ["https://example.com/a", "https://example.com/b"]
    answer = httpx.post(
        f"{worker.url}/api/action",
        json={"path": "pages:import_pages", "args": {"urls": urls}},
        headers={"authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200, answer.text
    for url in urls:
        worker.wait_for_log(rf"importing {url}, once for message [0-9a-f]{{32}}", timeout=20)
    worker.wait_for_log(r"2 pages were to be imported", timeout=20)

    for expression in triggers["crons"]:
        assert worker.trigger_scheduled(expression)["outcome"] == "ok"
    worker.wait_for_log(r"the report of \w+day goes to team@example.com", timeout=20)
    worker.wait_for_log(r"the report of \w+day goes to payroll@example.com", timeout=20)

    for kind, function, args in (
        ("action", "imports:import_rows", {"row_ids": ["r1", "r2"]}),
        ("mutation", "imports:import_again", {"row_id": "r3"}),
        ("action", "letters:send_all", {"addresses": ["ada@example.com", "grace@example.com"]}),
        ("action", "letters:stop_all", {}),
    ):
        answer = httpx.post(f"{worker.url}/api/{kind}", json={"path": function, "args": args})
        assert answer.status_code == 200, answer.text
    for url, said in (
        (f"{worker.url}/nothing-here", r"the receipt succeeded after 1 attempts: \S+"),
        ("ftp://example.com", r"the receipt dead after 1 attempts: URL_INVALID"),
    ):
        answer = httpx.post(f"{worker.url}/api/action", json={"path": "receipts:order", "args": {"url": url}})
        assert answer.status_code == 200, answer.text
        worker.wait_for_log(said, timeout=20)
    for row_id in ("r1", "r2", "r3"):
        worker.wait_for_log(rf"importing {row_id} as \S+", timeout=20)
    answer = httpx.post(
        f"{worker.url}/api/action", json={"path": "letters:send_all", "args": {"addresses": ["ada@example.com"]}}
    )
    assert answer.json()["value"] == ["DUPLICATE_SCHEDULE_ID"]
    answer = httpx.post(f"{worker.url}/api/action", json={"path": "support:letters_of", "args": {"number": 1}})
    told = answer.json()["value"]
    assert (told["count"], len(told["letters"])) == (1, 1)
    assert told["letters"][0].startswith("letter-1 ")
    worker.stop()

    # without an entry of its own the project gets one that is wired by the usual names
    (tmp_path / "src" / "worker.py").unlink()
    worker.start()
    assert httpx.get(f"{worker.url}/_lunora/health").json() == {"ok": True}
    nobody = httpx.post(f"{worker.url}/api/mutation", json={"path": "trials:start_trial", "args": {"plan": "pro"}})
    assert (nobody.status_code, nobody.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    worker.stop()


# -- the command line ----------------------------------------------------------------------------------------


def test_what_commands_print_is_what_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    for command in "".join(blocks("sh")).splitlines():
        assert main(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == "".join(blocks("text"))


def test_the_readme_names_every_command_and_no_other() -> None:
    named: set[str] = set()
    for line in re.findall(r"^\| (`lunora .*?) \|", chapter("The command line"), re.MULTILINE):
        first, *further = re.findall(r"`([^`]+)`", line)
        words = [word for word in first.split()[1:] if word.islower()]
        named |= {" ".join(words)} | {" ".join([*words[:-1], text.split()[0]]) for text in further}
    assert named == set(_commands(typer.main.get_command(app)))


def _commands(command: Any, *path: str) -> Iterator[str]:
    """Every command that does something by itself."""
    below: Any = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path)
    for name in below or ():
        yield from _commands(below[name], *path, name)
