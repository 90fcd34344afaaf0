"""`lunora init`: a project from nothing, which overwrites nothing."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pyjson5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.cli.given_files import shipped_files
from lunorash.cli.init import create_project, next_lines, project_name
from lunorash.cli.local_sources import LocalSource, local_sources, sources_table
from lunorash.cli.main import main
from lunorash.errors import LunoraError

ROOT = Path(__file__).parents[2]


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


# -- what is made --------------------------------------------------------------------------------------------


def test_the_name_is_in_its_places_and_no_placeholder_is_left(tmp_path: Path) -> None:
    created = create_project(tmp_path / "app", "my-app")
    files = _files(tmp_path / "app")
    assert set(files) == set(created.files) == set(shipped_files("template"))
    assert not [name for name, content in files.items() if b"{{" in content]
    assert tomllib.loads(files["pyproject.toml"].decode())["project"]["name"] == "my-app"
    assert pyjson5.decode(files["wrangler.jsonc"].decode())["name"] == "my-app"
    assert json.loads(files["package.json"])["name"] == "my-app"
    assert files["README.md"].startswith(b"# my-app\n")


def test_the_folder_may_have_other_files(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "LICENSE").write_text("mine", encoding="utf-8")
    create_project(tmp_path, "my-app")
    assert (tmp_path / "LICENSE").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "src" / "worker.py").is_file()


@pytest.mark.parametrize("name", ["README.md", "src/worker.py", "lunora/reminders.py"])
def test_a_file_that_is_there_stops_it_before_anything_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(LunoraError, match=re.escape(f"has {name} already")) as raised:
        create_project(tmp_path, "my-app")
    assert raised.value.code == "PROJECT_FILES_EXIST"
    assert _files(tmp_path) == {name: b"mine"}


def test_a_link_to_nowhere_is_there_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").symlink_to("nowhere.toml")
    with pytest.raises(LunoraError) as raised:
        create_project(tmp_path, "my-app")
    assert raised.value.code == "PROJECT_FILES_EXIST"
    assert not (tmp_path / "nowhere.toml").exists()


def test_a_folder_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    project = tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (project / "tests").symlink_to(outside)
    with pytest.raises(LunoraError) as raised:
        create_project(project, "my-app")
    assert raised.value.code == "PATH_OUTSIDE_PROJECT"
    assert not list(outside.iterdir())
    assert [path.name for path in project.iterdir()] == ["tests"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "app").write_text("mine", encoding="utf-8")
    with pytest.raises(LunoraError, match="is no folder") as raised:
        create_project(tmp_path / "app", "app")
    assert raised.value.code == "PATH_BLOCKED"


# -- its name ------------------------------------------------------------------------------------------------


@given(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True))
def test_lower_case_letters_digits_and_dashes_make_a_name(name: str) -> None:
    if name not in {"httpx", "pytest"}:
        assert project_name(Path(), name) == name


@pytest.mark.parametrize(
    "name", ["", "-app", "app-", "App", "my_app", "my app", "a.b", "ä", "a" * 64, "app\n", "x/../y", "{{name}}", "٣"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(LunoraError, match="1 to 63 lower-case letters, digits and dashes") as raised:
        project_name(Path(), name)
    assert raised.value.code == "PROJECT_NAME_INVALID"


def test_a_name_of_a_package_that_it_depends_on_is_refused() -> None:
    """uv: a project that is named like a dependency depends on itself."""
    text = shipped_files("template")["pyproject.toml"].decode()
    toml = tomllib.loads(text)
    for requirement in [*toml["project"]["dependencies"], *toml["dependency-groups"]["dev"]]:
        with pytest.raises(LunoraError, match="depends on") as raised:
            project_name(Path(), re.split(r"[\[>=<]", requirement)[0])
        assert raised.value.code == "PROJECT_NAME_INVALID"


def test_the_folder_gives_the_name_and_an_option_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "My_App"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["init"]) == 1
    assert "or give --name" in capsys.readouterr().err
    assert not list(folder.iterdir())
    assert main(["init", "--name", "my-app", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "my-app"
    assert document["folder"] == str(folder)
    assert set(document["created"]) == set(_files(folder))
    assert not [line for line in document["next"] if line.startswith("cd ")], "it is here already"


def test_the_next_lines_enter_the_folder_whatever_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "it's; here"
    folder.mkdir()
    done = subprocess.run(["bash", "-c", f"{next_lines(folder)[0]} && pwd"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(folder)


def test_whoever_has_no_uv_is_told_how_to_get_it(tmp_path: Path) -> None:
    without = next_lines(tmp_path / "app", which=lambda _: None)
    assert next_lines(tmp_path / "app", which=lambda name: f"/bin/{name}") == [without[0], *without[4:]]
    assert ".lunora/tools/bin/pip install uv" in without[1:4]
    assert ".lunora/" in shipped_files("template")[".gitignore"].decode().splitlines()


# -- where the library comes from ----------------------------------------------------------------------------


def test_an_installation_from_an_index_leaves_no_trace() -> None:
    assert local_sources(lambda _: None) == ()
    assert local_sources({"lunorash": '{"url": "https://x.example/l.whl", "archive_info": {}}'}.get) == ()
    assert sources_table(()) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 5}', '{"url": "file:///x", "dir_info": 5}', "null"])
def test_a_note_that_makes_no_sense_is_no_reason_to_fail(text: str) -> None:
    assert local_sources({"lunorash": text}.get) == ()


def test_local_packages_are_told_to_uv(tmp_path: Path) -> None:
    notes = {
        "lunorash": '{"url": "file:///code/my%20lunora", "dir_info": {"editable": true}}',
        "pytest-workers": '{"url": "file:///wheels/pytest_workers-0.1.0-py3-none-any.whl", "archive_info": {}}',
    }
    sources = local_sources(notes.get)
    assert sources == (
        LocalSource("lunorash", Path("/code/my lunora"), editable=True),
        LocalSource("pytest-workers", Path("/wheels/pytest_workers-0.1.0-py3-none-any.whl"), editable=False),
    )
    create_project(tmp_path, "my-app", sources)
    toml = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))
    assert toml["tool"]["uv"]["sources"] == {
        "lunorash": {"path": "/code/my lunora", "editable": True},
        "pytest-workers": {"path": "/wheels/pytest_workers-0.1.0-py3-none-any.whl"},
    }


def test_this_installation_is_local_and_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "app")]) == 0
    assert f"lunorash is taken from {ROOT}, as this installation is" in capsys.readouterr().out


# -- one source of truth -------------------------------------------------------------------------------------


def test_a_new_project_has_the_pins_that_this_release_is_tested_with() -> None:
    template = shipped_files("template")
    assert template["requirements/worker.txt"] == (ROOT / "requirements" / "worker.txt").read_bytes(), (
        "run: cp requirements/worker.txt src/lunorash/template/requirements/worker.txt"
    )
    own = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    assert json.loads(template["package.json"])["devDependencies"] == own["devDependencies"]


def test_a_new_project_is_configured_as_the_example_is() -> None:
    own = pyjson5.decode((ROOT / "wrangler.jsonc").read_text(encoding="utf-8"))
    new = pyjson5.decode(shipped_files("template")["wrangler.jsonc"].decode())
    for key in ("main", "compatibility_date", "compatibility_flags", "build", "limits", "observability"):
        assert new[key] == own[key]


def test_a_new_projects_settings_are_those_of_the_example() -> None:
    own = (ROOT / ".dev.vars.example").read_text(encoding="utf-8")
    assert shipped_files("template")[".dev.vars.example"].decode() == own.replace("`make dev`", "`lunora dev`")


def test_git_ignores_nothing_of_a_new_project(tmp_path: Path) -> None:
    create_project(tmp_path, "my-app")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    listed = subprocess.run(["git", "ls-files"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert set(listed.stdout.split()) == set(shipped_files("template"))
