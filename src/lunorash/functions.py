"""The functions of an app: registered with their kind, found by their path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import Any, Final, Generic, ParamSpec, TypeVar

from lunorash.errors import LunoraError, shown
from lunorash.refs import Kind, check_function_path
from lunorash.signature import Signature

__all__ = ["FunctionTable", "RegisteredFunction", "register"]

_COMPARED: Final = 200  # no path is longer, and comparing takes time

P = ParamSpec("P")
R = TypeVar("R")


class RegisteredFunction(Generic[P, R]):
    """A function of the app, with what kind it is. It can be called like the function itself.

    Args:
        function: takes the context, then its arguments by name; ``def`` or ``async def``.
        kind: ``"query"``, ``"mutation"`` or ``"action"``.
        internal: whether only jobs and other functions may call it.
    """

    def __init__(self, function: Callable[P, R], *, kind: Kind, internal: bool) -> None:
        self.function = function
        self.kind = kind
        self.internal = internal
        self.name = getattr(function, "__qualname__", "the function")
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as a test may do."""
        return self.function(*args, **kwargs)

    @cached_property
    def signature(self) -> Signature:
        """What it takes and returns. Looked up when it is first used, since annotations may name later things."""
        return Signature(self.function, self.name)


def register(function: Callable[P, R], *, kind: Kind, internal: bool) -> RegisteredFunction[P, R]:
    """Make a function one of the app's. The decorators in ``lunora/_generated/server.py`` do this."""
    return RegisteredFunction(function, kind=kind, internal=internal)


class FunctionTable:
    """Functions by their path.

    Args:
        functions: paths such as ``"billing:end_trial"``, and the functions. A plain one, ``def`` or ``async def``, is
            taken as an internal action.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a path that is none, or a value that cannot be called.

    Example:
        >>> table = FunctionTable({"greetings:hello": lambda ctx, name: f"Hello, {name}"})
        >>> table.bind("greetings:hello", {"name": "Ada"})(None)
        'Hello, Ada'
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        table: dict[str, RegisteredFunction[..., Any]] = {}
        for path, function in functions.items():
            check_function_path(path)
            if not callable(function):
                raise LunoraError("INVALID_INPUT", f"{path} is of type {type(function).__name__}, not a function")
            if not isinstance(function, RegisteredFunction):
                function = register(function, kind="action", internal=True)  # noqa: PLW2901
            function.name = path
            table[path] = function
        self._functions = MappingProxyType(table)

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all functions."""
        return frozenset(self._functions)

    def get(self, path: str) -> RegisteredFunction[..., Any] | None:
        """The function at a path; None if there is none."""
        return self._functions.get(path)

    def find(self, path: str, kind: Kind | None = None) -> RegisteredFunction[..., Any]:
        """Find a function, of a kind if one is given.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND``.
        """
        function = self._functions.get(path)
        if function is None or kind not in (None, function.kind):
            near = get_close_matches(path[:_COMPARED], self._functions, n=1)
            hint = f"; did you mean {near[0]!r}?" if near and near[0] != path else ""
            raise LunoraError("FUNCTION_NOT_FOUND", f"there is no {kind or 'function'} {shown(path)}{hint}")
        return function

    def kind_of(self, path: str) -> Kind | None:
        """What the function at a path is; None if there is none."""
        function = self._functions.get(path)
        return None if function is None else function.kind

    def check_target(self, target: str, args: Mapping[str, Any]) -> None:
        """Refuse a function that is not there, or arguments that it does not take.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND`` or ``INVALID_INPUT``.
        """
        if ":" in target:  # a workflow or an agent takes any arguments
            self.find(target).signature.check(args)

    def bind(self, path: str, args: Mapping[str, Any]) -> Callable[[Any], Any]:
        """Find a function and fit arguments to it.

        Returns:
            a callable that takes the context and runs the function.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND``, or ``INVALID_INPUT`` when the arguments do not fit.
        """
        function = self.find(path)
        parsed = function.signature.parse(json.dumps(args))
        return lambda ctx: function.function(ctx, **parsed)
