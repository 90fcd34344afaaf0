"""The values of a cron job that can be read off the source: literals, and a few calls of literals for its options."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final

from lunorash.codegen.names import Names
from lunorash.codegen.source import Module
from lunorash.scheduler.retry import RetryPolicy

__all__ = ["NotStaticError", "described", "read_literal", "read_option"]

_MAX_DEPTH: Final = 100
_MAX_BITS: Final = 64
_CALLABLE: Final = MappingProxyType(
    {
        "datetime.timedelta": timedelta,
        "lunorash.scheduler.RetryPolicy": RetryPolicy,
        "lunorash.scheduler.retry.RetryPolicy": RetryPolicy,
    }
)
_ARITHMETIC: Final[MappingProxyType[type[ast.operator], Callable[[Any, Any], Any]]] = MappingProxyType(
    {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
)


class NotStaticError(Exception):
    """What cannot be read off the source.

    Args:
        node: where.
        what: what it is, as a message names it.
    """

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.lineno: int = getattr(node, "lineno", 1)
        self.what = what


def read_literal(node: ast.expr) -> Any:
    """The value of a literal: a constant, a number with a sign, or a list, tuple or dict of literals.

    Raises:
        NotStaticError: for anything else.
    """
    return _literal(node, 0)


def read_option(node: ast.expr, module: Module, names: Names) -> Any:
    """The value of an option: a literal, a sum or product of numbers, or a `timedelta` or `RetryPolicy` of those.

    Raises:
        NotStaticError: for anything else.
        Exception: whatever `timedelta` and `RetryPolicy` refuse their arguments with.
    """
    if not isinstance(node, ast.Call):
        return _number_or_literal(node)
    called = _CALLABLE.get(names.canonical(module, node.func) or "")
    if called is None:
        raise NotStaticError(
            node, f"a call of {_named(node.func)}, which is neither datetime's timedelta nor our RetryPolicy"
        )
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise NotStaticError(keyword.value, "a dict that is unpacked")
        keywords[keyword.arg] = _number_or_literal(keyword.value)
    return called(*(_number_or_literal(argument) for argument in node.args), **keywords)


def _literal(node: ast.expr, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotStaticError(node, f"something nested more than {_MAX_DEPTH} levels deep")
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return _signed(node)
    if isinstance(node, ast.List):
        return [_literal(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_literal(item, depth + 1) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {_key(key, value): _literal(value, depth + 1) for key, value in zip(node.keys, node.values, strict=True)}
    raise NotStaticError(node, described(node))


def _key(key: ast.expr | None, value: ast.expr) -> Any:
    if key is None:
        raise NotStaticError(value, "a dict that is unpacked")
    if not isinstance(key, ast.Constant):
        raise NotStaticError(key, f"a key that is {described(key)}")
    return key.value


def _signed(node: ast.UnaryOp) -> int | float:
    value = node.operand.value if isinstance(node.operand, ast.Constant) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.UAdd):
            return value
    raise NotStaticError(node, "an expression")


def _number_or_literal(node: ast.expr) -> Any:
    return _number(node, 0) if isinstance(node, ast.BinOp) else read_literal(node)


def _number(node: ast.expr, depth: int) -> int | float:
    if depth > _MAX_DEPTH:
        raise NotStaticError(node, f"something nested more than {_MAX_DEPTH} levels deep")
    if isinstance(node, ast.BinOp):
        operate = _ARITHMETIC.get(type(node.op))
        if operate is None:
            raise NotStaticError(node, "an expression other than a sum, a difference or a product")
        value = operate(_number(node.left, depth + 1), _number(node.right, depth + 1))
    else:
        value = read_literal(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotStaticError(node, "an expression of what is no number")
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:  # a product of long numbers takes long
        raise NotStaticError(node, f"a number of more than {_MAX_BITS} bits")
    return value


def described(node: ast.expr) -> str:
    """What a message calls an expression that is no literal."""
    if isinstance(node, ast.JoinedStr):
        return "an f-string"
    if isinstance(node, ast.Name | ast.Attribute):
        return f"the name {_named(node)}"
    if isinstance(node, ast.Call):
        return f"a call of {_named(node.func)}"
    if isinstance(node, ast.Starred):
        return "a list that is unpacked"
    if isinstance(node, ast.Set):
        return "a set, which JSON has not"
    return "an expression"


def _named(node: ast.expr) -> str:
    """The source of a name, if it is one, and short."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 8:
        parts.append(node.attr)
        node = node.value
    root = node.id if isinstance(node, ast.Name) else "..."
    return ".".join((root, *reversed(parts)))
