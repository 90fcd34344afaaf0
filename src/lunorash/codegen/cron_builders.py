"""Which names of an app stand for cron builders, and what hides that a name does."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.names import Names, chain_of
from lunorash.codegen.source import Binding, Module, absolute
from lunorash.crons.schedules import ScheduleKind

__all__ = ["METHODS", "CronBuilders", "Origin", "assigned_names"]

METHODS: Final = frozenset({*get_args(ScheduleKind), "cron"})
"""The builder's methods that declare a job."""

_HOMES: Final = ("lunorash.server", "lunorash.crons", "lunorash.crons.builder")
_FUNCTION: Final = "cron_jobs"
_SHOWN: Final = 100
_FUNCTIONS: Final = frozenset(f"{home}.{_FUNCTION}" for home in _HOMES)
_CLASSES: Final = frozenset(f"{home}.CronJobs" for home in _HOMES)


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a builder.

    Args:
        ours: whether `lunorash` did, and not another function called `cron_jobs`, of which nothing is known.
        function: the function, as messages name it.
    """

    ours: bool
    function: str


@dataclass(frozen=True, slots=True)
class CronBuilders:
    """The variables of an app that hold cron builders.

    Args:
        names: what names stand for.
        origins: who made the builder in each variable, by its absolute dotted name.
        statements: the ids of the statements that put builders of ours there.
    """

    names: Names
    origins: Mapping[str, Origin]
    statements: frozenset[int]

    @classmethod
    def find(cls, names: Names) -> CronBuilders:
        """Follow builders from variable to variable: ``crons = cron_jobs()``, ``more = crons.daily(...)``."""
        bound: dict[Origin | str, list[tuple[str, int]]] = {}
        for module in names.modules.values():
            for statement in module.tree.body:
                targets = assigned_names(statement)
                source = _source(statement, module, names) if targets else None
                if source is not None:
                    bound.setdefault(source, []).extend((f"{module.name}.{name}", id(statement)) for name in targets)
        origins: dict[str, Origin] = {}
        statements: set[int] = set()
        made = [source for source in bound if isinstance(source, Origin)]
        for origin in sorted(made, key=lambda each: (not each.ours, each.function)):
            waiting: list[Origin | str] = [origin]
            while waiting:
                for variable, statement_id in bound.get(waiting.pop(), ()):
                    if origin.ours:
                        statements.add(statement_id)
                    if variable not in origins:
                        origins[variable] = origin
                        waiting.append(variable)
        return cls(names, origins, frozenset(statements))

    def function_origin(self, module: Module, node: ast.expr) -> Origin | None:
        """Who made a builder, if an expression names the function that makes one."""
        return _function_origin(module, node, self.names)

    def variable_origin(self, module: Module, node: ast.expr) -> Origin | None:
        """Who made the builder, if an expression names a variable that holds one."""
        return self.origins.get(self.names.canonical(module, node) or "")

    def is_class(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression names the builder's class, as annotations do."""
        return self.names.canonical(module, node) in _CLASSES

    def check_names(self, module: Module, diagnostics: Diagnostics) -> None:
        """Report where a module hides which of its names stand for builders."""
        self._check_stars(module, diagnostics)
        self._check_rebound(module, diagnostics)
        self._check_local_imports(module, diagnostics)

    def _check_stars(self, module: Module, diagnostics: Diagnostics) -> None:
        for line, source in module.stars:
            origin = self.names.modules.get(source)
            exported = [] if origin is None else [f"{source}.{name}" for name in origin.bindings if name[:1] != "_"]
            if source in _HOMES or any(self._stands_for_builder(dotted) for dotted in exported):
                diagnostics.report(
                    "STAR_IMPORT",
                    module.file,
                    line,
                    f"`from {source} import *` hides which names make cron jobs; import the ones you use by name",
                )

    def _check_rebound(self, module: Module, diagnostics: Diagnostics) -> None:
        for name, bindings in module.bindings.items():
            binding_it = [binding for binding in bindings if not _is_bare_annotation(binding.node)]
            first = next((binding for binding in binding_it if self._binds_builder(binding)), None)
            other = next((binding for binding in binding_it if not self._binds_builder(binding)), None)
            if first is not None and other is not None:
                diagnostics.report(
                    "CRON_BUILDER_REBOUND",
                    module.file,
                    other.line,
                    f"{name} stands for cron jobs in line {first.line}, and is bound again, so that what is declared "
                    "on it need not be one; rename one",
                )

    def _check_local_imports(self, module: Module, diagnostics: Diagnostics) -> None:
        own = {id(binding.node) for bindings in module.bindings.values() for binding in bindings}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and id(node) not in own:
                source = absolute(node, module.parent)
                for alias in node.names:
                    if self._stands_for_builder(f"{source}.{alias.name}"):
                        diagnostics.report(
                            "CRON_NOT_STATIC",
                            module.file,
                            node.lineno,
                            f"{alias.name} is imported inside a class or function, where cron jobs are not looked "
                            "for; import it at the top level of the module",
                        )

    def _binds_builder(self, binding: Binding) -> bool:
        if binding.target is not None:
            return self._stands_for_builder(binding.target)
        return id(binding.node) in self.statements

    def _stands_for_builder(self, dotted: str) -> bool:
        origin = self.names.follow(dotted)
        return origin in _FUNCTIONS or (origin in self.origins and self.origins[origin].ours)


def assigned_names(statement: ast.stmt) -> list[str]:
    """The names that an assignment binds to its very value; none if it does anything else with it."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    found = [target.id for target in targets if isinstance(target, ast.Name)]
    return found if len(found) == len(targets) else []


def _is_bare_annotation(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is None


def _source(statement: ast.stmt, module: Module, names: Names) -> Origin | str | None:
    """Where the value of an assignment comes from: who made it, or another dotted name."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in METHODS:
        value = value.func.value
    if isinstance(value, ast.Call):
        return _function_origin(module, value.func, names)
    return None if value is None else names.canonical(module, value)


def _function_origin(module: Module, node: ast.expr, names: Names) -> Origin | None:
    dotted = names.canonical(module, node) or ""
    chain = chain_of(node) or ("",)
    if dotted in _FUNCTIONS or dotted in _CLASSES:
        return Origin(True, ".".join(chain))
    if _FUNCTION not in (dotted.rpartition(".")[2], chain[-1]):
        return None
    return Origin(False, dotted[-_SHOWN:] or f"{chain[-1]}, which the module does not import by name")
