"""The generated types of functions' arguments: one name each, and which of them mean the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.expression import Bracketed, Expression, Reference, Symbol, Union, flat, symbols

__all__ = [
    "ANY",
    "DICT",
    "NOT_REQUIRED",
    "NO_ARGS",
    "ArgumentTypes",
    "model_type",
    "pascal",
    "shortened",
    "symbols_of",
    "unique",
]

NO_ARGS: Final = "NoArgs"
ANY: Final = Symbol("typing", "Any")
DICT: Final = Bracketed(Reference(Symbol("builtins", "dict")), (Reference(Symbol("builtins", "str")), Reference(ANY)))
NOT_REQUIRED: Final = Symbol("typing", "NotRequired")
_MAX_NAME: Final = 48


@dataclass(frozen=True, slots=True)
class ArgumentTypes:
    """The argument types of all functions.

    Args:
        names: the type's name, by function path.
    """

    names: dict[str, str]

    @classmethod
    def of(cls, functions: Iterable[AppFunction]) -> ArgumentTypes:
        """Name the types of functions that are given in order of their paths."""
        names: dict[str, str] = {}
        used: set[str] = set()
        for function in functions:
            if function.parameters or function.model is not None:
                base = "_" + shortened(pascal(function.module) + pascal(function.name)) + "Args"
                names[function.path] = unique(base, used)
            else:
                names[function.path] = NO_ARGS
        return cls(names)

    def distinct(self, functions: Iterable[AppFunction]) -> Iterator[AppFunction]:
        """One function for each type of arguments, `NoArgs` excepted: equal types need one overload only."""
        seen: set[object] = set()
        for function in functions:
            key = _shape(function)
            if self.names[function.path] != NO_ARGS and key not in seen:
                seen.add(key)
                yield function


def pascal(name: str) -> str:
    """``CronsJobs`` for ``crons.jobs``."""
    return "".join(word[:1].upper() + word[1:] for part in name.split(".") for word in part.split("_"))


def shortened(name: str) -> str:
    """A name that leaves room on a line: long ones end in a hash of the whole."""
    if len(name) <= _MAX_NAME:
        return name
    return name[: _MAX_NAME - 8] + hashlib.sha256(name.encode()).hexdigest()[:8].upper()


def unique(base: str, used: set[str]) -> str:
    """``base``, or with a number behind it if it is used."""
    name, number = base, 2
    while name in used:
        name, number = f"{base}{number}", number + 1
    used.add(name)
    return name


def symbols_of(function: AppFunction) -> Iterator[Symbol]:
    """What a function's argument type names."""
    if function.model is not None:
        yield from symbols(function.model)
        yield from symbols(DICT)
    for parameter in function.parameters:
        yield from symbols(parameter.annotation)


def model_type(model: Expression) -> Expression:
    """The arguments of a function that takes one model."""
    return Union((model, DICT))


def _shape(function: AppFunction) -> object:
    if function.model is not None:
        return flat(function.model, _absolute)
    return frozenset(
        (parameter.name, parameter.required, flat(parameter.annotation, _absolute)) for parameter in function.parameters
    )


def _absolute(symbol: Symbol) -> str:
    return f"{symbol.module}:{symbol.attribute}"
