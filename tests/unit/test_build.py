from __future__ import annotations

import ast
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

import lunorash
from lunorash.cli.build import STAGED, build
from lunorash.cli.main import main
from lunorash.errors import LunoraError

LIBRARY = Path(lunorash.__file__).parent


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an entry, a module beside it and an app."""
    folder = tmp_path / "project"
    _write(folder, {"src/worker.py": "entry", "src/extra/module.py": "extra", "lunora/functions.py": "functions"})
    return folder


def _staged(project: Path) -> dict[str, str]:
    """What is staged of the project's own sources, by path."""
    target = project / STAGED
    return {
        str(path.relative_to(target)): path.read_text(encoding="utf-8")
        for path in sorted(target.rglob("*"))
        if path.is_file() and path.relative_to(target).parts[0] != "lunorash" and path.parent.name != "_generated"
    }


def _generated(folder: Path) -> dict[str, str]:
    """The generated files below a folder, by name."""
    return {path.name: path.read_text(encoding="utf-8") for path in (folder / "lunora" / "_generated").glob("*.py")}


def test_sources_app_and_library_stand_side_by_side(project: Path) -> None:
    build(project)
    assert _staged(project) == {
        "worker.py": "entry",
        "extra/module.py": "extra",
        "lunora/functions.py": "functions",
    }
    assert (project / STAGED / "lunorash" / "scheduler" / "engine.py").read_bytes() == (
        LIBRARY / "scheduler" / "engine.py"
    ).read_bytes()


def test_everything_the_library_needs_is_staged_and_its_tooling_is_not(project: Path) -> None:
    build(project)
    staged = {
        str(path.relative_to(project / STAGED / "lunorash")) for path in (project / STAGED / "lunorash").rglob("*.py")
    }
    wanted = {
        str(path.relative_to(LIBRARY))
        for path in LIBRARY.rglob("*.py")
        if path.relative_to(LIBRARY).parts[0]
        not in {"cli", "codegen", "config", "doctor", "registry", "template", "testing"}
    }
    assert staged == wanted
    assert "scheduler/durable_object.py" in staged
    assert "cli/build.py" not in staged


def test_an_app_may_have_folders_of_the_same_names_as_the_tooling(project: Path) -> None:
    _write(project, {"src/cli/mine.py": "mine", "lunora/testing/mine.py": "mine"})
    build(project)
    assert {"cli/mine.py", "lunora/testing/mine.py"} <= set(_staged(project))


def test_a_library_in_the_projects_own_sources_is_the_one_that_is_staged(project: Path) -> None:
    _write(project, {"src/lunorash/__init__.py": "mine", "src/lunorash/cli/main.py": "tooling"})
    build(project)
    library = project / STAGED / "lunorash"
    assert {str(path.relative_to(library)) for path in library.rglob("*") if path.is_file()} == {"__init__.py"}


def test_compiled_files_are_left_out(project: Path) -> None:
    cache = project / "src" / "__pycache__"
    cache.mkdir()
    (cache / "worker.cpython-314.pyc").write_bytes(b"compiled")
    build(project)
    assert not list((project / STAGED).rglob("__pycache__"))


def test_files_that_are_no_python_are_staged_too(project: Path) -> None:
    (project / "src" / "page.html").write_bytes(b"\xff\x00")
    build(project)
    assert (project / STAGED / "page.html").read_bytes() == b"\xff\x00"


def test_a_project_without_an_app_folder_is_built(project: Path) -> None:
    (project / "lunora" / "functions.py").unlink()
    (project / "lunora").rmdir()
    build(project)
    assert "lunora/functions.py" not in _staged(project)


def test_what_did_not_change_is_not_touched(project: Path) -> None:
    """Wrangler watches the files: one that is written anew restarts the Worker."""
    first = build(project)
    assert first > 20
    before = {path: path.stat().st_mtime_ns for path in (project / STAGED).rglob("*") if path.is_file()}
    assert build(project) == 0
    _write(project, {"src/extra/module.py": "changed"})
    assert build(project) == 1
    after = {path: path.stat().st_mtime_ns for path in (project / STAGED).rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before[path]} <= {project / STAGED / "extra" / "module.py"}
    assert _staged(project)["extra/module.py"] == "changed"


