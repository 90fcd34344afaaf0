"""`server.py`: the decorators and contexts that app code imports, with the app's own types filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lunorash.codegen.decorators import DECORATORS
from lunorash.codegen.document import call, document

__all__ = ["emit_server"]

_CONTEXTS: Final = {"query": "QueryContext", "mutation": "MutationContext", "action": "ActionContext"}
_PURPOSE: Final = {
    "query": "a query, which reads its shard",
    "mutation": "a mutation, which is one transaction on its shard",
    "action": "an action, which may talk to the world",
}

_IMPORTS: Final = """\
from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from lunorash import contexts
from lunorash.errors import LunoraError
from lunorash.functions import RegisteredFunction, register

from .scheduler import Scheduler
""".splitlines()

_ALIASES: Final = """\
P = ParamSpec("P")
R = TypeVar("R")

QueryContext: TypeAlias = contexts.QueryContext
MutationContext: TypeAlias = contexts.MutationContext[Scheduler]
ActionContext: TypeAlias = contexts.ActionContext[Scheduler]
""".splitlines()


def emit_server() -> str:
    """The text of ``server.py``, the same for every app."""
    exported = [*_CONTEXTS.values(), "LunoraError", *DECORATORS]
    blocks: list[Sequence[str]] = [
        _IMPORTS,
        [
            "__all__ = [",
            *(f'    "{name}",' for name in sorted(exported, key=lambda name: (not name[0].isupper(), name))),
            "]",
        ],
        _ALIASES,
        *(_decorator(name) for name in DECORATORS),
    ]
    return document("What the functions of this app are made with: decorators and contexts.", blocks)


def _decorator(name: str) -> list[str]:
    decorator = DECORATORS[name]
    who = "only jobs and other functions may call it" if decorator.internal else "clients may call it"
    takes = f"Concatenate[{_CONTEXTS[decorator.kind]}, P]"
    return [
        *call(f"def {name}", (f"function: Callable[{takes}, R]",), tail=f" -> RegisteredFunction[{takes}, R]:"),
        f'    """Make a function {_PURPOSE[decorator.kind]}; {who}."""',
        f'    return register(function, kind="{decorator.kind}", internal={decorator.internal})',
    ]
