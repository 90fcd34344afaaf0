"""The imports of a generated file: which name each symbol gets there, and the lines that import it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lunorash.codegen.expression import WIDTH, Symbol
from lunorash.codegen.modules import APP, GENERATED

__all__ = ["SKIP_SORTING", "Imports", "from_import"]

SKIP_SORTING = "# isort: skip_file"
"""Which imports are first-party depends on where a project lies, so their order cannot suit everybody."""


@dataclass(frozen=True, slots=True)
class Imports:
    """Names for the symbols of one file.

    Args:
        names: the name of each symbol.
        typing: what the file imports from `typing` for them.
    """

    names: dict[Symbol, str]
    typing: frozenset[str]

    @classmethod
    def choose(cls, symbols: Iterable[Symbol], *, taken: frozenset[str], given: dict[Symbol, str]) -> Imports:
        """Choose names.

        Args:
            symbols: what the file refers to.
            taken: names that mean something else in the file.
            given: symbols that the file imports anyway.
        """
        names = dict(given)
        used = set(taken) | set(given.values())
        wanted = sorted({symbol for symbol in symbols if symbol not in names})
        # `import a.b` has no choice of its name, so those come first
        for symbol in sorted(wanted, key=lambda each: (bool(each.attribute or each.alias), each)):
            if symbol.module == "builtins":
                names[symbol] = symbol.attribute if symbol.attribute not in taken else f"builtins.{symbol.attribute}"
                continue
            preferred = symbol.attribute or symbol.alias or symbol.module
            root = preferred.partition(".")[0]
            if root in used and not _shares_root(symbol, names):
                preferred = root = _alias(symbol, used)
            names[symbol] = preferred
            used.add(root)
        typing = {
            symbol.attribute for symbol in names if symbol.module == "typing" and names[symbol] == symbol.attribute
        }
        return cls(names, frozenset(typing))

    def name_of(self, symbol: Symbol) -> str:
        """The name of a symbol in the file."""
        return self.names[symbol]

    def lines(self, *, given: dict[Symbol, str]) -> list[str]:
        """The lines that import what only a type checker needs."""
        plain: set[str] = set()
        members: dict[str, set[tuple[str, str]]] = {}
        for symbol, name in self.names.items():
            if symbol in given or (symbol.module == "typing" and name == symbol.attribute):
                continue
            if symbol.module == "builtins":
                if name != symbol.attribute:
                    plain.add("import builtins")
            elif not symbol.attribute:
                plain.add(f"import {symbol.module}" + ("" if name == symbol.module else f" as {name}"))
            else:
                members.setdefault(_relative(symbol.module), set()).add((symbol.attribute, name))
        lines = sorted(plain)
        for module in sorted(members, key=lambda each: (each.startswith("."), each)):
            same = sorted(attribute for attribute, name in members[module] if attribute == name)
            if same:
                lines.extend(from_import(module, same, indent=4))
            lines.extend(
                f"from {module} import {attribute} as {name}"
                for attribute, name in sorted(members[module])
                if attribute != name
            )
        return lines


def from_import(module: str, names: Iterable[str], *, indent: int = 0) -> list[str]:
    """The lines of ``from module import names``."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) + indent <= WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _relative(module: str) -> str:
    """The app's modules are imported relative to the generated package, whatever is first-party to the linter."""
    parts = module.split(".")
    if parts[:2] == [APP, GENERATED]:
        return "." + ".".join(parts[2:])
    return ".." + ".".join(parts[1:]) if parts[0] == APP else module


def _shares_root(symbol: Symbol, names: dict[Symbol, str]) -> bool:
    """Whether the name's root is that of another `import a.b`, which means the same package."""
    if symbol.attribute or symbol.alias:
        return False
    root = symbol.module.partition(".")[0]
    return any(
        not other.attribute and not other.alias and name.partition(".")[0] == root for other, name in names.items()
    )


def _alias(symbol: Symbol, used: set[str]) -> str:
    """A name like ``billing_plan``, ``BillingPlan`` or ``BILLING_PLAN``: of the module, and of the same style."""
    name = symbol.attribute or symbol.alias or symbol.module.rpartition(".")[2]
    owner = [word for word in symbol.module.rpartition(".")[2].split("_") if word]
    if name.isupper():
        base = "_".join([*owner, name]).upper()
    elif name[:1].isupper():
        base = "".join(word[:1].upper() + word[1:] for word in owner) + name
    else:
        base = "_".join([*owner, name])
    if not base.isidentifier():  # as of a module _1
        base = f"_{base}"
    chosen, number = base, 2
    while chosen in used:
        chosen, number = f"{base}_{number}", number + 1
    return chosen
