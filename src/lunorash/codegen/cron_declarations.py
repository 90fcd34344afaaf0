"""Where an app declares cron jobs: the calls on a builder, and every use of one that could hide such a call."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from lunorash.codegen.cron_builders import METHODS, CronBuilders, Origin, assigned_names
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.names import Names, chain_of
from lunorash.codegen.scopes import global_uses, is_function
from lunorash.codegen.source import Module

__all__ = ["Declaration", "find_declarations"]

_READ: Final = "jobs"
_PLACES: Final[tuple[tuple[tuple[type[ast.AST], ...], str], ...]] = (
    ((ast.Lambda,), "inside a lambda"),
    ((ast.For, ast.AsyncFor, ast.While), "inside a loop"),
    ((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), "inside a comprehension"),
    ((ast.If, ast.IfExp, ast.BoolOp, ast.Match), "inside a condition"),
    ((ast.Try, ast.TryStar), "inside a try"),
    ((ast.With, ast.AsyncWith), "inside a with"),
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One call that declares a cron job.

    Args:
        module: the module that it stands in.
        node: the call.
        method: the builder's method that is called.
    """

    module: Module
    node: ast.Call
    method: str

    @property
    def line(self) -> int:
        """The line of the method's name; a call in a chain begins, for Python, where the chain does."""
        return self.node.func.end_lineno or self.node.lineno


def find_declarations(names: Names, diagnostics: Diagnostics) -> list[Declaration]:
    """Find the cron jobs of all modules, and report whatever hides one."""
    builders = CronBuilders.find(names)
    found: list[Declaration] = []
    for module in names.modules.values():
        builders.check_names(module, diagnostics)
        uses = [(node, origin) for node in global_uses(module.tree) if (origin := _origin(module, node, builders))]
        if uses:
            positions = _Positions.of(module)
            for node, origin in uses:
                found.extend(_read_use(positions, node, origin, builders, diagnostics))
    return found


def _origin(module: Module, node: ast.expr, builders: CronBuilders) -> Origin | None:
    return builders.variable_origin(module, node) or builders.function_origin(module, node)


@dataclass(slots=True)
class _Chain:
    """What is done with a builder, call after call.

    Args:
        whole: the expression that the calls make up.
        calls: those that declare a job.
        attribute: an attribute that is no such method, at which the chain ends.
        made: whether the builder is made in it.
    """

    whole: ast.expr
    calls: list[ast.Call] = field(default_factory=list)
    attribute: str | None = None
    made: bool = False


@dataclass(frozen=True, slots=True)
class _Positions:
    """Where the nodes of a module stand.

    Args:
        module: the module.
        parents: the node around each, by its id.
        top: the ids of the statements at the top level.
    """

    module: Module
    parents: dict[int, ast.AST]
    top: frozenset[int]

    @classmethod
    def of(cls, module: Module) -> _Positions:
        parents = {id(child): node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
        return cls(module, parents, frozenset(map(id, module.tree.body)))

    def chain(self, node: ast.expr, *, makes: bool) -> _Chain:
        """Follow the calls that begin at a use of a builder, or of the function that makes one."""
        chain = _Chain(node)
        if makes:
            call = self.parents[id(node)]
            if not isinstance(call, ast.Call) or call.func is not node:
                return chain
            chain = _Chain(call, made=True)
        while isinstance(attribute := self.parents[id(chain.whole)], ast.Attribute):
            if attribute.attr not in METHODS:
                chain.attribute = attribute.attr
                break
            call = self.parents[id(attribute)]
            if not isinstance(call, ast.Call) or call.func is not attribute:
                break
            chain.calls.append(call)
            chain.whole = call
        return chain

    def is_statement(self, node: ast.expr) -> bool:
        """Whether an expression is a statement of its own at the top level, or all that such a one assigns."""
        statement = self.parents[id(node)]
        if id(statement) not in self.top or not isinstance(statement, ast.stmt):
            return False
        return isinstance(statement, ast.Expr) or bool(assigned_names(statement))

    def place(self, node: ast.AST) -> str | None:
        """What an expression stands in that need not be run, or not once."""
        while (around := self.parents.get(id(node))) is not None:
            if is_function(around):
                return f"inside the function {around.name}"
            if isinstance(around, ast.ClassDef):
                return f"inside the class {around.name}"
            for kinds, place in _PLACES:
                if isinstance(around, kinds):
                    return place
            node = around
        return None


def _read_use(
    positions: _Positions, node: ast.expr, origin: Origin, builders: CronBuilders, diagnostics: Diagnostics
) -> Iterator[Declaration]:
    module = positions.module
    makes = builders.variable_origin(module, node) is None
    chain = positions.chain(node, makes=makes)
    shown = ".".join(chain_of(node) or ())
    if not origin.ours:
        if chain.calls:
            _report_foreign(module, chain.calls[0], origin, diagnostics)
    elif makes and not chain.made and builders.is_class(module, node):
        # in an annotation it makes nothing, and whoever gets a builder that way was handed it as a value
        if isinstance(positions.parents[id(node)], ast.ClassDef | ast.Assign):
            _report_hidden(positions, chain, shown, diagnostics)
    elif chain.attribute not in (None, _READ):
        _report_attribute(module, node, shown, chain.attribute or "", diagnostics)
    elif positions.is_statement(chain.whole) and (chain.made or not makes):
        for call in chain.calls:
            if isinstance(call.func, ast.Attribute):
                yield Declaration(module, call, call.func.attr)
    elif chain.attribute is None or chain.calls:
        _report_hidden(positions, chain, shown, diagnostics)


def _report_hidden(positions: _Positions, chain: _Chain, shown: str, diagnostics: Diagnostics) -> None:
    place = positions.place(chain.whole)
    if chain.calls:
        what = f"a cron job is declared {place or 'as part of a larger expression'}"
    else:
        what = f"{shown}() is called" if chain.made else f"{shown} is used"
        what = f"{what} {place or 'as a value'}"
    line = chain.calls[0].func.end_lineno if chain.calls else None
    diagnostics.report(
        "CRON_NOT_STATIC",
        positions.module.file,
        line or chain.whole.lineno,
        f"{what}, so which jobs there are cannot be read off the source; "
        "declare each in a statement of its own at the top level of the module, such as crons.daily(...)",
    )


def _report_foreign(module: Module, call: ast.Call, origin: Origin, diagnostics: Diagnostics) -> None:
    diagnostics.report(
        "CRON_BUILDER_UNKNOWN",
        module.file,
        call.func.end_lineno or call.lineno,
        "the cron job would never run: it is declared on what was made by "
        f"{origin.function}. Write `from lunorash.server import cron_jobs`, and make it by that",
    )


def _report_attribute(module: Module, node: ast.expr, shown: str, attribute: str, diagnostics: Diagnostics) -> None:
    close = difflib.get_close_matches(attribute, [*sorted(METHODS), _READ], n=1)
    hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(sorted(METHODS))} and {_READ}"
    diagnostics.report(
        "CRON_METHOD_UNKNOWN", module.file, node.end_lineno or node.lineno, f"{shown} has no {attribute}; {hint}"
    )
