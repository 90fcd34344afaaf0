"""What a shard answers of a function that it ran, and how the Worker reads it: exceptions do not cross the border."""

from __future__ import annotations

from typing import Any

from lunorash.errors import LunoraError, UnavailableError
from lunorash.incident import describe, report, tellable, trace_of
from lunorash.retrying import NonRetryableError, RetryAfter
from lunorash.scheduler.completion import MAX_RESULT_BYTES
from lunorash.shard.buffered_scheduler import NeedsAnswerError
from lunorash.shard.calls import ShardCall

__all__ = ["UnexpectedError", "failure_answer", "outcome_answer", "raised_by"]


class UnexpectedError(LunoraError):
    """An exception nobody expected, raised by a function on a shard. ``detail`` is for whoever may see it."""

    detail: str = ""

    @classmethod
    def of(cls, answer: dict[str, Any]) -> UnexpectedError:
        """Read the answer of a shard."""
        error = cls(answer["error"]["code"], answer["error"]["message"])
        error.detail = answer["detail"]
        return error

    def told(self) -> LunoraError:
        """What is kept with an attempt, for whoever may look at it."""
        error = LunoraError("ATTEMPT_FAILED", self.detail)
        error.trace = self.trace
        return error


def outcome_answer(call: ShardCall, outcome: BaseException | str) -> dict[str, Any]:
    """What is answered of a mutation among others.

    Args:
        call: asked for it.
        outcome: what it raised, or its result. One that is too large to be passed on is cut, but not so short that it
            would not be too large any more.
    """
    if isinstance(outcome, NeedsAnswerError):
        return {"asks": True}
    if isinstance(outcome, BaseException):
        return failure_answer(outcome)
    return {"result": outcome[: MAX_RESULT_BYTES + 1]} if call.wants_result else {}


def failure_answer(error: BaseException) -> dict[str, Any]:
    """What is answered of a function that raised."""
    trace = trace_of(error)
    if not isinstance(error, LunoraError):
        return {"error": report("a function", error).to_dict(), "detail": describe(error), "trace": trace}
    told = tellable(error, "a function")
    return {
        "error": told.to_dict(),
        "status": told.status,
        "unavailable": isinstance(told, UnavailableError),
        "retryable": bool(told.retryable),
        "retry_after_ms": told.retry_after_ms,
        "trace": trace,
    }


def raised_by(answer: dict[str, Any]) -> LunoraError | None:
    """The error that a shard answers with, if it is one. One of the release before does not say all of it."""
    if "error" not in answer:
        return None
    raised = UnexpectedError.of(answer) if "detail" in answer else _coded(answer)
    raised.trace = answer.get("trace")
    return raised


def _coded(answer: dict[str, Any]) -> LunoraError:
    error, status = answer["error"], answer["status"]
    code, message, data = error["code"], error["message"], error.get("data")
    if not answer.get("retryable", True):
        return NonRetryableError(message, code=code, status=status, data=data)
    retry_after_ms = answer.get("retry_after_ms")
    if retry_after_ms is not None:
        return RetryAfter(retry_after_ms / 1000, message, code=code, status=status, data=data)
    kind = UnavailableError if answer["unavailable"] else LunoraError
    return kind(code, message, status=status, data=data)