def test_what_was_deleted_is_removed_with_its_empty_folders(project: Path) -> None:
    _write(project, {"src/a/b/c/deep.py": "deep", "src/a/keep.py": "keep"})
    build(project)
    (project / "src" / "a" / "b" / "c" / "deep.py").unlink()
    (project / "lunora" / "functions.py").unlink()
    assert build(project) == 2
    assert not (project / STAGED / "a" / "b").exists()
    assert _staged(project) == {"worker.py": "entry", "extra/module.py": "extra", "a/keep.py": "keep"}


def test_an_app_that_was_deleted_is_removed_as_a_whole(project: Path) -> None:
    build(project)
    shutil.rmtree(project / "lunora")
    build(project)
    assert not (project / STAGED / "lunora").exists()


def test_a_module_may_become_a_package(project: Path) -> None:
    _write(project, {"lunora/billing.py": "module"})
    build(project)
    (project / "lunora" / "billing.py").unlink()
    _write(project, {"lunora/billing/__init__.py": "package"})
    build(project)
    staged = _staged(project)
    assert staged["lunora/billing/__init__.py"] == "package"
    assert "lunora/billing.py" not in staged


# -- generated code ------------------------------------------------------------------------------------------

_PING = """
from lunora._generated.server import MutationContext, mutation

@mutation
def ping(ctx: MutationContext) -> None: ...
"""
_AGENTS = "from lunorash.server.agents import Agent\n\nclass Support(Agent): ...\n"
_WORKFLOWS = "from workers import WorkflowEntrypoint\n\nclass Onboarding(WorkflowEntrypoint): ...\n"


def test_the_code_generator_runs_first(project: Path) -> None:
    _write(project, {"lunora/pings.py": _PING})
    build(project)
    assert '"pings:ping": lunora.pings.ping' in _generated(project)["registry.py"]
    assert _generated(project / STAGED) == _generated(project)
    _write(project, {"lunora/pings.py": _PING.replace("ping", "pong")})
    build(project)
    assert '"pings:pong": lunora.pings.pong' in _generated(project / STAGED)["registry.py"]


def test_all_that_is_wrong_with_an_app_is_told_and_nothing_is_staged(project: Path) -> None:
    _write(project, {"lunora/one.py": "def (", "lunora/two.py": "def ("})
    with pytest.raises(LunoraError) as raised:
        build(project)
    assert raised.value.code == "CODEGEN_FAILED"
    assert "lunora/one.py:1" in raised.value.message
    assert "lunora/two.py:1" in raised.value.message
    assert not (project / STAGED).exists()
    assert not (project / "lunora" / "_generated").exists()


