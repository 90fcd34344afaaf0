"""What a cron job runs: a reference or a path in the source, and the function, workflow or agent that it names."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lunorash.codegen.cron_values import described
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.instances import AppInstance, InstanceKind
from lunorash.codegen.modules import APP, GENERATED
from lunorash.codegen.names import Names
from lunorash.codegen.scopes import is_function
from lunorash.codegen.source import Module
from lunorash.errors import LunoraError
from lunorash.refs import AgentReference, FunctionReference, Target, WorkflowReference, check_function_path

__all__ = ["CronTargets", "ReadTarget"]

_ROOTS: Final = ("internal", "api", "workflows", "agents")
_MAX_NAME: Final = 200
_KINDS: Final[Mapping[str, InstanceKind]] = {"workflows": "workflow", "agents": "agent"}
_REFERENCES: Final[Mapping[str, type[WorkflowReference] | type[AgentReference]]] = {
    "workflows": WorkflowReference,
    "agents": AgentReference,
}


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """A target that was read.

    Args:
        target: as the builder is given it.
        function: the function that it names; None for what is none, and for what cannot be known.
    """

    target: Target
    function: AppFunction | None = None


@dataclass(frozen=True, slots=True)
class CronTargets:
    """What the cron jobs of an app may run.

    Args:
        names: what names stand for.
        functions: the app's functions, by path.
        instances: its workflows and agents, by kind and name.
        broken: the files in which something is wrong, so that not all of what they define may be known.
        diagnostics: is told what is wrong with a target.
    """

    names: Names
    functions: Mapping[str, AppFunction]
    instances: Mapping[tuple[InstanceKind, str], AppInstance]
    broken: frozenset[str]
    diagnostics: Diagnostics

    @classmethod
    def of(
        cls,
        names: Names,
        functions: Iterable[AppFunction],
        instances: Iterable[AppInstance],
        diagnostics: Diagnostics,
    ) -> CronTargets:
        """Gather them.

        Args:
            names: what names stand for.
            functions: the app's functions.
            instances: its workflows and agents.
            diagnostics: is told what is wrong with a target.
        """
        return cls(
            names,
            {function.path: function for function in functions},
            {(instance.kind, instance.name): instance for instance in instances},
            diagnostics.files(),
            diagnostics,
        )

    def read(self, node: ast.expr, module: Module) -> ReadTarget | None:
        """Read a target.

        Args:
            node: the expression.
            module: the module that it stands in.

        Returns:
            the target, or None if it cannot be used.
        """
        if isinstance(node, ast.Constant):
            return self._path(node.value, node, module)
        dotted = self.names.canonical(module, node) or ""
        for root in _ROOTS:
            prefix = f"{APP}.{GENERATED}.{root}.{root}."
            if dotted.startswith(prefix):
                return self._reference(root, dotted.removeprefix(prefix), node, module)
        self._report(module, node, "CRON_NON_STATIC_FN", self._not_static(node, dotted))
        return None

    def _path(self, path: Any, node: ast.expr, module: Module) -> ReadTarget | None:
        if path in self.functions:
            return self._function(path)
        try:
            check_function_path(path)
        except LunoraError:
            return ReadTarget(path)  # which the builder refuses, saying what a path looks like
        owner, _, name = path.partition(":")
        self._report_unknown(module, node, "internal", owner, name)
        return None

    def _reference(self, root: str, dotted: str, node: ast.expr, module: Module) -> ReadTarget | None:
        if root in _KINDS:
            instance = self.instances.get((_KINDS[root], dotted))
            if instance is not None:
                return ReadTarget(_REFERENCES[root](instance.name, instance.binding))
            self._report_unknown(module, node, root, root, dotted)
            return None
        owner, _, name = dotted.rpartition(".")
        function = self.functions.get(f"{owner}:{name}")
        if function is None:
            self._report_unknown(module, node, root, owner, name)
        elif function.internal and root == "api":
            self._report(
                module, node, "CRON_TARGET_UNKNOWN", f"{dotted} is internal, so api has none; write internal.{dotted}"
            )
        else:
            return self._function(function.path)
        return None

    def _function(self, path: str) -> ReadTarget:
        function = self.functions[path]
        return ReadTarget(FunctionReference(path, kind=function.kind, internal=function.internal), function)

    def _report_unknown(self, module: Module, node: ast.expr, root: str, owner: str, name: str) -> None:
        """Say that there is no such target, unless what is wrong with its module says so already."""
        path = f"{APP}/{owner.replace('.', '/')}"
        if {f"{path}.py", f"{path}/__init__.py"} & self.broken:
            return
        if root in _KINDS:
            there = [f"{root}.{other}" for kind, other in self.instances if kind == _KINDS[root]]
            missing, home = f"{root}.{name}", f"{APP}/{root}.py"
        else:
            there = [f"internal.{each.module}.{each.name}" for each in self.functions.values() if each.internal]
            missing = f"{root}.{owner}.{name}" if owner else f"{root}.{name}"
            home = f"{path}.py"
        meant = missing.replace("api.", "internal.", 1)[:_MAX_NAME]
        close = difflib.get_close_matches(meant, there, n=2, cutoff=0.85)
        if self._is_undecorated(owner, name):
            hint = f"{name} in {home} has no decorator; make it an @internal_mutation or @internal_action"
        elif close:
            hint = f"did you mean {' or '.join(close)}?"
        else:
            hint = f"define it in {home}, or correct the name" if owner else "name a function: internal.<module>.<name>"
        self._report(module, node, "CRON_TARGET_UNKNOWN", f"there is no {missing[:_MAX_NAME]}; {hint}")

    def _is_undecorated(self, owner: str, name: str) -> bool:
        module = self.names.modules.get(f"{APP}.{owner}")
        binding = None if module is None else self.names.binding(module, name)
        return binding is not None and is_function(binding.node)

    def _not_static(self, node: ast.expr, dotted: str) -> str:
        owner, _, name = dotted.removeprefix(f"{APP}.").rpartition(".")
        if f"{owner}:{name}" in self.functions:
            return f"the target is the function {name} itself; write a reference to it, internal.{owner}.{name}"
        return (
            f"the target is {described(node)}, which cannot be read off the source; write a reference such as "
            "internal.billing.charge, workflows.onboarding or agents.support, imported from lunora._generated"
        )

    def _report(self, module: Module, node: ast.expr, code: str, message: str) -> None:
        self.diagnostics.report(code, module.file, node.lineno, message)
