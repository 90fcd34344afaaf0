"""Sources that are odd, huge or made to hurt."""

from __future__ import annotations

import os
import time

import pytest

from lunorash.codegen import generate
from tests.codegen.project import Project

HEAD = "from lunora._generated.server import mutation, query\n"


def paths(project: Project) -> list[str]:
    return [function.path for function in project.generate().functions]


@pytest.mark.parametrize(
    "expression",
    [
        "+".join(["1"] * 20_000),
        "a" + ".b" * 20_000,
        "f" + "()" * 20_000,
        "[" * 150 + "]" * 150,
        "not " * 20_000 + "1",
        "lambda: " * 5_000 + "1",
        "(" * 100_000,
        "{1:" * 150 + "2" + "}" * 150,
    ],
    ids=["sum", "attributes", "calls", "lists", "not", "lambdas", "parentheses", "dicts"],
)
def test_a_deep_expression_is_read_or_refused_and_never_breaks_the_generator(expression: str, project: Project) -> None:
    project.write({"m.py": f"{HEAD}x = {expression}\n@query\ndef f(ctx): ...\n"})
    generation = generate(project.folder)
    assert [each.code for each in generation.diagnostics] in ([], ["MODULE_TOO_DEEP"], ["MODULE_SYNTAX_ERROR"])
    assert generation.diagnostics or [function.path for function in generation.functions] == ["m:f"]


def test_deep_blocks_are_refused_as_python_does(project: Project) -> None:
    text = HEAD + "".join(f"{' ' * depth}if 1:\n" for depth in range(200)) + " " * 200 + "pass\n"
    project.write({"m.py": text})
    assert [code for code, _, _ in project.problems()] == ["MODULE_SYNTAX_ERROR"]


def test_a_union_may_be_long(project: Project) -> None:
    names = [f"C{number}" for number in range(2_000)]
    classes = "".join(f"class {name}: ...\n" for name in names)
    project.write({"m.py": f"{HEAD}{classes}@query\ndef f(ctx, a: {' | '.join(names)}): ...\n"}).generate()
    compile(project.generated()["api.py"], "api.py", "exec")


def test_a_large_app_is_quick(project: Project) -> None:
    body = "".join(
        f"@mutation\nasync def f{number}(ctx, a{number}: int, b: str = '') -> None:\n    x = [i for i in range(10)]\n"
        for number in range(100)
    )
    project.write({f"m{number}.py": HEAD + body for number in range(20)}).generate()
    began = time.process_time()  # the machine may be busy with other things
    assert generate(project.folder).changes == ()
    assert time.process_time() - began < 5


def test_modules_may_import_from_each_other_in_circles(project: Project) -> None:
    project.write(
        {
            "a.py": "from .b import x, mutation\n@mutation\ndef f(ctx, a: x): ...\n",
            "b.py": "from .a import x, mutation\n@mutation\ndef f(ctx, a: x): ...\n",
        }
    )
    assert paths(project) == []


def test_classes_may_derive_from_each_other_in_circles(project: Project) -> None:
    code = "class A(B): ...\nclass B(A): ...\n@mutation\ndef f(ctx, a: A): ...\n"
    project.write({"m.py": HEAD + code, "workflows.py": "class A(B): ...\nclass B(A): ...\n"})
    assert paths(project) == ["m:f"]


def test_decorators_are_followed_through_aliases_and_modules_of_the_app(project: Project) -> None:
    project.write(
        {
            "deco.py": "from ._generated import server as s\nfrom ._generated.server import mutation as change\n",
            "a/b.py": "from ..deco import change as c, s\n@c\ndef f(ctx): ...\n@s.internal_query\ndef g(ctx): ...\n",
            "c.py": "import lunora._generated.server\n@lunora._generated.server.action\ndef f(ctx): ...\n",
            "d.py": "from lunora import deco\n@deco.s.query\ndef f(ctx): ...\n",
            "e.py": "from other import mutation\n@mutation\ndef f(ctx): ...\n",
        }
    )
    found = {function.path: (function.kind, function.internal) for function in project.generate().functions}
    assert found == {
        "a.b:f": ("mutation", False),
        "a.b:g": ("query", True),
        "c:f": ("action", False),
        "d:f": ("query", False),
    }


