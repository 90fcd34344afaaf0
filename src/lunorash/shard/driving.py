"""Running a mutation's body to its end without yielding to the event loop.

The body may be ``async def``, but nothing may run between its first statement and its commit. A body that yields
(real I/O, ``gather``, ``sleep``) or starts a task is refused, whatever it does about that.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.incident import is_library

__all__ = ["drive"]

_REFUSALS: Final = 5


class _Refused(BaseException):
    """Thrown into a body that yielded. A BaseException, so that ``except Exception`` does not swallow it."""


def drive(call: Callable[[], Any]) -> Any:
    """Run a function to its end.

    Args:
        call: runs it; what it returns is a plain result, or an awaitable, which is driven.

    Returns:
        the result.

    Raises:
        LunoraError: ``MUTATION_YIELDED`` naming the line, when the body yielded or left a task behind.
    """
    with _tasks_started() as started:
        value = call()
        result = _to_its_end(value) if inspect.isawaitable(value) else value
    if started:
        places = ", ".join(sorted({_task_place(task) for task in started}))
        raise _yielded(f"it started a task ({places})")
    return result


def _to_its_end(value: Any) -> Any:
    body = value if inspect.iscoroutine(value) else _awaited(value)
    try:
        waits_for = body.send(None)
    except StopIteration as end:
        return end.value
    place = _place(body)
    _throw_out(body)
    if isinstance(waits_for, asyncio.Future):
        _abandon(waits_for)
    raise _yielded(f"it waits at {place}")


def _throw_out(body: Coroutine[Any, Any, Any] | Generator[Any, Any, Any]) -> None:
    for _ in range(_REFUSALS):
        try:
            body.throw(_Refused())
        except StopIteration:
            return  # it swallowed the refusal and returned; what it returned does not count
        except BaseException:  # noqa: BLE001 - whatever it makes of the refusal, it has ended
            return
    try:
        body.close()
    except RuntimeError:
        return  # it ignores even that; it holds nothing but a closed database


def _abandon(future: asyncio.Future[Any]) -> None:
    """Cancel what nobody will await, and look at how it ends, or the event loop complains that nobody did."""
    future.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
    future.cancel()


def _awaited(value: Any) -> Generator[Any, Any, Any]:
    generator: Generator[Any, Any, Any] = value.__await__()
    return generator


def _place(body: Any) -> str:
    """Where in the app's own code a body waits: the innermost of its frames."""
    frame: FrameType | None = None
    awaited = body
    while awaited is not None:
        inner = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if inner is not None and not is_library(inner.f_code.co_filename):
            frame = inner
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


@contextmanager
def _tasks_started() -> Iterator[list[asyncio.Task[Any]]]:
    """Collect the tasks that are started meanwhile, and abandon them at the end.

    To compare `asyncio.all_tasks` before and after would take longer the more dispatches are under way.
    """
    started: list[asyncio.Task[Any]] = []
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # no loop runs, so no task can be started either
        yield started
        return
    create_task = loop.create_task

    def start(*args: Any, **options: Any) -> asyncio.Task[Any]:
        task = create_task(*args, **options)
        started.append(task)
        return task

    # not by a task factory: the loop of Pyodide 314 calls what Python 3.14 no longer has for the tasks of one
    loop.create_task = start  # type: ignore[method-assign]
    try:
        yield started
    finally:
        loop.create_task = create_task  # type: ignore[method-assign]
        for task in started:
            _abandon(task)


def _task_place(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    name = getattr(coroutine, "__qualname__", None) or type(coroutine).__name__
    code = getattr(coroutine, "cr_code", None) or getattr(coroutine, "gi_code", None)
    return name if code is None else f"{name} of {code.co_filename}:{code.co_firstlineno}"


def _yielded(how: str) -> LunoraError:
    return LunoraError(
        "MUTATION_YIELDED",
        f"the mutation was rolled back: {how}. A mutation runs without waiting for anything but ctx; "
        "do I/O in an action, which may call mutations",
    )
