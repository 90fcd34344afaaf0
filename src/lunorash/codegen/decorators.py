"""Where a module uses the decorators of `lunora._generated.server`, and whether each use can be read off it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.names import Names
from lunorash.codegen.scopes import FunctionNode, global_uses, is_function
from lunorash.codegen.source import Module, absolute
from lunorash.refs import Kind

__all__ = ["DECORATORS", "SERVER", "Decorated", "Decorator", "decorated_functions"]

SERVER: Final = "lunora._generated.server"


@dataclass(frozen=True, slots=True)
class Decorator:
    """What a decorator makes of a function."""

    kind: Kind
    internal: bool


DECORATORS: Final[Mapping[str, Decorator]] = MappingProxyType(
    {
        "query": Decorator("query", internal=False),
        "mutation": Decorator("mutation", internal=False),
        "action": Decorator("action", internal=False),
        "internal_query": Decorator("query", internal=True),
        "internal_mutation": Decorator("mutation", internal=True),
        "internal_action": Decorator("action", internal=True),
    }
)
"""The decorators by the names that `lunora._generated.server` gives them."""


@dataclass(frozen=True, slots=True)
class Decorated:
    """A function with one decorator, at the top level of a module."""

    node: FunctionNode
    decorator: Decorator


def decorated_functions(module: Module, names: Names, diagnostics: Diagnostics) -> list[Decorated]:
    """Find the functions of a module, and report every use of a decorator that hides one."""
    _check_stars(module, names, diagnostics)
    _check_rebound(module, names, diagnostics)
    _check_local_imports(module, names, diagnostics)
    uses = {id(node): name for node, name in _uses(module, names)}
    found: list[Decorated] = []
    for statement in module.tree.body:
        if is_function(statement):
            ours = [node for node in statement.decorator_list if id(node) in uses]
            if ours:
                found.append(Decorated(statement, DECORATORS[uses[id(ours[0])]]))
                _check_stack(module, statement, ours, uses, diagnostics)
            for node in ours:
                del uses[id(node)]
    _report_rest(module, uses, diagnostics)
    return found


def _uses(module: Module, names: Names) -> Iterator[tuple[ast.expr, str]]:
    """Every expression that is one of the decorators, and the decorator's name."""
    for node in global_uses(module.tree):
        name = _decorator_name(names.canonical(module, node))
        if name is not None:
            yield node, name


def _decorator_name(dotted: str | None) -> str | None:
    owner, _, name = (dotted or "").rpartition(".")
    return name if owner == SERVER and name in DECORATORS else None


def _check_stack(
    module: Module, function: FunctionNode, ours: list[ast.expr], uses: Mapping[int, str], diagnostics: Diagnostics
) -> None:
    if len(ours) > 1:
        both = " and ".join(f"@{uses[id(node)]}" for node in ours[:2])
        diagnostics.report(
            "DECORATOR_DOUBLED",
            module.file,
            ours[1].lineno,
            f"{function.name} is decorated with {both}; a function is one of them, so remove the others",
        )
    first = function.decorator_list[0]
    if first is not ours[0]:
        diagnostics.report(
            "DECORATOR_NOT_OUTERMOST",
            module.file,
            first.lineno,
            f"{function.name} has a decorator above @{uses[id(ours[0])]}, which would wrap the registered function; "
            f"move @{uses[id(ours[0])]} to the top",
        )


def _report_rest(module: Module, uses: Mapping[int, str], diagnostics: Diagnostics) -> None:
    """Report the uses that decorate no function at the top level."""
    if not uses:
        return
    reported: set[int] = set()
    owners = [node for node in ast.walk(module.tree) if is_function(node) or isinstance(node, ast.ClassDef)]
    for owner in owners:
        for decorator in owner.decorator_list:
            used = decorator.func if isinstance(decorator, ast.Call) else decorator
            if id(used) not in uses:
                continue
            reported.add(id(used))
            if isinstance(decorator, ast.Call):
                problem = f"is called; write @{uses[id(used)]} without parentheses"
            elif isinstance(owner, ast.ClassDef):
                problem = f"decorates the class {owner.name}; decorate a function"
            else:
                problem = (
                    f"decorates {owner.name} inside a condition, a class or another function, "
                    "where it need not exist; move it to the top level of the module"
                )
            _report_use(module, used, uses[id(used)], problem, diagnostics)
    for node in ast.walk(module.tree):
        if id(node) in uses and id(node) not in reported and isinstance(node, ast.expr):
            problem = (
                "is used as a value, so that what it decorates cannot be read off the source; use it as a decorator"
            )
            _report_use(module, node, uses[id(node)], problem, diagnostics)


def _report_use(module: Module, node: ast.expr, name: str, problem: str, diagnostics: Diagnostics) -> None:
    diagnostics.report("DECORATOR_NOT_STATIC", module.file, node.lineno, f"{name} {problem}")


def _check_stars(module: Module, names: Names, diagnostics: Diagnostics) -> None:
    """Star imports hide where names come from; they are refused where a decorator could come that way."""
    for line, source in module.stars:
        origin = names.modules.get(source)
        exported = [] if origin is None else [name for name in origin.bindings if not name.startswith("_")]
        hides = origin is not None and any(
            _decorator_name(names.canonical(origin, ast.Name(name))) is not None for name in exported
        )
        if source == SERVER or hides:
            diagnostics.report(
                "STAR_IMPORT",
                module.file,
                line,
                f"`from {source} import *` hides which names are decorators; import the ones you use by name",
            )


def _check_rebound(module: Module, names: Names, diagnostics: Diagnostics) -> None:
    for name, bindings in module.bindings.items():
        imported = [
            binding
            for binding in bindings
            if binding.target is not None and _decorator_name(names.follow(binding.target)) is not None
        ]
        if imported and len(bindings) > 1:
            other = next((binding for binding in bindings[1:] if binding is not imported[0]), bindings[0])
            diagnostics.report(
                "DECORATOR_REBOUND",
                module.file,
                other.line,
                f"{name} is a decorator, imported in line {imported[0].line}, and is bound again; "
                "rename one, for instance with `import ... as ...`",
            )


def _check_local_imports(module: Module, names: Names, diagnostics: Diagnostics) -> None:
    own = {id(binding.node) for bindings in module.bindings.values() for binding in bindings}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in own:
            source = absolute(node, module.parent)
            for alias in node.names:
                name = _decorator_name(names.follow(f"{source}.{alias.name}"))
                if name is not None:
                    problem = "is imported inside a class or function; import it at the top level of the module"
                    diagnostics.report("DECORATOR_NOT_STATIC", module.file, node.lineno, f"{name} {problem}")