def _entry(source: str) -> tuple[set[str], set[str]]:
    """What a module imports or assigns, and what it exports."""
    module = ast.parse(source)
    names = {alias.name for node in module.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    values = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return names | set(values), set(ast.literal_eval(values["__all__"]))


def test_a_project_without_an_entry_gets_one(tmp_path: Path) -> None:
    _write(tmp_path, {"lunora/pings.py": _PING})
    build(tmp_path)
    source = _staged(tmp_path)["worker.py"]
    defined, exported = _entry(source)
    assert exported == {"Default", "SchedulerDO", "ShardDO"} <= defined
    assert ".shard(lambda env: env.SHARD)" in source
    assert ".scheduler(namespace=lambda env: env.SCHEDULER)" in source
    assert "from lunora._generated.app import define_app\n" in source
    assert not (tmp_path / "src").exists(), "it is staged, and not put among the project's own files"
    assert build(tmp_path) == 0


def test_an_entry_that_was_made_exports_agents_and_workflows(tmp_path: Path) -> None:
    _write(tmp_path, {"lunora/agents.py": _AGENTS, "lunora/workflows.py": _WORKFLOWS})
    build(tmp_path)
    source = _staged(tmp_path)["worker.py"]
    defined, exported = _entry(source)
    assert exported == {"Default", "Onboarding", "SchedulerDO", "ShardDO", "Support"} <= defined
    assert "from lunora.agents import Support\n" in source
    assert "from lunora.workflows import Onboarding\n" in source


def test_an_entry_of_the_projects_own_takes_the_place_of_the_one_that_was_made(tmp_path: Path) -> None:
    _write(tmp_path, {"lunora/pings.py": _PING})
    build(tmp_path)
    _write(tmp_path, {"src/worker.py": "entry"})
    assert build(tmp_path) == 1
    assert _staged(tmp_path)["worker.py"] == "entry"


def test_sources_beside_a_missing_entry_are_staged_too(tmp_path: Path) -> None:
    _write(tmp_path, {"lunora/pings.py": _PING, "src/extra.py": "extra"})
    build(tmp_path)
    assert {"extra.py", "worker.py"} <= set(_staged(tmp_path))


# -- further packages ----------------------------------------------------------------------------------------


def _include(project: Path, toml: str) -> None:
    (project / "pyproject.toml").write_text(toml, encoding="utf-8")


@pytest.mark.parametrize("path", ["../shared", "../shared/", "../shared/.", "../project/../shared"])
def test_further_packages_are_staged_under_their_own_name(project: Path, path: str) -> None:
    _write(project.parent, {"shared/__init__.py": "shared", "shared/sub/module.py": "module"})
    _include(project, f'[tool.lunora]\ninclude = ["{path}"]')
    build(project)
    assert {"shared/__init__.py", "shared/sub/module.py"} <= set(_staged(project))


def test_a_package_that_is_included_no_more_is_removed(project: Path) -> None:
    _write(project.parent, {"shared/__init__.py": "shared"})
    _include(project, '[tool.lunora]\ninclude = ["../shared"]')
    build(project)
    _include(project, "")
    assert build(project) == 1
    assert "shared/__init__.py" not in _staged(project)


def test_a_package_that_does_not_exist_is_named(project: Path) -> None:
    _include(project, '[tool.lunora]\ninclude = ["../nowhere"]')
    with pytest.raises(LunoraError, match=r"'\.\./nowhere', which is no folder") as raised:
        build(project)
    assert raised.value.code == "INCLUDE_NOT_FOUND"


@pytest.mark.parametrize("path", [".", "..", "../project"])
def test_a_folder_that_holds_the_project_itself_is_refused_and_nothing_is_staged(project: Path, path: str) -> None:
    _include(project, f'[tool.lunora]\ninclude = ["{path}"]')
    with pytest.raises(LunoraError, match="include"):
        build(project)
    assert not (project / STAGED).exists()
    assert not (project / ".lunora" / "project").exists()


@pytest.mark.parametrize("toml", ["[tool.lunora", '[tool.lunora]\ninclude = "shared"', "[tool.lunora]\ninclude = [5]"])
def test_settings_that_cannot_be_read_are_an_error_and_no_traceback(project: Path, toml: str) -> None:
    _write(project, {"s/__init__.py": "a folder called like the first letter"})
    _include(project, toml)
    with pytest.raises(LunoraError, match=r"include|pyproject"):
        build(project)


# -- errors, and the command ---------------------------------------------------------------------------------


def test_without_an_entry_and_an_app_the_error_says_where_to_run_it(tmp_path: Path) -> None:
    with pytest.raises(LunoraError, match=r"has neither src/worker\.py nor a package lunora/; run lunora in") as raised:
        build(tmp_path)
    assert str(tmp_path) in raised.value.message
    assert raised.value.code == "ENTRY_NOT_FOUND"
    assert not (tmp_path / STAGED).exists()


def test_the_command_says_how_much_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--project", str(project)]) == 0
    assert " files changed in " in capsys.readouterr().out
    assert main(["build", "--project", str(project)]) == 0
    assert "lunora build: no files changed in" in capsys.readouterr().out
    _write(project, {"src/worker.py": "changed"})
    assert main(["build", "--project", str(project)]) == 0
    assert "lunora build: 1 file changed in" in capsys.readouterr().out


def test_the_command_prints_an_error_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--project", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("lunora: ENTRY_NOT_FOUND: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["build", "--nonsense"], ["dev", "--port", "0"]])
def test_a_command_that_does_not_exist_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert "Usage: lunora" in printed.out + printed.err


@pytest.mark.parametrize("name", ["wrangler.jsonc", "wrangler.json"])
def test_packages_are_vendored_whatever_the_configuration_is_called(
    project: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without them the Worker would be deployed, and would not start."""
    _write(project, {name: "{}", "src/worker.py": ""})
    assert main(["build", "--project", str(project)]) == 1
    assert "NPM_PACKAGE_MISSING" in capsys.readouterr().err, "it got as far as looking for what vendors them"


def test_a_configuration_in_toml_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write(project, {"wrangler.toml": "", "src/worker.py": ""})
    assert main(["build", "--project", str(project)]) == 1
    assert "WRANGLER_TOML" in capsys.readouterr().err
