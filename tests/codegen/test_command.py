from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lunorash.cli.main import main
from lunorash.codegen import generate
from tests.codegen.project import Project

FUNCTION = "from lunora._generated.server import mutation\n@mutation\ndef f(ctx) -> None: ...\n"


def command(project: Project, *arguments: str) -> int:
    return main(["codegen", "--project", str(project.folder), *arguments])


def test_it_writes_and_says_how_much(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write({"m.py": FUNCTION})
    assert command(project) == 0
    assert capsys.readouterr().out == "lunora codegen: 10 files changed in lunora/_generated\n"
    assert '"m:f"' in project.generated()["api.py"]
    assert command(project) == 0
    assert capsys.readouterr().out == "lunora codegen: no files changed in lunora/_generated\n"


def test_check_writes_nothing_and_shows_the_difference(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write({"m.py": FUNCTION}).generate()
    assert command(project, "--check") == 0
    assert capsys.readouterr().out == "lunora codegen: lunora/_generated is up to date\n"
    before = project.generated()
    project.write({"m.py": FUNCTION.replace("def f", "def g")})
    assert command(project, "--check") == 1
    shown = capsys.readouterr()
    assert shown.err == "lunora codegen: 2 files are stale; run lunora codegen\n"
    assert "--- a/lunora/_generated/api.py\n+++ b/lunora/_generated/api.py\n" in shown.out
    assert '-    "m:f": lunora.m.f,\n+    "m:g": lunora.m.g,\n' in shown.out
    assert project.generated() == before


def test_check_of_a_new_project_shows_whole_files(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write({"m.py": FUNCTION})
    assert command(project, "--check") == 1
    assert "--- /dev/null\n+++ b/lunora/_generated/__init__.py\n" in capsys.readouterr().out
    assert not (project.folder / "lunora/_generated").exists()


def test_problems_go_to_stderr_with_file_and_line(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write({"m.py": FUNCTION.replace("ctx", ""), "a.py": "("})
    assert command(project) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0].startswith("lunora/a.py:1: MODULE_SYNTAX_ERROR: ")
    assert lines[1].startswith("lunora/m.py:3: FUNCTION_NO_CONTEXT: ")
    assert lines[2:] == ["lunora codegen: 2 problems, nothing was written"]


def test_json_is_all_there_is_on_stdout(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write({"m.py": FUNCTION})
    assert command(project, "--format", "json", "--check") == 1
    stale = capsys.readouterr()
    assert json.loads(stale.out)["ok"] is False
    assert command(project, "--format", "json") == 0
    fresh = capsys.readouterr()
    assert json.loads(fresh.out) == {**json.loads(stale.out), "ok": True}
    assert json.loads(fresh.out)["changed"][0] == "lunora/_generated/__init__.py"
    project.write({"m.py": "def\n"})
    assert command(project, "--format", "json") == 1
    broken = json.loads(capsys.readouterr().out)
    assert (broken["ok"], broken["changed"]) == (False, [])
    (diagnostic,) = broken["diagnostics"]
    assert diagnostic.pop("message")
    assert diagnostic == {"code": "MODULE_SYNTAX_ERROR", "file": "lunora/m.py", "line": 1}
    assert stale.err == fresh.err == ""


def test_a_file_name_that_is_no_text_can_be_shown(project: Project, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    project.write({})
    (project.folder / "lunora").mkdir()
    try:
        Path(os.fsdecode(os.fsencode(project.folder) + b"/lunora/\xff.py")).touch()
    except OSError:
        pytest.skip("this file system takes text only")
    assert command(project) == 1
    assert b"lunora/\\xff.py:1: MODULE_NAME_INVALID" in capsysbinary.readouterr().err


def test_files_that_are_as_they_should_be_are_not_touched(project: Project) -> None:
    project.write({"m.py": FUNCTION}).generate()
    folder = project.folder / "lunora/_generated"
    for path in folder.iterdir():
        os.utime(path, ns=(1, 1))
    project.write({"n.py": FUNCTION.replace("mutation", "internal_mutation")}).generate()
    touched = {path.name for path in folder.iterdir() if path.stat().st_mtime_ns != 1}
    assert touched == {"internal.py", "registry.py"}


def test_what_vanished_from_the_app_vanishes_and_what_is_not_ours_stays(project: Project) -> None:
    project.write({"m.py": FUNCTION, "a/n.py": FUNCTION}).generate()
    folder = project.folder / "lunora/_generated"
    (folder / "old.py").write_bytes((folder / "app.py").read_bytes())
    (folder / "mine.py").write_text("# by hand\n")
    (project.folder / "lunora/a/n.py").unlink()
    generation = project.generate()
    assert [change.file for change in generation.changes if change.after is None] == ["lunora/_generated/old.py"]
    assert "+++ /dev/null" in generation.changes[1].diff()
    assert not (folder / "old.py").exists()
    assert (folder / "mine.py").exists()
    assert "n:f" not in "".join(project.generated().values())


def test_a_generated_file_that_somebody_changed_is_made_again(project: Project) -> None:
    project.write({"m.py": FUNCTION}).generate()
    path = project.folder / "lunora/_generated/api.py"
    whole = path.read_bytes()
    path.write_bytes(b"\xff no newline")
    (change,) = generate(project.folder).changes
    assert "\\ No newline at end of file" in change.diff()
    project.generate()
    assert path.read_bytes() == whole
