"""The functions a Worker can run, and what each is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lunorash.errors import LunoraError
from lunorash.refs import check_function_path

if TYPE_CHECKING:
    from lunorash.scheduler.client import Scheduler

__all__ = ["Auth", "Context", "FunctionTable", "Job"]

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
