"""`lunora doctor` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dotenv import dotenv_values
from pytest_workers.runtime.vendoring import STAMP

from lunorash.cli.main import main
from tests.doctor.project import PINS, SECRET, TOKEN, Project, make, vendored

NEW = """
from lunora._generated.server import mutation

@mutation
async def more(ctx) -> None: ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with nothing wrong, its packages vendored: nothing here is to be downloaded."""
    return vendored(make(tmp_path), PINS)


def run(project: Project, *arguments: str) -> int:
    return main(["doctor", "--project", str(project.folder), *arguments])


def test_json_is_all_there_is_on_stdout(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "--format", "json") == 0
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert set(document) == {"ok", "findings", "summary", "fixed"}
    assert document["ok"] is True
    assert document["summary"]["fail"] == document["summary"]["warn"] == 0
    assert all(set(finding) == {"code", "level", "message", "fix"} for finding in document["findings"])
    assert document["fixed"] == []
    assert shown.err == ""


def test_only_a_fail_fails(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.configure(lambda config: config.pop("vars"))
    assert run(project) == 0
    shown = capsys.readouterr().out
    assert "[WARN] origin-missing: LUNORA_ORIGIN_URL is not among the vars at the top level" in shown
    assert "\n       add it to the vars at the top level, or run `npx wrangler secret put" in shown
    assert shown.splitlines()[-1].startswith("lunora doctor: 0 failed, 1 to look at, ")
    project.configure(lambda config: config.pop("compatibility_flags"))
    assert run(project, "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["summary"]["fail"] >= 1


def test_what_a_file_says_cannot_write_to_the_terminal(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.configure(lambda config: config.update(triggers={"crons": ["\x1b[31m* * * * *"]}))
    assert run(project) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_fix_repairs_what_nobody_has_to_decide(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write("lunora/more.py", NEW)
    project.configure(lambda config: config["durable_objects"]["bindings"].pop())
    project.write(".dev.vars", f"LUNORA_SCHEDULER_SECRET={SECRET}")
    project.write(".gitignore", "dist/")
    project.configure(lambda config: config.pop("vars"))
    assert run(project, "--fix", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert {
        "brought lunora/_generated/api.py up to date",
        "brought wrangler.jsonc up to date",
        "added LUNORA_ORIGIN_URL to .dev.vars",
        "added LUNORA_ADMIN_TOKEN to .dev.vars",
        "added .dev.vars to .gitignore",
    } <= set(document["fixed"])
    codes = {finding["code"]: finding["level"] for finding in document["findings"]}
    assert codes["generated-fresh"] == codes["wrangler-agent-binding-ok"] == codes["dev-vars-ignored"] == "pass"
    assert [code for code, level in codes.items() if level == "warn"] == ["origin-missing"], "a decision of the user's"
    settings = dotenv_values(project.folder / ".dev.vars")
    assert settings["LUNORA_SCHEDULER_SECRET"] == SECRET, "never touched"
    assert (project.folder / ".gitignore").read_text() == "dist/\n.dev.vars\n"
    assert run(project, "--fix", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["fixed"] == []


@pytest.mark.parametrize("example", [None, 'LUNORA_ORIGIN_URL="http://localhost:8787"\nMINE="kept"\n'])
def test_fix_makes_settings_for_local_runs(
    project: Project, example: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    project.remove(".dev.vars")
    if example is not None:
        project.write(".dev.vars.example", example)
    assert run(project, "--fix") == 0
    shown = capsys.readouterr().out
    assert "fixed: added LUNORA_SCHEDULER_SECRET to .dev.vars" in shown
    assert "[PASS] scheduler-secret-ok" in shown
    path = project.folder / ".dev.vars"
    assert path.stat().st_mode & 0o077 == 0
    settings = dotenv_values(path)
    assert settings.get("MINE") == (None if example is None else "kept")
    for name in ("LUNORA_SCHEDULER_SECRET", "LUNORA_ADMIN_TOKEN"):
        assert str(settings[name]) not in shown


def test_fix_leaves_a_weak_secret_to_whoever_chose_it(project: Project) -> None:
    text = f'LUNORA_ORIGIN_URL="http://localhost:8787"\nLUNORA_SCHEDULER_SECRET="weak"\nLUNORA_ADMIN_TOKEN="{TOKEN}"\n'
    project.write(".dev.vars", text)
    assert run(project, "--fix") == 1
    assert (project.folder / ".dev.vars").read_text() == text


def test_fix_vendors_what_is_pinned(project: Project) -> None:
    """Nothing is pinned any more, so nothing has to be downloaded, and what is there has to go."""
    project.write("requirements/worker.txt", "").write("pyproject.toml", '[project]\nname = "app"\nversion = "1"\n')
    assert run(project, "--fix") == 0
    assert [path.name for path in (project.folder / "python_modules").iterdir()] == [STAMP]


def test_a_repair_that_fails_is_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.folder / "python_modules" / STAMP).unlink()
    project.write("python_modules/mine.py", "")
    project.write(
        "python_modules/pydantic-2.13.0.dist-info/METADATA", "Metadata-Version: 2.4\nName: pydantic\nVersion: 2.13.0\n"
    )
    assert run(project, "--fix", "--format", "json") == 0
    shown = capsys.readouterr()
    assert "could not repair: [VENDORING_FAILED]" in shown.err
    assert json.loads(shown.out)["fixed"] == []
    assert (project.folder / "python_modules/mine.py").exists()


def test_a_repair_of_what_is_no_text_is_made_or_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.folder / ".dev.vars").write_bytes(b"LUNORA_ADMIN_TOKEN=hunter2\xff")
    (project.folder / ".gitignore").write_bytes(b"\xff")
    assert run(project, "--fix", "--format", "json") == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["fixed"] == ["added .dev.vars to .gitignore"]
    assert (project.folder / ".gitignore").read_bytes() == b"\xff\n.dev.vars\n"
    assert "hunter2" not in shown.out + shown.err


def test_a_folder_with_no_project_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--project", str(tmp_path)]) == 1
    assert "[FAIL] wrangler-missing" in capsys.readouterr().out
