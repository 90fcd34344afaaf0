"""The workflows and agents of an app: classes in `lunora/workflows.py` and `lunora/agents.py`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.discovery import RESERVED
from lunorash.codegen.names import Names
from lunorash.codegen.source import Module

__all__ = ["AppInstance", "InstanceKind", "find_instances"]

InstanceKind = Literal["workflow", "agent"]

_ROOTS: Final[dict[InstanceKind, frozenset[str]]] = {
    "workflow": frozenset({"workers.WorkflowEntrypoint"}),
    "agent": frozenset({"lunorash.server.Agent", "lunorash.server.agents.Agent"}),
}
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class AppInstance:
    """A class of which a job starts a fresh instance.

    Args:
        kind: workflow or agent.
        name: its name in references, ``"onboarding"``.
        binding: its binding in the environment, ``"WORKFLOW_ONBOARDING"``.
        class_name: the class, ``"Onboarding"``.
        file: where it is defined.
        line: in which line.
    """

    kind: InstanceKind
    name: str
    binding: str
    class_name: str
    file: str
    line: int


def find_instances(names: Names, diagnostics: Diagnostics) -> list[AppInstance]:
    """Find the workflows and agents, in order of their kinds and names."""
    found = [
        *_find("agent", names, diagnostics),
        *_find("workflow", names, diagnostics),
    ]
    _check_clashes(found, diagnostics)
    return sorted(found, key=lambda instance: (instance.kind, instance.name))


def _find(kind: InstanceKind, names: Names, diagnostics: Diagnostics) -> list[AppInstance]:
    module = names.modules.get(f"lunora.{kind}s")
    if module is None:
        return []
    found: dict[str, AppInstance] = {}
    for node in ast.walk(module.tree):
        # a class that begins with an underscore is a base of others
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        if not names.derives(module, node, _ROOTS[kind]):
            continue
        instance = _instance(kind, module, node)
        if node not in module.tree.body:
            diagnostics.report(
                f"{kind.upper()}_NOT_STATIC",
                module.file,
                node.lineno,
                f"the {kind} {node.name} is defined inside a condition, a class or a function, where it need not "
                "exist; move it to the top level of the module",
            )
        elif not re.fullmatch(r"[a-z][a-z0-9_]*", instance.name) or instance.name in RESERVED:
            diagnostics.report(
                f"{kind.upper()}_NAME_INVALID",
                module.file,
                node.lineno,
                f"the name {node.name} makes no binding; name the class in ASCII letters and digits, like Onboarding",
            )
        elif instance.name in found:
            other = found[instance.name]
            diagnostics.report(
                f"{kind.upper()}_DUPLICATE",
                module.file,
                node.lineno,
                f"{node.name} and {other.class_name} of line {other.line} are both {kind}s.{instance.name}; rename one",
            )
        else:
            found[instance.name] = instance
    return list(found.values())


def _instance(kind: InstanceKind, module: Module, node: ast.ClassDef) -> AppInstance:
    name = re.sub(r"_+", "_", _WORDS.sub("_", node.name)).lower()
    return AppInstance(kind, name, f"{kind.upper()}_{name.upper()}", node.name, module.file, node.lineno)


def _check_clashes(instances: Iterable[AppInstance], diagnostics: Diagnostics) -> None:
    """Refuse a workflow and an agent of one name: the entry exports one class of that name."""
    agents = {instance.name: instance for instance in instances if instance.kind == "agent"}
    for workflow in instances:
        agent = agents.get(workflow.name)
        if workflow.kind == "workflow" and agent is not None:
            diagnostics.report(
                "WORKFLOW_AGENT_CLASH",
                workflow.file,
                workflow.line,
                f"{workflow.class_name} and the agent {agent.class_name} in {agent.file}:{agent.line} have one name; "
                "rename one, so that messages and exports can tell them apart",
            )
