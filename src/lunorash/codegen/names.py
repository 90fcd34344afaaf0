"""What the names in an app's modules stand for, followed through imports from module to module."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from lunorash.codegen.source import Binding, Module

__all__ = ["Names", "chain_of"]

_MAX_HOPS = 100
_MAX_PARTS = 100
"""No name that means anything is longer, and to follow one takes the square of its length."""


def chain_of(node: ast.AST) -> tuple[str, ...] | None:
    """``("a", "b", "c")`` for the expression ``a.b.c``; None for any other, and for one of more than 100 parts."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _MAX_PARTS:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return (node.id, *reversed(parts))


@dataclass(frozen=True, slots=True)
class Names:
    """Finds what names stand for.

    Args:
        modules: the app's modules by dotted name.
    """

    modules: Mapping[str, Module]

    def binding(self, module: Module, name: str) -> Binding | None:
        """The binding of a name at the top level of a module, the last if there are several."""
        bindings = module.bindings.get(name)
        return bindings[-1] if bindings else None

    def canonical(self, module: Module, node: ast.AST) -> str | None:
        """The absolute dotted name of what an expression such as ``server.mutation`` stands for.

        Re-exports by modules of the app are followed to their origin. None if the expression is no dotted name, or
        its first part is not bound by the module.
        """
        chain = chain_of(node)
        if chain is None:
            return None
        binding = self.binding(module, chain[0])
        if binding is None:
            return None
        root = f"{module.name}.{chain[0]}" if binding.target is None else binding.target
        return self.follow(".".join((root, *chain[1:])))

    def find_class(self, dotted: str | None) -> tuple[Module, ast.ClassDef] | None:
        """The class of the app that has an absolute dotted name."""
        if dotted is None:
            return None
        owner, _, name = dotted.rpartition(".")
        module = self.modules.get(owner)
        binding = None if module is None else self.binding(module, name)
        if module is None or binding is None or not isinstance(binding.node, ast.ClassDef):
            return None
        return module, binding.node

    def derives(self, module: Module, node: ast.ClassDef, roots: frozenset[str]) -> bool:
        """Whether a class derives from one of ``roots``, directly or through classes of the app."""
        seen: set[str] = set()
        waiting = [(module, node)]
        while waiting:
            owner, found = waiting.pop()
            for base in found.bases:
                dotted = self.canonical(owner, base.value if isinstance(base, ast.Subscript) else base)
                if dotted is None or dotted in seen:
                    continue
                if dotted in roots:
                    return True
                seen.add(dotted)
                parent = self.find_class(dotted)
                if parent is not None:
                    waiting.append(parent)
        return False

    def follow(self, dotted: str) -> str:
        """The origin of an absolute dotted name, behind the imports of the app's modules."""
        for _ in range(_MAX_HOPS):  # modules may import from each other in a circle
            parts = dotted.split(".")
            owner = next(
                (parts[:end] for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in self.modules), None
            )
            if owner is None or dotted in self.modules:
                return dotted
            name, *rest = parts[len(owner) :]
            binding = self.binding(self.modules[".".join(owner)], name)
            if binding is None or binding.target is None:
                return dotted
            followed = ".".join((binding.target, *rest))
            if followed == dotted:
                return dotted
            dotted = followed
        return dotted
