"""The annotation of a parameter, read off the source and made fit for another module."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.expression import Bracketed, Expression, Reference, Symbol, Union, Word
from lunorash.codegen.literals import literal
from lunorash.codegen.names import Names, chain_of
from lunorash.codegen.source import Binding, Module

__all__ = ["read_annotation"]

_MAX_DEPTH: Final = 40
_TYPING: Final = ("typing", "typing_extensions")
_BUILTIN: Final = MappingProxyType(
    {
        "Dict": "dict",
        "FrozenSet": "frozenset",
        "List": "list",
        "Set": "set",
        "Tuple": "tuple",
        "Type": "type",
    }
)
_ABSTRACT: Final = frozenset(
    {"Collection", "Container", "Iterable", "Iterator", "Mapping", "MutableMapping", "MutableSequence", "Sequence"}
)
_TYPE_VARIABLES: Final = frozenset(
    f"{module}.{name}" for module in _TYPING for name in ("TypeVar", "ParamSpec", "TypeVarTuple")
)


class _AnnotationError(Exception):
    """Carries a code and a problem out of an annotation."""


def read_annotation(
    node: ast.expr, module: Module, names: Names, diagnostics: Diagnostics, *, what: str
) -> Expression | None:
    """Read an annotation.

    Its text is kept, with these exceptions, which mean the same to a type checker: the metadata of `Annotated` is
    left out, text is read as the expression in it, and old spellings (`Optional`, `Union`, `List`) become new ones.

    Args:
        node: the annotation.
        module: the module that it stands in.
        names: what names stand for.
        diagnostics: is told what is wrong with it.
        what: what messages call it.

    Returns:
        the annotation, or None if it cannot be used.
    """
    try:
        return _Reader(module, names).whole(node)
    except _AnnotationError as refusal:
        code, problem = refusal.args
        diagnostics.report(code, module.file, node.lineno, f"the annotation of {what} {problem}")
    return None


@dataclass(frozen=True, slots=True)
class _Reader:
    module: Module
    names: Names
    inside_text: bool = False

    def whole(self, node: ast.expr) -> Expression:
        if _deeper_than(node, _MAX_DEPTH):
            raise _AnnotationError(
                "ANNOTATION_UNSUPPORTED",
                f"is nested more than {_MAX_DEPTH} levels deep; give a part of it a name at the top level",
            )
        return self.read(node)

    def read(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Name | ast.Attribute):
            return self._reference(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _union(*(self.read(operand) for operand in _operands(node)))
        if isinstance(node, ast.List):
            return Bracketed(None, tuple(self.read(item) for item in node.elts))
        if isinstance(node, ast.Constant):
            if node.value is None or node.value is ...:
                return Word("None" if node.value is None else "...")
            if isinstance(node.value, str) and not self.inside_text:
                return self._text(node.value)
        raise _unsupported(node)

    def _text(self, text: str) -> Expression:
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _AnnotationError(
                "ANNOTATION_UNSUPPORTED", "is text that is no expression; write the type itself"
            ) from None
        return replace(self, inside_text=True).whole(node)

    def _subscript(self, node: ast.Subscript) -> Expression:
        name = self._typing_name(node.value)
        elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Annotated" and elements:
            return self.read(elements[0])
        if name == "Literal":
            items = tuple(self._literal(element) for element in elements)
        else:
            items = tuple(self.read(element) for element in elements)
        if name == "Optional" and len(items) == 1:
            return _union(items[0], Word("None"))
        if name == "Union" and items:
            return items[0] if len(items) == 1 else _union(*items)
        head = self.read(node.value)
        if not isinstance(head, Reference):
            raise _unsupported(node)
        if not items:
            items = (Word("()"),)
        return Bracketed(head, items)

    def _literal(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bytes | int)):
            return Word(literal(node.value))
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
            and type(node.operand.value) is int
        ):
            return Word(f"-{literal(node.operand.value)}")
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            return self.read(node)
        raise _unsupported(node)

    def _reference(self, node: ast.Name | ast.Attribute) -> Reference:
        chain = chain_of(node)
        if chain is None:
            raise _unsupported(node)
        root, *rest = chain
        binding = self.names.binding(self.module, root)
        if binding is None:
            return self._builtin(root, rest)
        if (binding.module or "").startswith("."):
            raise _AnnotationError(
                "ANNOTATION_UNRESOLVED",
                f"names {root}, and its relative import in line {binding.line} leads out of lunora/; correct it",
            )
        if binding.typing_only:
            raise _AnnotationError(
                "ANNOTATION_NOT_AT_RUNTIME",
                f"names {root}, imported under TYPE_CHECKING in line {binding.line}; arguments are validated at run "
                "time, so import it outside of that",
            )
        if self._is_type_variable(binding):
            raise _AnnotationError(
                "FUNCTION_GENERIC", f"names the type variable {root}; a job's arguments need concrete types"
            )
        old = self._typing_name(node)
        if old in _BUILTIN:
            return Reference(Symbol("builtins", _BUILTIN[old]))
        if old in _ABSTRACT:
            return Reference(Symbol("collections.abc", old))
        return _imported(self.module, binding, chain)

    def _builtin(self, root: str, rest: list[str]) -> Reference:
        if not hasattr(builtins, root):
            hint = (
                "; it may come from a star import, so import it by name" if self.module.stars else ""
            ) or "; import it, or define it at the top level of the module"
            raise _AnnotationError(
                "ANNOTATION_UNRESOLVED",
                f"names {root}, neither a builtin, nor imported or defined in {self.module.file}{hint}",
            )
        return Reference(Symbol("builtins", root), "".join(f".{part}" for part in rest))

    def _is_type_variable(self, binding: Binding) -> bool:
        value = binding.node.value if isinstance(binding.node, ast.Assign | ast.AnnAssign) else None
        return isinstance(value, ast.Call) and self.names.canonical(self.module, value.func) in _TYPE_VARIABLES

    def _typing_name(self, node: ast.expr) -> str:
        owner, _, name = (self.names.canonical(self.module, node) or "").rpartition(".")
        return name if owner in _TYPING else ""


def _imported(module: Module, binding: Binding, chain: tuple[str, ...]) -> Reference:
    """The symbol that a dotted name begins with, and the rest of the name."""
    if binding.target is None:
        return Reference(Symbol(module.name, chain[0]), _tail(chain[1:]))
    if binding.attribute is not None and binding.module is not None:
        return Reference(Symbol(binding.module, binding.attribute), _tail(chain[1:]))
    if binding.target == binding.module and binding.target != chain[0]:
        return Reference(Symbol(binding.target, "", chain[0]), _tail(chain[1:]))
    # `import a.b.c` binds `a`: what is named may lie in any module below it that is imported
    modules = [each.module or "" for each in module.bindings[chain[0]] if each.attribute is None]
    below = [each for each in modules if chain[: each.count(".") + 1] == tuple(each.split("."))]
    imported = max(below, key=len, default=chain[0])
    return Reference(Symbol(imported, ""), _tail(chain[imported.count(".") + 1 :]))


def _operands(node: ast.expr) -> list[ast.expr]:
    """The operands of ``a | b | c``, of which there may be more than Python's stack has room for."""
    operands: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        operands.append(node.right)
        node = node.left
    return [node, *reversed(operands)]


def _deeper_than(node: ast.expr, limit: int) -> bool:
    waiting: list[tuple[ast.AST, int]] = [(node, 0)]
    while waiting:
        found, depth = waiting.pop()
        if depth > limit:
            return True
        if isinstance(found, ast.BinOp):
            waiting.extend(((found.left, depth), (found.right, depth + 1)))
        elif not isinstance(found, ast.Attribute):
            waiting.extend((child, depth + 1) for child in ast.iter_child_nodes(found))
    return False


def _tail(parts: tuple[str, ...]) -> str:
    return "".join(f".{part}" for part in parts)


def _union(*items: Expression) -> Union:
    parts: list[Expression] = []
    for item in items:
        for part in item.items if isinstance(item, Union) else (item,):
            if part not in parts:
                parts.append(part)
    return Union(tuple(parts))


def _unsupported(node: ast.expr) -> _AnnotationError:
    return _AnnotationError(
        "ANNOTATION_UNSUPPORTED",
        f"contains {type(node).__name__}, which is no type; write a type, and metadata inside Annotated[...]",
    )