def test_a_parameter_that_is_called_like_a_decorator_is_none(project: Project) -> None:
    code = """
    @mutation
    def f(ctx, query: str) -> None:
        print(query, [query for query in ()], lambda query: query)

    class C:
        query = 1
        x = query
    """
    project.write({"m.py": HEAD})
    (project.folder / "lunora/m.py").write_text(HEAD + "\n".join(line[4:] for line in code.splitlines()))
    assert paths(project) == ["m:f"]


def test_a_module_in_an_old_encoding_is_read(project: Project) -> None:
    text = f"# coding: latin-1\nfrom typing import Literal\n{HEAD}@query\ndef f(ctx, a: Literal['ö']): ...\n"
    project.write({"m.py": text.encode("latin-1")})
    assert paths(project) == ["m:f"]
    assert 'Literal["\\xf6"]' in project.generated()["api.py"]


def test_symbolic_links(project: Project) -> None:
    project.write({"m.py": HEAD + "@query\ndef f(ctx): ...\n", "folder/n.py": ""})
    folder = project.folder / "lunora"
    (folder / "same.py").symlink_to("m.py")
    assert paths(project) == ["m:f", "same:f"]
    (folder / "broken.py").symlink_to("nothing.py")
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "up").symlink_to("..")
    assert project.problems() == [
        ("MODULE_UNREADABLE", "broken.py", 1),
        ("MODULE_UNREADABLE", "circle.py", 1),
        ("MODULE_SYMLINK", "up", 1),
    ]


def test_a_pipe_is_not_waited_for(project: Project) -> None:
    project.write({"a.py": ""})
    os.mkfifo(project.folder / "lunora/m.py")
    os.mkfifo(project.folder / "lunora/schema.sql")
    assert project.problems() == [("MODULE_UNREADABLE", "m.py", 1), ("MIGRATION_UNREADABLE", "schema.sql", 1)]


def test_hidden_files_and_caches_are_no_modules(project: Project) -> None:
    project.write({".hidden.py": "(", ".ruff_cache/x-y.py": "(", "__pycache__/a-b.py": "(", "_generated/old.py": "("})
    assert paths(project) == []


def test_names_that_mean_different_things_get_different_names(project: Project) -> None:
    use = "@mutation\ndef f(ctx, a: Plan, b: int): ...\n"
    project.write(
        {
            "a.py": f"{HEAD}class Plan: ...\n{use}",
            "b.py": f"{HEAD}class Plan: ...\n{use}",
            "c.py": f"{HEAD}from datetime import date\n@mutation\ndef f(ctx, date: date, str: str): ...\n",
            "d.py": f"{HEAD}import datetime\n@mutation\ndef f(ctx, datetime: datetime.datetime): ...\n",
            "e.py": f"{HEAD}class FunctionReference: ...\n@mutation\ndef f(ctx, a: FunctionReference): ...\n",
        }
    ).generate()
    text = project.generated()["api.py"]
    assert "    from ..a import Plan\n" in text
    assert "    from ..b import Plan as BPlan\n" in text
    assert "    a: Plan\n    b: int\n" in text
    assert "    a: BPlan\n    b: int\n" in text
    assert "    date: datetime_date\n    str: builtins.str\n" in text
    assert "    import datetime as datetime_datetime\n" in text
    assert "    datetime: datetime_datetime.datetime\n" in text
    assert "    a: EFunctionReference\n" in text


def test_old_spellings_of_types_become_new_ones(project: Project) -> None:
    code = (
        "@query\ndef f(ctx, a: t.Optional[t.List['int']], b: t.Union[t.Dict[str, int], str, None], c: t.Tuple[()]): ..."
    )
    project.write({"m.py": f"{HEAD}import typing as t\n{code}\n"}).generate()
    text = project.generated()["api.py"]
    assert "    a: list[int] | None\n    b: dict[str, int] | str | None\n    c: tuple[()]\n" in text


def test_one_overload_for_arguments_that_are_the_same(project: Project) -> None:
    code = "".join(f"@mutation\ndef f{number}(ctx, user_id: str): ...\n" for number in range(20))
    project.write({"m.py": HEAD + code}).generate()
    assert project.generated()["scheduler.py"].count("@overload") == 2 * 3
