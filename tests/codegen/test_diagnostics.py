"""Each diagnostic: its code and line, and the same app put right."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lunorash.codegen import generate
from tests.codegen.project import Project

HEAD = "from lunora._generated.server import action, mutation, query\n"


@dataclass(frozen=True)
class Case:
    """An app with one thing wrong in it, and what puts it right."""

    code: str
    line: int
    bad: dict[str, str | bytes]
    good: dict[str, str | bytes]
    file: str = "m.py"


def module(bad: str, good: str, code: str, line: int, **others: str) -> Case:
    """A case of one module whose first line imports the decorators."""
    extra: dict[str, str | bytes] = {f"{name}.py": text for name, text in others.items()}
    return Case(code, line, {"m.py": HEAD + bad, **extra}, {"m.py": HEAD + good, **extra})


OK = "@mutation\ndef f(ctx, a: str) -> None: ...\n"

CASES = {
    "syntax": module("def f(:\n", OK, "MODULE_SYNTAX_ERROR", 2),
    "null byte": Case("MODULE_SYNTAX_ERROR", 2, {"m.py": b"a = 1\nb = '\0'\n"}, {"m.py": b"a = 1\n"}),
    "not UTF-8": Case("MODULE_UNDECODABLE", 3, {"m.py": b"# a\n# b\n# \xff\n"}, {"m.py": b"# a\n# b\n# \xc3\xbf\n"}),
    "unknown encoding": Case(
        "MODULE_UNDECODABLE", 1, {"m.py": b"# coding: nonsense\n"}, {"m.py": b"# coding: utf-8\n"}
    ),
    "an encoding of bytes": Case(
        "MODULE_UNDECODABLE", 1, {"m.py": b"# coding: hex\n00"}, {"m.py": b"# coding: ascii\n"}
    ),
    "too deep": Case(
        "MODULE_TOO_DEEP", 1, {"m.py": "a = " + "-" * 100_000 + "1\n"}, {"m.py": "a = " + "-" * 50 + "1\n"}
    ),
    "too large": Case("MODULE_TOO_LARGE", 1, {"m.py": b"#" * 2_000_001}, {"m.py": b"#" * 1_000_000}),
    "hyphen": Case("MODULE_NAME_INVALID", 1, {"my-app.py": ""}, {"my_app.py": ""}, "my-app.py"),
    "keyword": Case("MODULE_NAME_INVALID", 1, {"class/m.py": ""}, {"klass/m.py": ""}, "class/m.py"),
    "dot": Case("MODULE_NAME_INVALID", 1, {"a.b.py": ""}, {"a/b.py": ""}, "a.b.py"),
    "letters": Case("MODULE_NAME_INVALID", 1, {"größe.py": ""}, {"groesse.py": ""}, "größe.py"),
    "digit": Case("MODULE_NAME_INVALID", 1, {"1.py": ""}, {"_1.py": ""}, "1.py"),
    "two functions of a name": module(OK + OK, OK, "FUNCTION_PATH_DUPLICATE", 5),
    "bound again": module(OK + "f = None\n", OK + "g = None\n", "FUNCTION_PATH_DUPLICATE", 4),
    "bound again by a loop": module(
        OK + "for f in []: ...\n", OK + "x = [f for f in []]\n", "FUNCTION_PATH_DUPLICATE", 4
    ),
    "imported as well": module(
        "from other import f\n" + OK, "from other import g\n" + OK, "FUNCTION_PATH_DUPLICATE", 2
    ),
    "no parameter": module("@query\ndef f(): ...\n", "@query\ndef f(ctx): ...\n", "FUNCTION_NO_CONTEXT", 3),
    "only by keyword": module(
        "@query\ndef f(*, ctx: int): ...\n", "@query\ndef f(ctx, *, a: int): ...\n", "FUNCTION_NO_CONTEXT", 3
    ),
    "context of type str": module(
        "@query\ndef f(a: str): ...\n", "@query\ndef f(a, b: str): ...\n", "FUNCTION_NO_CONTEXT", 3
    ),
    "context with default": module(
        "@query\ndef f(ctx=None): ...\n", "@query\ndef f(ctx, /): ...\n", "FUNCTION_NO_CONTEXT", 3
    ),
    "no type": module("@query\ndef f(\n    ctx,\n    a,\n): ...\n", OK, "ARGUMENT_NOT_ANNOTATED", 5),
    "keyword without type": module("@query\ndef f(ctx, *, a=1): ...\n", OK, "ARGUMENT_NOT_ANNOTATED", 3),
    "by position": module("@query\ndef f(ctx, a: int, /): ...\n", OK, "ARGUMENT_KIND_UNSUPPORTED", 3),
    "*args": module("@query\ndef f(ctx, *args: int): ...\n", OK, "ARGUMENT_KIND_UNSUPPORTED", 3),
    "**kwargs": module("@query\ndef f(\n    ctx,\n    **kwargs: int): ...\n", OK, "ARGUMENT_KIND_UNSUPPORTED", 5),
    "private argument": module("@query\ndef f(ctx, _a: int): ...\n", OK, "ARGUMENT_NAME_RESERVED", 3),
    "argument of our own": module("@query\ndef f(ctx, Any: int): ...\n", OK, "ARGUMENT_NAME_RESERVED", 3),
    "called": module("@mutation()\ndef f(ctx): ...\n", "@mutation\ndef f(ctx): ...\n", "DECORATOR_NOT_STATIC", 2),
    "in a condition": module("if True:\n    @mutation\n    def f(ctx): ...\n", OK, "DECORATOR_NOT_STATIC", 3),
    "in a class": module("class C:\n    @mutation\n    def f(self): ...\n", OK, "DECORATOR_NOT_STATIC", 3),
    "in a function": module("def g():\n    @mutation\n    def f(ctx): ...\n", OK, "DECORATOR_NOT_STATIC", 3),
    "of a class": module("@mutation\nclass C: ...\n", OK, "DECORATOR_NOT_STATIC", 2),
    "as a value": module("def g(ctx): ...\nf = mutation(g)\n", OK, "DECORATOR_NOT_STATIC", 3),
    "chosen": module("@(mutation if 1 else str)\ndef f(ctx): ...\n", OK, "DECORATOR_NOT_STATIC", 2),
    "an alias": module("job = mutation\n@job\ndef f(ctx): ...\n", OK, "DECORATOR_NOT_STATIC", 2),
    "imported in a function": module(
        "def g():\n    from lunora._generated.server import action\n", OK, "DECORATOR_NOT_STATIC", 3
    ),
    "doubled": module("@mutation\n@query\ndef f(ctx): ...\n", OK, "DECORATOR_DOUBLED", 3),
    "not outermost": module(
        "@print\n@mutation\ndef f(ctx): ...\n", "@mutation\n@print\ndef f(ctx): ...\n", "DECORATOR_NOT_OUTERMOST", 2
    ),
    "rebound": module("def query(ctx): ...\n", "def ask(query: str): return query\n", "DECORATOR_REBOUND", 2),
    "star import": Case(
        "STAR_IMPORT", 1, {"m.py": "from lunora._generated.server import *\n"}, {"m.py": "from os import *\n"}
    ),
    "star import of a re-export": Case(
        "STAR_IMPORT", 1, {"m.py": "from .d import *\n", "d.py": HEAD}, {"m.py": "from .d import query\n", "d.py": HEAD}
    ),
    "private function": module("@query\ndef _f(ctx): ...\n", "def _f(ctx): ...\n", "NAME_RESERVED", 3),
    "private module": Case("NAME_RESERVED", 3, {"_m.py": HEAD + OK}, {"_m.py": HEAD, "m.py": HEAD + OK}, "_m.py"),
    "name of our own": module("@query\ndef NoArgs(ctx): ...\n", OK, "NAME_RESERVED", 3),
    "module and folder": Case(
        "NAME_RESERVED", 1, {"a.py": "", "a/b.py": ""}, {"a/__init__.py": "", "a/b.py": ""}, "a.py"
    ),
    "function and module": Case(
        "NAME_RESERVED",
        3,
        {"a/__init__.py": HEAD + OK, "a/f.py": ""},
        {"a/__init__.py": HEAD + OK, "a/g.py": ""},
        "a/__init__.py",
    ),
    "case": Case("NAME_RESERVED", 1, {"Mod.py": "", "mod.py": ""}, {"mod.py": ""}, "mod.py"),
    "root": Case("FUNCTION_IN_PACKAGE_ROOT", 3, {"__init__.py": HEAD + OK}, {"__init__.py": ""}, "__init__.py"),
    "long path": module(
        f"@query\ndef {'f' * 200}(ctx): ...\n", f"@query\ndef {'f' * 198}(ctx): ...\n", "FUNCTION_PATH_INVALID", 3
    ),
    "letters of a function": module(
        "@query\ndef größe(ctx): ...\n", "@query\ndef f(ctx, größe: int): ...\n", "FUNCTION_PATH_INVALID", 3
    ),
    "generator": module(
        "@query\ndef f(ctx):\n    yield 1\n", "@query\ndef f(ctx):\n    def g(): yield 1\n", "FUNCTION_IS_GENERATOR", 4
    ),
    "async generator": module("@query\nasync def f(ctx):\n    yield 1\n", OK, "FUNCTION_IS_GENERATOR", 4),
    "type variable": module(
        "from typing import TypeVar\nT = TypeVar('T')\n@query\ndef f(ctx, a: T): ...\n", OK, "FUNCTION_GENERIC", 5
    ),
    "unknown name": module(
        "@query\ndef f(ctx, a: Plan): ...\n",
        "class Plan: ...\n@query\ndef f(ctx, a: Plan): ...\n",
        "ANNOTATION_UNRESOLVED",
        3,
    ),
    "unknown name in text": module(
        "@query\ndef f(ctx, a: 'list[Plan]'): ...\n",
        "@query\ndef f(ctx, a: 'list[Plan]'): ...\nclass Plan: ...\n",
        "ANNOTATION_UNRESOLVED",
        3,
    ),
    "beyond the top": module(
        "from ...x import X\n@query\ndef f(ctx, a: X): ...\n",
        "from .x import X\n@query\ndef f(ctx, a: X): ...\n",
        "ANNOTATION_UNRESOLVED",
        4,
    ),
    "for type checkers only": module(
        "import typing as t\nif t.TYPE_CHECKING:\n    from os import sep\n@query\ndef f(ctx, a: sep): ...\n",
        "import typing as t\nif not t.TYPE_CHECKING:\n    from os import sep\n@query\ndef f(ctx, a: sep): ...\n",
        "ANNOTATION_NOT_AT_RUNTIME",
        6,
    ),
    "no type at all": module("@query\ndef f(ctx, a: 5): ...\n", OK, "ANNOTATION_UNSUPPORTED", 3),
    "call": module(
        "@query\ndef f(ctx, a: str()): ...\n",
        "from typing import Annotated\n@query\ndef f(ctx, a: Annotated[str, str()]): ...\n",
        "ANNOTATION_UNSUPPORTED",
        3,
    ),
    "text that is no type": module("@query\ndef f(ctx, a: 'no type'): ...\n", OK, "ANNOTATION_UNSUPPORTED", 3),
    "deep annotation": module(
        f"@query\ndef f(ctx, a: '{'list[' * 150}int{']' * 150}'): ...\n", OK, "ANNOTATION_UNSUPPORTED", 3
    ),
    "workflows": Case(
        "WORKFLOW_DUPLICATE",
        3,
        {"workflows.py": "from workers import WorkflowEntrypoint as W\nclass Trial(W): ...\nclass trial(Trial): ...\n"},
        {"workflows.py": "from workers import WorkflowEntrypoint\nclass Trial(WorkflowEntrypoint): ...\n"},
        "workflows.py",
    ),
    "agents": Case(
        "AGENT_DUPLICATE",
        3,
        {"agents.py": "import lunorash.server as s\nclass A(s.Agent): ...\nclass A(s.Agent): ...\n"},
        {"agents.py": "import lunorash.server as s\nclass A(s.Agent): ...\nclass B(s.Agent): ...\n"},
        "agents.py",
    ),
    "workflow and agent": Case(
        "WORKFLOW_AGENT_CLASH",
        2,
        {
            "workflows.py": "from workers import WorkflowEntrypoint\nclass Help(WorkflowEntrypoint): ...\n",
            "agents.py": "from lunorash.server import Agent\nclass Help(Agent): ...\n",
        },
        {
            "workflows.py": "from workers import WorkflowEntrypoint\nclass Help(WorkflowEntrypoint): ...\n",
            "agents.py": "from lunorash.server import Agent\nclass Ask(Agent): ...\n",
        },
        "workflows.py",
    ),
    "workflow in a condition": Case(
        "WORKFLOW_NOT_STATIC",
        3,
        {"workflows.py": "import workers\nif 1:\n    class W(workers.WorkflowEntrypoint): ...\n"},
        {"workflows.py": "import workers\nclass W(workers.WorkflowEntrypoint): ...\n"},
        "workflows.py",
    ),
    "name of an agent": Case(
        "AGENT_NAME_INVALID",
        2,
        {"agents.py": "from lunorash.server.agents import Agent\nclass Größe(Agent): ...\n"},
        {"agents.py": "from lunorash.server.agents import Agent\nclass _Größe(Agent): ...\n"},
        "agents.py",
    ),
    "migration": Case(
        "MIGRATION_NAME_INVALID",
        1,
        {"migrations/1_a.sql": ""},
        {"migrations/0001_a.sql": "", "migrations/readme.md": ""},
        "migrations/1_a.sql",
    ),
    "migration in a folder": Case(
        "MIGRATION_NAME_INVALID",
        1,
        {"migrations/a/0001_a.sql": ""},
        {"migrations/0001_a.sql": ""},
        "migrations/a/0001_a.sql",
    ),
    "migration 0": Case(
        "MIGRATION_NAME_INVALID",
        1,
        {"migrations/0000_a.sql": ""},
        {"migrations/0001_a.sql": ""},
        "migrations/0000_a.sql",
    ),
    "number twice": Case(
        "MIGRATION_NUMBER_DUPLICATE",
        1,
        {"migrations/0001_a.sql": "", "migrations/0001_b.sql": ""},
        {"migrations/0001_a.sql": "", "migrations/0002_b.sql": ""},
        "migrations/0001_b.sql",
    ),
    "gap": Case(
        "MIGRATION_NUMBER_GAP",
        1,
        {"migrations/0001_a.sql": "", "migrations/0003_b.sql": ""},
        {"migrations/0001_a.sql": "", "migrations/0002_b.sql": ""},
        "migrations/0003_b.sql",
    ),
    "SQL that is not UTF-8": Case(
        "MIGRATION_UNDECODABLE", 2, {"schema.sql": b"--\n\xff"}, {"schema.sql": b"--\n\xc3\xbf"}, "schema.sql"
    ),
    "SQL with a null byte": Case(
        "MIGRATION_UNDECODABLE", 2, {"schema.sql": b"--\n\0"}, {"schema.sql": b""}, "schema.sql"
    ),
    "no generated folder": Case("GENERATED_NOT_A_FOLDER", 1, {"_generated": ""}, {"m.py": ""}, "_generated"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_diagnostic_names_file_and_line(case: Case, project: Project) -> None:
    project.write(case.bad)
    assert project.problems() == [(case.code, case.file, case.line)]
    generation = generate(project.folder)
    assert generation.changes == ()
    assert len(str(generation.diagnostics[0])) < 500


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_app_put_right_is_accepted(case: Case, project: Project) -> None:
    project.write(case.good).generate()


def test_all_diagnostics_of_a_run_are_reported_and_nothing_is_written(project: Project) -> None:
    project.write(
        {
            "a.py": HEAD + "@query\ndef f(ctx, a, *b: int): ...\n@mutation()\ndef g(ctx): ...\n",
            "b.py": "def (:\n",
            "c.py": b"\xff",
            "d-e.py": "",
            "migrations/2.sql": "",
            "g.py": HEAD + OK,
        }
    )
    assert project.problems() == [
        ("ARGUMENT_KIND_UNSUPPORTED", "a.py", 3),
        ("ARGUMENT_NOT_ANNOTATED", "a.py", 3),
        ("DECORATOR_NOT_STATIC", "a.py", 4),
        ("MODULE_SYNTAX_ERROR", "b.py", 1),
        ("MODULE_UNDECODABLE", "c.py", 1),
        ("MODULE_NAME_INVALID", "d-e.py", 1),
        ("MIGRATION_NAME_INVALID", "migrations/2.sql", 1),
    ]
    assert not (project.folder / "lunora/_generated").exists()


def test_a_project_without_an_app_is_told_so(project: Project) -> None:
    assert project.problems() == [("APP_NOT_FOUND", "lunora", 1)]
