"""Which nodes and names belong to one scope of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

__all__ = [
    "FunctionNode",
    "ScopeNode",
    "bound_names",
    "global_uses",
    "inner",
    "is_function",
    "is_scope",
    "nodes_of",
    "stored",
]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
    | ast.Lambda
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


def is_function(node: ast.AST) -> TypeGuard[FunctionNode]:
    """Whether a node is a ``def`` or ``async def``."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def is_scope(node: ast.AST) -> TypeGuard[ScopeNode]:
    """Whether a node begins a scope of its own."""
    return isinstance(node, ScopeNode)


def nodes_of(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of one scope: inner scopes are yielded, their inside is not, what they evaluate outside is.

    It keeps a list of its own instead of recursing, for expressions may be nested deeper than Python's stack.
    """
    waiting = list(roots)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(_outside(node) if is_scope(node) else list(ast.iter_child_nodes(node))))


def inner(scope: ScopeNode) -> list[ast.AST]:
    """The roots of what is inside a scope."""
    if is_function(scope) or isinstance(scope, ast.ClassDef):
        return list(scope.body)
    if isinstance(scope, ast.Lambda):
        return [scope.body]
    return list(ast.iter_child_nodes(scope))


def bound_names(scope: ScopeNode, nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are local to a scope whose nodes are given."""
    names: set[str] = set()
    outer: set[str] = set()
    if is_function(scope) or isinstance(scope, ast.Lambda):
        names.update(argument.arg for argument in _arguments(scope.args))
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer.update(node.names)
        else:
            names.update(stored(node))
    return names - outer


def global_uses(tree: ast.Module) -> Iterator[ast.Name | ast.Attribute]:
    """Every expression such as ``a`` or ``a.b`` whose first name is the module's, wherever it stands.

    A parameter called ``a`` is none: each scope comes with the names that hide the module's from its own nodes, and
    those that it passes on to the scopes inside it, which a class's are not.
    """
    nothing: frozenset[str] = frozenset()
    waiting: list[tuple[list[ast.AST], frozenset[str], frozenset[str]]] = [(list(tree.body), nothing, nothing)]
    while waiting:
        roots, hidden, passed_on = waiting.pop()
        for node in nodes_of(roots):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                root = _root(node)
                if root is not None and root not in hidden:
                    yield node
            if is_scope(node):
                inside = inner(node)
                local = passed_on | bound_names(node, nodes_of(inside))
                waiting.append((inside, local, passed_on if isinstance(node, ast.ClassDef) else local))


def stored(node: ast.AST) -> list[str]:
    """The names that one node binds in its scope."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if is_function(node) or isinstance(node, ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _outside(scope: ScopeNode) -> list[ast.AST]:
    if is_function(scope):
        return [*scope.decorator_list, *_defaults(scope.args), *_annotations(scope)]
    if isinstance(scope, ast.ClassDef):
        return [*scope.decorator_list, *scope.bases, *scope.keywords]
    if isinstance(scope, ast.Lambda):
        return _defaults(scope.args)
    return []


def _defaults(arguments: ast.arguments) -> list[ast.AST]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def _annotations(function: FunctionNode) -> list[ast.AST]:
    found = [argument.annotation for argument in _arguments(function.args)]
    return [annotation for annotation in (*found, function.returns) if annotation is not None]


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]
