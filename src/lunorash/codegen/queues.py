"""The queues of an app: the bindings that `create_queue_workpool` is given in its sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.names import Names, chain_of
from lunorash.codegen.scopes import global_uses
from lunorash.codegen.source import Module

__all__ = ["AppQueue", "find_queues"]

_CREATE: Final = frozenset(
    {"lunorash.scheduler.create_queue_workpool", "lunorash.scheduler.queue_workpool.create_queue_workpool"}
)
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AppQueue:
    """A queue that an app enqueues into, and so consumes.

    Args:
        binding: its binding in the environment, ``"IMPORTS"``.
        queue: its name, ``"imports"``.
        file: where a workpool of it is first created.
        line: in which line.
    """

    binding: str
    queue: str
    file: str
    line: int


def find_queues(modules: Mapping[str, Module], names: Names, diagnostics: Diagnostics) -> list[AppQueue]:
    """Find the queues, each once, in order of their bindings.

    A call counts if its function was imported at the top level of the module, and its ``queue`` is an attribute of an
    environment: ``ctx.env.IMPORTS``, ``env.IMPORTS``. Whoever passes anything else binds the queue by hand.

    Args:
        modules: the app's, in order of their names.
        names: what their names stand for.
        diagnostics: is told of bindings that make no queue.
    """
    bindings: dict[str, AppQueue] = {}
    for module in modules.values():
        for binding, line in sorted(_bindings(module, names), key=lambda found: found[1]):
            queue = AppQueue(binding, binding.lower().replace("_", "-"), module.file, line)
            bindings.setdefault(binding, queue)
    found: dict[str, AppQueue] = {}
    for queue in bindings.values():
        if not _NAME.fullmatch(queue.queue):
            diagnostics.report(
                "QUEUE_NAME_INVALID",
                queue.file,
                queue.line,
                f"the binding {queue.binding} makes no name of a queue, which is 1 to 63 of a-z, 0-9 and -, and "
                "neither begins nor ends with -; name the binding in letters, digits and underscores, like IMPORTS",
            )
        elif queue.queue in found:
            other = found[queue.queue]
            diagnostics.report(
                "QUEUE_NAME_CLASH",
                queue.file,
                queue.line,
                f"the bindings {queue.binding} and {other.binding}, of {other.file}:{other.line}, both make the queue "
                f"{queue.queue}; use one binding, or rename one",
            )
        else:
            found[queue.queue] = queue
    return sorted(found.values(), key=lambda queue: queue.binding)


def _bindings(module: Module, names: Names) -> Iterator[tuple[str, int]]:
    """The binding and the line of each call that names one."""
    ours = {id(node) for node in global_uses(module.tree) if names.canonical(module, node) in _CREATE}
    if not ours:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and id(node.func) in ours:
            for keyword in node.keywords:
                chain = chain_of(keyword.value) if keyword.arg == "queue" else None
                if chain is not None and chain[-2:-1] == ("env",):
                    yield chain[-1], node.lineno
