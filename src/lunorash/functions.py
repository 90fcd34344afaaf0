"""The functions a Worker can run, and what each is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from lunorash.errors import LunoraError, shown
from lunorash.refs import Kind, check_function_path
from lunorash.signature import Signature

if TYPE_CHECKING:
    from lunorash.scheduler.client import Scheduler

__all__ = ["Auth", "Context", "FunctionTable", "Job", "RegisteredFunction", "register"]

P = ParamSpec("P")
R = TypeVar("R")

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The job that a function runs for.

    Args:
        id: its id.
        incarnation: changes when a dead letter is retried by hand; (id, incarnation) is the key under which
            an effect should happen once.
        attempt: the number of this delivery, from 1; numbers are never used again.
        scheduled_for: when it was to run, in epoch milliseconds.
    """

    id: str
    incarnation: str
    attempt: int
    scheduled_for: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """Who calls. Jobs run as nobody."""

    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a function gets as its first argument.

    Args:
        env: the Worker's bindings and variables.
        job: the job it runs for.
        scheduler: schedules further jobs; see `lunorash.scheduler.create_scheduler`.
        auth: who calls; ``auth.user_id`` is None for jobs.
    """

    env: Any
    job: Job
    scheduler: Scheduler
    auth: Auth = Auth()


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
        self.name = f"{function.__module__.removeprefix('lunora.')}:{function.__qualname__}"
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
        functions: paths such as ``"billing:end_trial"``, and the functions, ``def`` or ``async def``, that
            take a `Context` and the job's arguments by name.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a path that is none, or a value that cannot be called.

    Example:
        >>> table = FunctionTable({"greetings:hello": lambda ctx, name: f"Hello, {name}"})
        >>> table.bind("greetings:hello", {"name": "Ada"})(None)
        'Hello, Ada'
    """

    def __init__(self, functions: Mapping[str, Function]) -> None:
        for path, function in functions.items():
            check_function_path(path)
            if not callable(function):
                raise LunoraError("INVALID_INPUT", f"{path} is of type {type(function).__name__}, not a function")
        self._functions = MappingProxyType(dict(functions))

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all functions."""
        return frozenset(self._functions)

    def get(self, path: str) -> RegisteredFunction[..., Any] | None:
        """The function at a path; None if there is none."""
        function = self._functions.get(path)
        return function if isinstance(function, RegisteredFunction) else None

    def find(self, path: str, kind: Kind) -> RegisteredFunction[..., Any]:
        """Find a function of a kind.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND``.
        """
        function = self.get(path)
        if function is None or function.kind != kind:
            raise LunoraError("FUNCTION_NOT_FOUND", f"this Worker has no {kind} {shown(path)}")
        return function

    def check_target(self, target: str, args: Mapping[str, Any]) -> None:
        """Refuse a target that is not there, or arguments that it does not take.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND`` or ``INVALID_INPUT``.
        """
        function = self._functions.get(target)
        if function is None:
            known = ", ".join(sorted(self._functions)[:10]) or "none"
            raise LunoraError("FUNCTION_NOT_FOUND", f"there is no function {shown(target)}; there is {known}")
        if isinstance(function, RegisteredFunction):
            function.signature.check(args)

    def bind(self, path: str, args: Mapping[str, Any]) -> Callable[[Context], Any]:
        """Find a function and fit arguments to it.

        Returns:
            a callable that takes the context and runs the function.

        Raises:
            LunoraError: ``FUNCTION_NOT_FOUND``, or ``INVALID_INPUT`` when the arguments do not fit.
        """
        function = self._functions.get(path)
        if function is None:
            known = ", ".join(sorted(self._functions)[:10]) or "none"
            raise LunoraError("FUNCTION_NOT_FOUND", f"this Worker has no function {path!r}; it has {known}")
        try:
            inspect.signature(function).bind(None, **args)
        except (TypeError, ValueError) as error:  # ValueError: some built-in functions have no signature
            raise LunoraError("INVALID_INPUT", f"the arguments do not fit {path}: {error}") from None
        return lambda ctx: function(ctx, **args)
