"""Fewer turns of the event loop that a Worker has."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

__all__ = ["spare_turns", "start"]

T = TypeVar("T")


def start(body: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task, in the Worker at once: each turn of its event loop costs as much as a small function does.

    Args:
        body: what it does. Before Python 3.12, where only tests and the simulator are, it begins with the next turn.
    """
    if sys.version_info >= (3, 12):
        return asyncio.Task(body, loop=asyncio.get_running_loop(), eager_start=True)
    return asyncio.create_task(body)


def spare_turns() -> None:
    """Have what succeeds end without a turn of the event loop of its own.

    Pyodide's loop counts the futures that are under way, for pages that want to know when there are none. In a Worker
    nobody asks, yet the end of every future and task waits for one more turn of JavaScript's event loop to be counted:
    more than a third of the turns in which actions are dispatched. Here it is counted at once. A failure is left to
    the loop, which reports one that nobody has looked at by then.

    A loop that does not count is left as it is, and so is one that is not there yet.
    """
    try:
        loop: Any = asyncio.get_event_loop()
    except RuntimeError:
        return
    count = getattr(loop, "_decrement_in_progress", None)
    if count is None or "call_soon" in vars(loop):
        return
    put_off = loop.call_soon
    counted = asyncio.Handle(count, (), loop)

    def call_soon(callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        if callback == count and not args[0].cancelled() and args[0].exception() is None:
            callback(*args)
            return counted
        handle: asyncio.Handle = put_off(callback, *args, context=context)
        return handle

    loop.call_soon = call_soon
