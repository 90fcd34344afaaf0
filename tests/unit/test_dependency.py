"""The dependency is added to pyproject.toml, and nothing else in the file changes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.cli.dependency import LIBRARY, Dependency, add_dependency, needed_dependency
from lunorash.errors import LunoraError


def _project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_bytes(text.encode())
    return folder


def _add(folder: Path, text: str) -> tuple[str, str]:
    """What became of it, and the file afterwards."""
    project = _project(folder, text)
    needed = needed_dependency(project)
    assert (project / "pyproject.toml").read_bytes() == text.encode(), "looking changes nothing"
    add_dependency(project, needed)
    return needed.outcome, (project / "pyproject.toml").read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '# mine\n[project]\nname = "x"   # its name\ndependencies = ["a>=1"] # why\n\n[x]\ny = 1\n',
            '# mine\n[project]\nname = "x"   # its name\ndependencies = ["a>=1", "lunorash"] # why\n\n[x]\ny = 1\n',
            id="on one line",
        ),
        pytest.param(
            '[project]\ndependencies = [\n    "a>=1",  # for this\n    # and for that\n    "b",\n]\nname = "x"\n',
            "[project]\ndependencies = [\n"
            '    "a>=1",  # for this\n    # and for that\n    "b",\n    "lunorash",\n]\nname = "x"\n',
            id="on lines of their own",
        ),
        pytest.param(
            '[project]\ndependencies = [\n  "a"\n]\n',
            '[project]\ndependencies = [\n  "a",\n  "lunorash"\n]\n',
            id="without a comma at the end",
        ),
        pytest.param(
            '[project]\nname = "x"\ndependencies = []\n',
            '[project]\nname = "x"\ndependencies = ["lunorash"]\n',
            id="none yet",
        ),
        pytest.param(
            '[project]\nname = "x"\n\n[tool.x]\n',
            '[project]\nname = "x"\ndependencies = ["lunorash"]\n\n[tool.x]\n',
            id="no list",
        ),
        pytest.param(
            '[project]\r\nname = "x"\r\ndependencies = [\r\n    "a",\r\n]\r\n',
            '[project]\r\nname = "x"\r\ndependencies = [\r\n    "a",\r\n    "lunorash",\r\n]\r\n',
            id="with the line ends of Windows",
        ),
        pytest.param(
            'project = { name = "x", dependencies = ["a"] }\n',
            'project = { name = "x", dependencies = ["a", "lunorash"] }\n',
            id="in an inline table",
        ),
        pytest.param(
            '[project]\nname = "x"\ndependencies = ["lunorash-extras", "not-lunorash"]\n',
            '[project]\nname = "x"\ndependencies = ["lunorash-extras", "not-lunorash", "lunorash"]\n',
            id="a name that only looks like it",
        ),
    ],
)
def test_it_is_added_and_the_layout_is_kept(tmp_path: Path, before: str, after: str) -> None:
    assert _add(tmp_path, before) == ("added", after)
    assert needed_dependency(tmp_path) == Dependency("present")
    assert LIBRARY in tomllib.loads(after)["project"]["dependencies"]


@pytest.mark.parametrize(
    "requirement",
    ["lunorash", "Lunorash>=0.1,<1", "lunorash[cli]", "lunorash ; python_version > '3.10'", "lunorash @ file:///x"],
)
def test_one_that_is_there_is_left_as_it_is(tmp_path: Path, requirement: str) -> None:
    text = f'[project]\nname = "x"\ndependencies = ["{requirement}"]\n'
    assert _add(tmp_path, text) == ("present", text)


def test_the_library_does_not_depend_on_itself(tmp_path: Path) -> None:
    text = '[project]\nname = "Lunorash"\n'
    assert _add(tmp_path, text) == ("present", text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.x]\ny = 1\n", r"has no \[project\]"),
        ('project = "x"\n', r"has no \[project\]"),
        ('[project]\nname = "x"\ndynamic = ["version", "dependencies"]\n', "dynamic"),
    ],
)
def test_where_it_cannot_be_added_it_says_so(tmp_path: Path, text: str, why: str) -> None:
    assert _add(tmp_path, text) == ("missing", text)
    note = needed_dependency(tmp_path).note
    assert 'add "lunorash" to the dependencies of your project by hand' in note
    assert re.search(why, note)


def test_without_a_pyproject_it_says_so(tmp_path: Path) -> None:
    needed = needed_dependency(tmp_path)
    add_dependency(tmp_path, needed)
    assert needed.outcome == "missing"
    assert "there is no pyproject.toml" in needed.note
    assert not list(tmp_path.iterdir())


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text('[project]\nname = "x"\n', encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").symlink_to(outside)
    needed = needed_dependency(project)
    assert (needed.outcome, needed.text) == ("missing", "")
    assert "symbolic link" in needed.note


def test_a_link_inside_the_project_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    (tmp_path / "pyproject.toml").symlink_to("real.toml")
    add_dependency(tmp_path, needed_dependency(tmp_path))
    assert (tmp_path / "pyproject.toml").is_symlink()
    assert "lunorash" in (tmp_path / "real.toml").read_text(encoding="utf-8")


def test_the_files_mode_is_kept_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    project = _project(tmp_path, '[project]\nname = "x"\n')
    (project / "pyproject.toml").chmod(0o640)
    add_dependency(project, needed_dependency(project))
    assert (project / "pyproject.toml").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in project.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize(
    "text",
    [
        "[project",
        "\xff\xfe",
        '[project]\nname = "x"\ndependencies = "lunorash"\n',
        '[project]\nname = "x"\ndependencies = ["!"]\n',
        '[project]\nname = "x"\ndependencies = [5]\ndynamic = 5\n',
        '[project]\nname = "x"\ndependencies = { a = 1 }\n',
    ],
)
def test_a_file_that_makes_no_sense_is_an_error_and_stays(tmp_path: Path, text: str) -> None:
    data = text.encode("latin-1")
    (tmp_path / "pyproject.toml").write_bytes(data)
    with pytest.raises(LunoraError, match=r"pyproject\.toml") as raised:
        needed_dependency(tmp_path)
    assert raised.value.code == "PYPROJECT_INVALID"
    assert (tmp_path / "pyproject.toml").read_bytes() == data


_NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
_ENDS = st.sampled_from(["", ",", "  ,"])
_COMMENTS = st.sampled_from(["", "  # why", " #"])


@given(
    names=st.lists(st.tuples(_NAMES, _COMMENTS), min_size=1, max_size=4),
    end=_ENDS,
    indent=st.sampled_from(["", " ", "    ", "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_every_layout_is_kept(
    tmp_path_factory: pytest.TempPathFactory, names: list[tuple[str, str]], end: str, indent: str, newline: str
) -> None:
    """Whatever the layout: the list gains one entry, and every line that was there is still there."""
    commas = [","] * (len(names) - 1) + [end]
    lines = [f'{indent}"{name}"{comma}{why}' for (name, why), comma in zip(names, commas, strict=True)]
    before = newline.join(["[project]", "dependencies = [", *lines, "]", 'name = "x" # its name', ""])
    _, after = _add(tmp_path_factory.mktemp("project"), before)
    wanted = list(dict.fromkeys(name for name, _ in names))
    declared = tomllib.loads(after)["project"]["dependencies"]
    assert declared == [name for name, _ in names] + ([] if LIBRARY in wanted else [LIBRARY])
    assert after.startswith(newline.join(["[project]", "dependencies = [", *lines[:-1]]))
    assert after.endswith(newline.join(["]", 'name = "x" # its name', ""]))
    for _, why in names:
        assert after.count(why.strip()) >= (1 if why else 0)
