"""The examples in docstrings are true, and every module can be imported by itself."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import lunorash

_ROOT = Path(lunorash.__file__).parent
_SOURCE = _ROOT.parent

ONLY_IN_A_WORKER: Final = {
    "lunorash.scheduler.durable_object",
    "lunorash.scheduler.durable_store",
    "lunorash.scheduler.fetch_transport",
    "lunorash.scheduler.web_sockets",
    "lunorash.server.agents",
    "lunorash.server.entrypoint",
    "lunorash.shard.durable_object",
}
"""The modules that need the platform; all others run anywhere."""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(_SOURCE).with_suffix("").parts).removesuffix(".__init__")


_GIVEN: Final = {"registry", "template"}
"""Files that commands copy into projects: no modules of this package, and tested where they are copied to."""

_MODULES: Final = {
    _module(path): path for path in sorted(_ROOT.rglob("*.py")) if path.relative_to(_ROOT).parts[0] not in _GIVEN
}
_ANYWHERE: Final = sorted(set(_MODULES) - ONLY_IN_A_WORKER)


def _imports(path: Path) -> set[str]:
    """The packages that a module imports as soon as it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_exactly_these_modules_need_the_platform() -> None:
    platform = {"js", "pyodide", "workers"}
    assert {name for name, path in _MODULES.items() if _imports(path) & platform} == ONLY_IN_A_WORKER


@pytest.mark.parametrize("name", _ANYWHERE)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(len(test.examples) for name in _ANYWHERE for test in finder.find(importlib.import_module(name)))
    assert examples >= 10


_IMPORT_EACH_FIRST: Final = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == "lunorash"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name, error)
"""


def test_every_module_can_be_the_first_to_be_imported() -> None:
    """None leans on another having been imported before."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_EACH_FIRST, *_ANYWHERE],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={"PYTHONPATH": str(_SOURCE)},
    )
    assert done.stdout == ""


def test_every_public_name_is_documented_and_exists() -> None:
    for name in _ANYWHERE:
        module = importlib.import_module(name)
        assert module.__doc__ or name.count(".") < 2, name
        for public in getattr(module, "__all__", ()):
            if (name, public) == ("lunorash.scheduler", "SchedulerDO"):
                continue  # only inside a Worker
            assert hasattr(module, public), f"{name} promises {public}"


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = importlib.import_module("lunorash.scheduler").Nonsense
