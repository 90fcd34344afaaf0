"""One module of an app: its syntax tree, and what its names stand for. It is read, never imported."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.scopes import nodes_of, stored

__all__ = ["MAX_BYTES", "Binding", "Module", "absolute", "read_module"]

MAX_BYTES: Final = 2_000_000
"""The largest module that is read: a syntax tree takes about a hundred times the memory of its text."""

_COMPOUND: Final = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a module binds a name at its top level.

    Args:
        name: the name.
        line: where.
        node: the statement that binds it.
        target: the absolute dotted name that it was imported as; None for what is defined here.
        module: the imported module, for `import a.b` and `from a.b import c`.
        attribute: the ``c`` of `from a.b import c`.
        conditional: whether it stands in an `if`, a `try` or the like.
        typing_only: whether it stands in an `if TYPE_CHECKING`, and so does not exist at run time.
    """

    name: str
    line: int
    node: ast.AST
    target: str | None = None
    module: str | None = None
    attribute: str | None = None
    conditional: bool = False
    typing_only: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """One module of an app.

    Args:
        name: its dotted name, ``"lunora.crons.jobs"``.
        file: its file, relative to the project.
        package: whether it is an ``__init__.py``.
        tree: its syntax tree.
        bindings: what its top level binds, in order, by name.
        stars: the lines and modules of its star imports.
    """

    name: str
    file: str
    package: bool
    tree: ast.Module
    bindings: dict[str, list[Binding]]
    stars: tuple[tuple[int, str], ...]

    @property
    def parent(self) -> str:
        """The package that its relative imports start from."""
        return self.name if self.package else self.name.rpartition(".")[0]

    @property
    def path(self) -> str:
        """The module's part of a function path: ``"crons.jobs"``; empty for `lunora` itself."""
        return self.name.partition(".")[2]


def read_module(name: str, file: str, data: bytes, diagnostics: Diagnostics, *, package: bool = False) -> Module | None:
    """Parse a module.

    Args:
        name: its dotted name.
        file: its file, relative to the project.
        data: its content.
        diagnostics: is told what is wrong with it.
        package: whether it is an ``__init__.py``.

    Returns:
        the module, or None if it cannot be read.
    """
    if len(data) > MAX_BYTES:
        diagnostics.report(
            "MODULE_TOO_LARGE",
            file,
            1,
            f"the module has {len(data):,} bytes; at most {MAX_BYTES:,} are read. Move data out of it",
        )
        return None
    text = _decode(file, data, diagnostics)
    if text is None:
        return None
    tree = _parse(file, text, diagnostics)
    if tree is None:
        return None
    bindings: dict[str, list[Binding]] = {}
    stars: list[tuple[int, str]] = []
    for binding in _bindings(tree.body, name if package else name.rpartition(".")[0]):
        if binding.name == "*":
            stars.append((binding.line, binding.module or ""))
        else:
            bindings.setdefault(binding.name, []).append(binding)
    return Module(name, file, package, tree, bindings, tuple(stars))


def _decode(file: str, data: bytes, diagnostics: Diagnostics) -> str | None:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte {error.start} of the module is not {error.encoding}"
    except (SyntaxError, LookupError, ValueError) as error:
        line, problem = 1, f"the module's encoding cannot be used ({error})"
    else:
        if "\0" not in text:
            return text
        line = text.count("\n", 0, text.index("\0")) + 1
        diagnostics.report(
            "MODULE_SYNTAX_ERROR", file, line, "the module contains a null byte, which no Python module may; remove it"
        )
        return None
    diagnostics.report("MODULE_UNDECODABLE", file, line, f"{problem}; save it as UTF-8")
    return None


def _parse(file: str, text: str, diagnostics: Diagnostics) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes and the like, which are Python's to report
            return ast.parse(text)
    except SyntaxError as error:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        diagnostics.report(
            "MODULE_SYNTAX_ERROR",
            file,
            error.lineno or 1,
            f"the module does not parse as Python {python}: {error.msg}. Correct it",
        )
    except (RecursionError, MemoryError):
        diagnostics.report(
            "MODULE_TOO_DEEP",
            file,
            1,
            "an expression of the module is nested too deeply to be parsed; take it apart into several",
        )
    except ValueError as error:
        diagnostics.report("MODULE_SYNTAX_ERROR", file, 1, f"the module does not parse: {error}. Correct it")
    return None


def _bindings(body: Iterable[ast.stmt], parent: str) -> Iterator[Binding]:
    for statement in body:
        conditional = isinstance(statement, _COMPOUND)
        typing_only = _typing_only(statement)
        simple = isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in nodes_of([statement]):
            for binding in _bound(node, parent):
                yield replace(
                    binding,
                    node=statement if simple else node,
                    conditional=conditional,
                    typing_only=id(node) in typing_only,
                )


def _bound(node: ast.AST, parent: str) -> Iterator[Binding]:
    line = getattr(node, "lineno", 1)
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            target = alias.name if alias.asname else root
            yield Binding(alias.asname or root, line, node, target=target, module=alias.name)
    elif isinstance(node, ast.ImportFrom):
        module = absolute(node, parent)
        for alias in node.names:
            target = f"{module}.{alias.name}"
            name = alias.asname or alias.name
            yield Binding(name, line, node, target=target, module=module, attribute=alias.name)
    else:
        for name in stored(node):
            yield Binding(name, line, node)


def _typing_only(statement: ast.stmt) -> set[int]:
    """The nodes below `if TYPE_CHECKING:`, its `else` excepted."""
    if not isinstance(statement, ast.If):
        return set()
    test = statement.test
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return {id(node) for node in nodes_of(statement.body)} if name == "TYPE_CHECKING" else set()


def absolute(node: ast.ImportFrom, parent: str) -> str:
    """The module that ``from ... import`` names, inside the package ``parent``; a dot begins what does not exist."""
    if not node.level:
        return node.module or ""
    parts = parent.split(".") if parent else []
    if node.level > len(parts):
        return "." * node.level + (node.module or "")  # beyond the top: it resolves to nothing
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])
