"""`lunora codegen` keeps the configuration in step, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lunorash.cli.main import main


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "lunora").mkdir()
    (tmp_path / "lunora" / "agents.py").write_text(
        "from typing import Any\n\nfrom lunorash.server import Agent, AgentContext\n\n\n"
        "class Support(Agent):\n    async def run(self, ctx: AgentContext, args: Any) -> None: ...\n",
        encoding="utf-8",
    )
    (tmp_path / "wrangler.jsonc").write_text('{\n  // mine\n  "name": "app"\n}\n', encoding="utf-8")
    return tmp_path


def test_a_run_brings_it_in_step_and_a_check_says_what_is_stale(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["codegen", "--project", str(project)]
    assert main([*arguments, "--check"]) == 1
    assert '+      { "name": "AGENT_SUPPORT", "class_name": "Support" }' in capsys.readouterr().out
    assert main(arguments) == 0
    assert "brought the wrangler configuration in step with the app" in capsys.readouterr().out
    assert main([*arguments, "--check"]) == 0
    assert "// mine" in (project / "wrangler.jsonc").read_text(encoding="utf-8")


def test_what_is_wrong_with_it_is_an_error_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "wrangler.jsonc").write_text('{\n  "name": "app",,\n}', encoding="utf-8")
    assert main(["codegen", "--project", str(project), "--format", "json"]) == 1
    printed = capsys.readouterr()
    assert "WRANGLER_UNREADABLE" in printed.out + printed.err
    assert "line 2 column 17" in printed.out + printed.err
    assert not (project / "lunora" / "_generated").exists()


def test_notices_are_told_and_no_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "src").mkdir()
    (project / "src" / "worker.py").write_text("Default = object\n", encoding="utf-8")
    assert main(["codegen", "--project", str(project), "--format", "json"]) == 0
    notices = json.loads(capsys.readouterr().out)["notices"]
    assert {notice["code"] for notice in notices} == {"CLASS_NOT_EXPORTED"}
    assert len(notices) == 3
