"""The queues of an app, found by the calls of `create_queue_workpool`."""

from __future__ import annotations

from pathlib import Path

import pytest

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.modules import read_modules
from lunorash.codegen.names import Names
from lunorash.codegen.queues import AppQueue, find_queues
from tests.codegen.project import Project

IMPORT = "from lunorash.scheduler import create_queue_workpool\n"


def find(project: Project, **modules: str) -> tuple[list[AppQueue], list[tuple[str, str, int]]]:
    """The queues of an app, and what is wrong with them."""
    project.write({f"{name.replace('__', '/')}.py": text for name, text in modules.items()})
    diagnostics = Diagnostics()
    found = read_modules(Path(project.folder), diagnostics)
    queues = find_queues(found, Names(found), diagnostics)
    return queues, [(each.code, each.file, each.line) for each in diagnostics.sorted()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (IMPORT + "pool = create_queue_workpool(queue=env.IMPORTS)\n", 2),
        (IMPORT + "async def f(ctx):\n    await create_queue_workpool(queue=ctx.env.IMPORTS).enqueue('m:f')\n", 3),
        (IMPORT + "class A:\n    def f(self):\n        return create_queue_workpool(queue=self.env.IMPORTS)\n", 4),
        (IMPORT + "def f(ctx):\n    env = ctx.env\n    return lambda: create_queue_workpool(queue=env.IMPORTS)\n", 4),
        (
            IMPORT
            + "def f(ctx):\n    return create_queue_workpool(\n        catalog=None, queue=ctx.env.IMPORTS\n    )\n",
            3,
        ),
        ("from lunorash.scheduler import create_queue_workpool as make\ndef f(env): make(queue=env.IMPORTS)\n", 2),
        ("import lunorash.scheduler\nx = lunorash.scheduler.create_queue_workpool(queue=env.IMPORTS)\n", 2),
        ("from lunorash import scheduler as s\nx = s.create_queue_workpool(queue=env.IMPORTS)\n", 2),
        ("from lunorash.scheduler.queue_workpool import create_queue_workpool as c\nc(queue=env.IMPORTS)\n", 2),
        (IMPORT + "x = [create_queue_workpool(queue=env.IMPORTS) for env in all]\n", 2),
    ],
)
def test_a_queue_is_found_wherever_a_workpool_of_it_is_created(project: Project, text: str, line: int) -> None:
    assert find(project, m=text) == ([AppQueue("IMPORTS", "imports", "lunora/m.py", line)], [])


def test_the_function_is_followed_through_the_modules_of_the_app(project: Project) -> None:
    queues, problems = find(
        project,
        pools=IMPORT,
        jobs__more="from lunora.pools import create_queue_workpool as c\ndef f(ctx):\n    c(queue=ctx.env.IMPORTS)\n",
    )
    assert (queues, problems) == ([AppQueue("IMPORTS", "imports", "lunora/jobs/more.py", 3)], [])


@pytest.mark.parametrize(
    "text",
    [
        IMPORT,
        IMPORT + "def f(queue): return create_queue_workpool(queue=queue)\n",
        IMPORT + "def f(ctx, name): return create_queue_workpool(queue=getattr(ctx.env, name))\n",
        IMPORT + "def f(ctx, name): return create_queue_workpool(queue=ctx.env[name])\n",
        IMPORT + "def f(ctx): return create_queue_workpool(queue=ctx.queues.IMPORTS)\n",
        IMPORT + "def f(ctx): return create_queue_workpool(queue=ctx.env.a.IMPORTS)\n",
        IMPORT + "def f(ctx): return create_queue_workpool(queue=ctx.environment().IMPORTS)\n",
        IMPORT + "def f(ctx): return create_queue_workpool(queue=env)\n",
        IMPORT + "def f(ctx, options): return create_queue_workpool(**options)\n",
        IMPORT + "def f(ctx): return create_queue_workpool(catalog=ctx.env.IMPORTS)\n",
        IMPORT + "def f(ctx, create_queue_workpool): create_queue_workpool(queue=ctx.env.IMPORTS)\n",
        IMPORT + "def f(ctx): return len(create_queue_workpool, queue=ctx.env.IMPORTS)\n",
        "def create_queue_workpool(queue): ...\nx = create_queue_workpool(queue=env.IMPORTS)\n",
        "from elsewhere import create_queue_workpool\nx = create_queue_workpool(queue=env.IMPORTS)\n",
        "x = create_queue_workpool(queue=env.IMPORTS)\n",
    ],
)
def test_what_is_wired_by_hand_or_none_of_ours_is_no_error(project: Project, text: str) -> None:
    assert find(project, m=text) == ([], [])


def test_each_queue_is_named_once_and_in_order(project: Project) -> None:
    queues, problems = find(
        project,
        b=IMPORT
        + "x = create_queue_workpool(queue=env.NIGHTLY_EXPORTS)\ny = create_queue_workpool(queue=env.IMPORTS)\n",
        c=IMPORT + "x = create_queue_workpool(queue=env.IMPORTS)\n",
        a=IMPORT + "def f(ctx):\n    create_queue_workpool(queue=ctx.env.Q2)\ncreate_queue_workpool(queue=env.Q2)\n",
    )
    assert queues == [
        AppQueue("IMPORTS", "imports", "lunora/b.py", 3),
        AppQueue("NIGHTLY_EXPORTS", "nightly-exports", "lunora/b.py", 2),
        AppQueue("Q2", "q2", "lunora/a.py", 3),
    ]
    assert problems == []


@pytest.mark.parametrize("binding", ["_IMPORTS", "IMPORTS_", "GRÖSSE", "X" * 64, "_"])
def test_a_binding_that_makes_no_queue_is_named(project: Project, binding: str) -> None:
    text = IMPORT + f"x = create_queue_workpool(queue=env.{binding})\n"
    assert find(project, m=text) == ([], [("QUEUE_NAME_INVALID", "lunora/m.py", 2)])


def test_the_longest_name_is_taken(project: Project) -> None:
    queues, problems = find(project, m=IMPORT + f"x = create_queue_workpool(queue=env.{'X' * 63})\n")
    assert ([queue.queue for queue in queues], problems) == (["x" * 63], [])


def test_two_bindings_of_one_queue_are_told_apart(project: Project) -> None:
    text = IMPORT + "x = create_queue_workpool(queue=env.IMPORTS)\ny = create_queue_workpool(queue=env.imports)\n"
    assert find(project, m=text) == (
        [AppQueue("IMPORTS", "imports", "lunora/m.py", 2)],
        [("QUEUE_NAME_CLASH", "lunora/m.py", 3)],
    )


def test_deep_and_hostile_sources_are_read_all_the_same(project: Project) -> None:
    deep = "x = " + "(" * 80 + "create_queue_workpool(queue=env.IMPORTS)" + ")" * 80 + "\n"
    chain = "y = create_queue_workpool(queue=env" + ".a" * 500 + ")\n"
    queues, problems = find(project, m=IMPORT + deep + chain)
    assert ([queue.binding for queue in queues], problems) == (["IMPORTS"], [])
