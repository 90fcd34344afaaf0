"""The types that generated code writes: expressions whose names are chosen per file, laid out as ruff would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["WIDTH", "Bracketed", "Expression", "Reference", "Symbol", "Union", "Word", "flat", "lay_out", "symbols"]

WIDTH: Final = 120
"""The longest line of generated code."""


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """Something that an annotation names and generated code has to import.

    Args:
        module: the absolute name of the module that it is imported from; ``"builtins"`` for what needs no import.
        attribute: its name there; empty for the module itself.
        alias: what a module itself was imported as, if it was.
    """

    module: str
    attribute: str
    alias: str = ""


NameOf = Callable[[Symbol], str]


@dataclass(frozen=True, slots=True)
class Word:
    """Text that stands for itself: a literal, ``None``, ``...``."""

    text: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A symbol, and attributes of it: ``.Inner``."""

    symbol: Symbol
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Bracketed:
    """``head[items]``; without a head a list."""

    head: Reference | None
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """``a | b``."""

    items: tuple[Expression, ...]


Expression = Word | Reference | Bracketed | Union


def symbols(expression: Expression) -> Iterator[Symbol]:
    """What an expression names."""
    if isinstance(expression, Reference):
        yield expression.symbol
    elif isinstance(expression, Bracketed | Union):
        if isinstance(expression, Bracketed) and expression.head is not None:
            yield expression.head.symbol
        for item in expression.items:
            yield from symbols(item)


def flat(expression: Expression, name_of: NameOf) -> str:
    """An expression on one line."""
    if isinstance(expression, Word):
        return expression.text
    if isinstance(expression, Reference):
        return name_of(expression.symbol) + expression.tail
    items = [flat(item, name_of) for item in expression.items]
    if isinstance(expression, Union):
        return " | ".join(items)
    head = "" if expression.head is None else flat(expression.head, name_of)
    return f"{head}[{', '.join(items)}]"


def lay_out(prefix: str, expression: Expression, name_of: NameOf, *, noqa: str = "") -> list[str]:
    """The lines of ``prefix`` followed by an expression, broken where ruff would break them.

    What it has no rule for stays on one long line, marked so that formatter and linter leave it alone.

    Args:
        prefix: what comes before the expression, indented.
        expression: the expression.
        name_of: the names of symbols.
        noqa: a rule of the linter that the first line breaks on purpose.
    """
    indent = len(prefix) - len(prefix.lstrip(" "))
    lines = _broken(prefix, expression, "", indent, name_of)
    if lines is None:
        rules = f"E501, {noqa}" if noqa else "E501"
        return [f"{prefix}{flat(expression, name_of)}  # fmt: skip  # noqa: {rules}"]
    first, *others = lines
    return [f"{first}  # noqa: {noqa}" if noqa else first, *others]


def _broken(prefix: str, expression: Expression, suffix: str, indent: int, name_of: NameOf) -> list[str] | None:
    line = f"{prefix}{flat(expression, name_of)}{suffix}"
    if len(line) <= WIDTH:
        return [line]
    if not isinstance(expression, Bracketed):
        return None
    head = "" if expression.head is None else flat(expression.head, name_of)
    opening = f"{prefix}{head}["
    space = " " * (indent + 4)
    together = space + ", ".join(flat(item, name_of) for item in expression.items)
    if len(opening) > WIDTH:
        return None
    closing = f"{' ' * indent}]{suffix}"
    if len(together) <= WIDTH:
        return [opening, together, closing]
    lines = [opening]
    comma = "," if len(expression.items) > 1 or not head else ""
    for item in expression.items:
        broken = _broken(space, item, comma, indent + 4, name_of)
        if broken is None:
            return None
        lines.extend(broken)
    return [*lines, closing]
