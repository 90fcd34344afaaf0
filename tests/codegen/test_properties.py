"""Random apps: what is generated compiles, is formatted, and lists exactly what the app has."""

from __future__ import annotations

import ast
import itertools
import keyword
import shutil
import string
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.codegen import generate
from lunorash.codegen.discovery import RESERVED
from lunorash.codegen.literals import literal, long_text
from tests.codegen.project import Project

ROOT: Final = Path(__file__).parents[2]
KINDS: Final = ("query", "mutation", "action", "internal_query", "internal_mutation", "internal_action")
TAKEN: Final = {*KINDS, *RESERVED, "Any", "NotRequired", "builtins", "Literal", "Model", "dt", "t", "ctx"}

App = dict[tuple[str, ...], dict[str, tuple[str, str]]]

letters = st.sampled_from(string.ascii_letters)
names = st.builds(
    lambda first, rest: first + rest, letters, st.text(string.ascii_letters + string.digits + "_", max_size=9)
).filter(lambda name: not keyword.iskeyword(name) and name not in TAKEN)
long_names = st.builds(lambda name, size: name * size, names, st.sampled_from((1, 1, 1, 4, 8)))
texts = st.text(max_size=30)
types: st.SearchStrategy[str] = st.recursive(
    st.sampled_from(("int", "str", "bool", "dt.date", "Model", "'Model'", "None"))
    | st.lists(texts | st.integers() | st.booleans() | st.binary(max_size=5), min_size=1, max_size=6).map(
        lambda values: f"Literal[{', '.join(repr(value) for value in values)}]"
    ),
    lambda inner: (
        st.builds("list[{}]".format, inner)
        | st.builds("dict[str, {}]".format, inner)
        | st.builds("tuple[{}, {}]".format, inner, inner)
        | st.builds("t.Optional[{}]".format, inner)
    ),
    max_leaves=8,
)


@st.composite
def functions(draw: st.DrawFn) -> tuple[str, str]:
    """A function's decorator, and its parameters."""
    parameters = draw(st.dictionaries(names, st.tuples(types, st.booleans()), max_size=4))
    written = "".join(f", {name}: {kind}{' = ...' if default else ''}" for name, (kind, default) in parameters.items())
    return draw(st.sampled_from(KINDS)), f"ctx, *{written}" if parameters else "ctx"


apps = st.dictionaries(
    st.lists(names, min_size=1, max_size=3).map(tuple),
    st.dictionaries(long_names, functions(), min_size=1, max_size=4),
    max_size=4,
)


def written(app: App) -> dict[str, str | bytes]:
    """The files of an app, without what could not exist beside each other."""
    files: dict[str, str | bytes] = {}
    folded: set[str] = set()
    for path, contents in app.items():
        name = "/".join(path).lower()
        if any(name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/") for other in folded):
            continue
        folded.add(name)
        code = f"from lunora._generated.server import {', '.join(KINDS)}\nimport datetime as dt\nimport typing as t\n"
        code += "from typing import Literal\nclass Model: ...\n"
        for function, (decorator, parameters) in contents.items():
            code += f"@{decorator}\ndef {function}({parameters}) -> None: ...\n"
        files["/".join(path) + ".py"] = code.encode()
    return files


@given(apps)
@settings(max_examples=60, deadline=None)
def test_what_is_generated_compiles_and_is_complete(app: App) -> None:
    files = written(app)
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder)).write({"empty.py": "", **files})
        project.generate()
        generated = project.generated()
        for name, text in generated.items():
            compile(text, name, "exec")
        modules = [name.removesuffix(".py").split("/") for name in files]
        expected = {f"{'.'.join(path)}:{function}" for path in modules for function in app[tuple(path)]}
        assert set(registered(generated["registry.py"])) == expected
        assert generate(project.folder).changes == ()


def test_what_is_generated_is_formatted(tmp_path: Path) -> None:
    numbers = itertools.count()

    @given(apps)
    @settings(max_examples=60, deadline=None, database=None)
    def collect(app: App) -> None:
        Project(tmp_path / f"{next(numbers)}").write({"empty.py": "", **written(app)}).generate()

    collect()
    for path in tmp_path.glob("*/lunora/*"):
        if path.name != "_generated":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for command in (["format", "--diff"], ["check"]):
        answer = ruff(command, tmp_path)
        assert answer.returncode == 0, answer.stdout


def ruff(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    whole = [
        sys.executable,
        "-m",
        "ruff",
        *command,
        "--no-cache",
        "--config",
        str(ROOT / "pyproject.toml"),
        str(folder),
    ]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


def registered(registry: str) -> list[str]:
    """The paths that a registry lists, read off its text: importing it would need the app."""
    for node in ast.parse(registry).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "FUNCTIONS":
            assert isinstance(node.value, ast.Dict)
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise AssertionError("there are no FUNCTIONS")


@given(texts | st.binary(max_size=30) | st.integers())
def test_a_literal_means_what_it_is_made_of(value: str | bytes | int) -> None:
    text = literal(value)
    assert ast.literal_eval(text) == value
    assert text.isascii()


@given(
    st.text(max_size=400) | st.lists(st.sampled_from(("a", '"', "'", "\\", "\n", " ", "ö")), max_size=900).map("".join)
)
def test_a_long_text_means_what_it_is_made_of(value: str) -> None:
    lines = long_text("x = ", value)
    (statement,) = ast.parse("\n".join(lines)).body
    assert isinstance(statement, ast.Assign)
    assert ast.literal_eval(statement.value) == value
    assert max(len(line) for line in lines) <= 120


@pytest.mark.parametrize("quotes", ['"' * 60, "'" * 200, "\"'" * 100, "x" * 300, "ä" * 70, "line\n" * 30, " " * 250])
def test_a_long_text_is_formatted_as_ruff_would(quotes: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n".join(long_text("x = ", quotes)) + "\n", encoding="utf-8")
    answer = ruff(["format", "--diff"], tmp_path)
    assert answer.returncode == 0, answer.stdout
