from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.errors import ConfigInvalidError, ConfigMissingError, PinsMissingError
from pytest_workers.runtime import Project


@pytest.fixture
def folder(tmp_path: Path, write_project: Callable[..., Path]) -> Path:
    return write_project(tmp_path / "project")


def test_the_folder_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigMissingError, match="does not exist"):
        Project.load(tmp_path / "nowhere")


def test_the_cache_is_where_the_environment_says(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("PYTEST_WORKERS_CACHE", raising=False)
    assert Project.load(folder).cache == tmp_path / "xdg" / "pytest-workers"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert Project.load(folder).cache == Path.home() / ".cache" / "pytest-workers"
    monkeypatch.setenv("PYTEST_WORKERS_CACHE", str(tmp_path / "mine"))
    assert Project.load(folder).cache == tmp_path / "mine"
    assert Project.load(folder, cache=tmp_path / "given").cache == tmp_path / "given"


def test_pins_are_found_in_this_order(folder: Path) -> None:
    assert Project.load(folder).pins is None
    (folder / "requirements-worker.txt").touch()
    assert Project.load(folder).pins == folder / "requirements-worker.txt"
    (folder / "requirements").mkdir()
    (folder / "requirements" / "worker.txt").touch()
    assert Project.load(folder).pins == folder / "requirements" / "worker.txt"
    (folder / "named.txt").touch()
    (folder / "pyproject.toml").write_text('[tool.pytest-workers]\npins = "named.txt"\n', encoding="utf-8")
    assert Project.load(folder).pins == folder / "named.txt"
    assert Project.load(folder, pins="requirements-worker.txt").pins == folder / "requirements-worker.txt"


def test_named_pins_do_not_exist(folder: Path) -> None:
    with pytest.raises(PinsMissingError, match=r"named\.txt") as caught:
        Project.load(folder, pins="named.txt")
    assert caught.value.code == "PINS_MISSING"


def test_dependencies_without_pins(folder: Path) -> None:
    pyproject = '[project]\nname = "x"\ndependencies = ["Pydantic>=2", "tzdata; sys_platform == \'win32\'"]\n'
    (folder / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    with pytest.raises(PinsMissingError, match="names pydantic, and"):
        Project.load(folder)
    # What another tool has vendored is taken as it is.
    (folder / "python_modules").mkdir()
    project = Project.load(folder)
    assert project.pins is None
    assert project.dependencies() == ("pydantic",)


def test_dependencies_that_the_workers_own_build_provides(folder: Path) -> None:
    pyproject = '[project]\nname = "x"\ndependencies = ["Some_Library[extra]>=2", "pydantic"]\n'
    provided = '[tool.pytest-workers]\nprovided = ["some.library"]\n'
    (folder / "pyproject.toml").write_text(pyproject + provided, encoding="utf-8")
    (folder / "requirements-worker.txt").touch()
    assert Project.load(folder).dependencies() == ("pydantic",)
    (folder / "requirements-worker.txt").unlink()
    with pytest.raises(PinsMissingError, match="names pydantic, and"):
        Project.load(folder)


@pytest.mark.parametrize(
    "content",
    [
        "[project",
        "[tool.pytest-workers]\npins = 3\n",
        "[tool.pytest-workers]\nprovided = 'x'\n",
        '[project]\ndependencies = ["!"]\n',
    ],
)
def test_pyproject_is_unreadable(folder: Path, content: str) -> None:
    (folder / "pyproject.toml").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigInvalidError, match=r"pyproject\.toml"):
        Project.load(folder)
