"""What the Worker's entry exports: a class can be bound only if it does. The entry is parsed, never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lunorash.codegen import AppInstance, generate
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.source import read_module
from lunorash.errors import LunoraError

__all__ = ["ENTRY", "exported_names"]

ENTRY: Final = "src/worker.py"
_GENERATED: Final = frozenset({"Default", "SchedulerDO", "ShardDO"})
"""What the entry that `lunora build` makes exports, beside the app's workflows and agents."""


def exported_names(project: Path, instances: Iterable[AppInstance] | None = None) -> frozenset[str] | None:
    """The names that the Worker's entry has at its top level: what it defines, assigns or imports.

    If it has an ``__all__``, workerd finds the classes listed there and no others.

    Without ``src/worker.py`` the entry is the one that `lunora build` makes, which exports all that the app has.

    Args:
        project: the project's folder.
        instances: the app's workflows and agents, if they are known already; else its sources are read for them.

    Returns:
        the names; None when they cannot be known, since the entry has a ``from x import *`` or an ``__all__`` that is
        computed.

    Raises:
        LunoraError: ``ENTRY_UNREADABLE`` with the line when the entry is no Python.
    """
    path = project / ENTRY
    if not path.is_file():
        found = generate(project).instances if instances is None else instances
        return _GENERATED | {instance.class_name for instance in found}
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LunoraError(
            "ENTRY_UNREADABLE", f"{path} cannot be read: {error.strerror or type(error).__name__}"
        ) from None
    problems = Diagnostics()
    module = read_module("worker", ENTRY, data, problems)
    if module is None:
        raise LunoraError("ENTRY_UNREADABLE", "\n".join(str(problem) for problem in problems.sorted()))
    bound = frozenset(
        name for name, bindings in module.bindings.items() if not all(binding.typing_only for binding in bindings)
    )
    if "__all__" in bound:
        listed = _listed(module.tree)
        return listed if listed is None or module.stars else listed & bound
    return None if module.stars else bound


def _listed(tree: ast.Module) -> frozenset[str] | None:
    """The names in ``__all__``; None unless it is written once, as a list of strings."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__all__"]
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name("__all__")], value=value)
                | ast.AnnAssign(target=ast.Name("__all__"), value=ast.expr() as value)
            ) if len(found) == 1:
                try:
                    return frozenset(map(str, ast.literal_eval(value)))
                except (ValueError, TypeError):
                    return None
    return None
