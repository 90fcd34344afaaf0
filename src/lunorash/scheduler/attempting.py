"""One attempt at a function, within its time: the value it returns, or a coded error, whatever it does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

from lunorash.errors import LunoraError
from lunorash.incident import describe, trace_of
from lunorash.scheduler.deadlines import Deadlines

__all__ = ["attempt"]


def _described(error: BaseException) -> LunoraError:
    return LunoraError("ATTEMPT_FAILED", describe(error))


async def attempt(
    call: Callable[[], object],
    timeout_ms: int,
    *,
    deadlines: Deadlines | None = None,
    stopping: Callable[[], bool] = lambda: False,
    unexpected: Callable[[BaseException], LunoraError] = _described,
) -> object:
    """Call a function; it is cancelled when its time is up.

    Args:
        call: what to call; an awaitable that it returns is awaited.
        timeout_ms: how long it may take, in milliseconds.
        deadlines: those of the object that calls, so that its attempts need no timer each.
        stopping: whether a cancellation comes from us, and is to pass; else it is the function that raised it.
        unexpected: makes the error for whatever the function raised that is no `LunoraError`.

    Returns:
        what the function returned.

    Raises:
        LunoraError: what the function raised, ``ATTEMPT_TIMED_OUT`` when its time was up, or what ``unexpected`` makes.
    """
    limit = (deadlines or Deadlines()).within(timeout_ms / 1000)
    try:
        async with limit:
            value = call()
            return await value if inspect.isawaitable(value) else value
    except LunoraError as error:
        raise _traced(error, error) from None
    except TimeoutError as error:
        if limit.expired():
            late = LunoraError("ATTEMPT_TIMED_OUT", f"it took longer than its {timeout_ms:,} ms")
            raise _traced(late, error) from None
        raise _traced(unexpected(error), error) from None
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and stopping():
            raise
        raise _traced(unexpected(error), error) from None


def _traced(error: LunoraError, raised: BaseException) -> LunoraError:
    """The error with where it came up; one that comes from a shard knows that better."""
    if error.trace is None:
        error.trace = trace_of(raised)
    return error
