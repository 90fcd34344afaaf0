"""`lunora registry`: what is there is never overwritten, and nothing is written when anything is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import lunorash
from lunorash.cli.given_files import create_file
from lunorash.cli.main import main
from lunorash.cli.registry import ITEMS, add_item
from lunorash.errors import LunoraError

FILES = ["lunora/crons/__init__.py", "lunora/crons/jobs.py"]
PYPROJECT = '[project]\nname = "x"\ndependencies = [\n    # mine\n    "a",\n]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "lunora").mkdir(parents=True)
    (folder / "lunora" / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    return folder


def _files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["registry", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_starter_is_copied_and_the_dependency_added(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(capsys, "add", "crons", "--project", str(project), "--format", "json")
    assert status == 0
    assert json.loads(out) == {"item": "crons", "created": FILES, "skipped": [], "dependency": "added"}
    assert "created  lunora/crons/jobs.py" in err
    written = _files(project)
    assert set(written) == {*FILES, "lunora/__init__.py", "pyproject.toml"}
    assert '"heartbeat", {"hours": 1}, internal.crons.jobs.run' in written[FILES[0]]
    assert written["pyproject.toml"] == PYPROJECT.replace('"a",\n', '"a",\n    "lunorash",\n')


def test_a_second_time_nothing_changes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_item(project, "crons")
    before = _files(project)
    status, out, _ = _run(capsys, "add", "crons", "--project", str(project), "--format", "json")
    assert status == 0
    assert json.loads(out) == {"item": "crons", "created": [], "skipped": FILES, "dependency": "present"}
    assert _files(project) == before


def test_a_file_of_the_projects_own_is_kept_and_the_rest_created(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = project / "lunora" / "crons" / "jobs.py"
    own.parent.mkdir()
    own.write_text("# mine\n", encoding="utf-8")
    status, out, _ = _run(capsys, "add", "crons", "--project", str(project))
    assert status == 0
    assert "created  lunora/crons/__init__.py\n" in out
    assert "skipped  lunora/crons/jobs.py, which is there already\n" in out
    assert "added    lunorash to the dependencies in pyproject.toml" in out
    assert own.read_text(encoding="utf-8") == "# mine\n"


def test_a_file_that_is_a_link_to_nowhere_counts_as_there(project: Path) -> None:
    (project / "lunora" / "crons").mkdir()
    (project / "lunora" / "crons" / "jobs.py").symlink_to(project.parent / "nowhere.py")
    added = add_item(project, "crons")
    assert (added.created, added.skipped) == ((FILES[0],), (FILES[1],))
    assert not (project.parent / "nowhere.py").exists()


@pytest.mark.parametrize("module", ["lunora/crons.py", "lunora.py"])
def test_a_module_that_a_folder_would_hide_is_refused(project: Path, module: str) -> None:
    (project / module).write_text("# mine\n", encoding="utf-8")
    before = _files(project)
    with pytest.raises(LunoraError, match=r"Python would import the folder") as raised:
        add_item(project, "crons")
    assert raised.value.code == "MODULE_CLASH"
    assert module in raised.value.message
    assert _files(project) == before
    assert not (project / "lunora" / "crons").exists()


def test_the_way_out_of_the_clash_works(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "lunora" / "crons.py").write_text("# mine\n", encoding="utf-8")
    monkeypatch.chdir(project)
    status, _, err = _run(capsys, "add", "crons")
    assert status == 1
    command = err.split("run this again: ")[1]
    subprocess.run(command, shell=True, check=True)  # noqa: S602 - what the user is told to paste
    status, out, _ = _run(capsys, "add", "crons", "--format", "json")
    assert status == 0
    assert json.loads(out)["skipped"] == ["lunora/crons/__init__.py"]
    assert (project / "lunora" / "crons" / "__init__.py").read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.parametrize("linked", ["lunora", "lunora/crons"])
def test_a_folder_that_leads_out_of_the_project_is_not_followed(project: Path, linked: str) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    if linked == "lunora":
        (project / "lunora" / "__init__.py").unlink()
        (project / "lunora").rmdir()
    (project / linked).symlink_to(outside)
    with pytest.raises(LunoraError, match="symbolic link") as raised:
        add_item(project, "crons")
    assert raised.value.code == "PATH_OUTSIDE_PROJECT"
    assert not list(outside.iterdir())
    assert (project / "pyproject.toml").read_text(encoding="utf-8") == PYPROJECT


def test_a_folder_that_is_linked_inside_the_project_is_followed(project: Path) -> None:
    (project / "recurring").mkdir()
    (project / "lunora" / "crons").symlink_to("../recurring")
    add_item(project, "crons")
    assert (project / "recurring" / "jobs.py").is_file()


def test_a_file_where_a_folder_has_to_be_is_refused(project: Path) -> None:
    (project / "lunora" / "crons").write_text("in the way", encoding="utf-8")
    with pytest.raises(LunoraError, match=r"lunora/crons is in the way") as raised:
        add_item(project, "crons")
    assert raised.value.code == "PATH_BLOCKED"
    assert (project / "pyproject.toml").read_text(encoding="utf-8") == PYPROJECT


def test_a_link_to_nowhere_where_a_folder_has_to_be_is_refused(project: Path) -> None:
    (project / "lunora" / "crons").symlink_to("nowhere")
    with pytest.raises(LunoraError) as raised:
        add_item(project, "crons")
    assert raised.value.code == "PATH_BLOCKED"


def test_a_pyproject_that_makes_no_sense_stops_everything(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project", encoding="utf-8")
    with pytest.raises(LunoraError) as raised:
        add_item(project, "crons")
    assert raised.value.code == "PYPROJECT_INVALID"
    assert not (project / "lunora" / "crons").exists()


def test_a_project_without_a_pyproject_is_told_what_to_add(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(capsys, "add", "crons", "--project", str(tmp_path), "--format", "json")
    document = json.loads(out)
    assert (status, document["dependency"], document["created"]) == (0, "missing", FILES)
    assert 'add "lunorash"' in document["note"]
    assert document["note"] in err


def test_an_unknown_item_is_refused_with_what_there_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(capsys, "add", "cr\x1bon", "--project", str(project), "--format", "json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (1, "REGISTRY_ITEM_NOT_FOUND")
    assert error["message"].endswith("there is crons")
    assert "\x1b" not in err + error["message"]


def test_a_project_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(LunoraError) as raised:
        add_item(tmp_path / "nowhere", "crons")
    assert raised.value.code == "PROJECT_NOT_FOUND"
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_an_error_with_the_reason(project: Path) -> None:
    with pytest.raises(LunoraError, match="cannot be written") as raised:
        create_file(project, "x" * 300, b"")
    assert raised.value.code == "FILE_NOT_WRITTEN"


def test_the_list_names_every_item_with_its_files(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = _run(capsys, "list", "--format", "json")
    items = json.loads(out)["items"]
    assert status == 0
    assert [item["name"] for item in items] == list(ITEMS) == ["crons"]
    assert items[0]["files"] == FILES
    assert items[0]["description"]
    status, out, _ = _run(capsys, "list")
    assert out.startswith("crons  ")
    assert main(["registry"]) == 2


def test_every_item_has_files_and_all_files_belong_to_an_item() -> None:
    folders = {path.name for path in (Path(lunorash.__file__).parent / "registry").iterdir()}
    assert folders == set(ITEMS)
