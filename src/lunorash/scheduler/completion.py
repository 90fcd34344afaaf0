"""What a function is told that is called when a job has ended."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from lunorash.scheduler.job import Ending

__all__ = ["MAX_RESULT_BYTES", "Completion", "CompletionError", "completion_id", "examples"]

MAX_RESULT_BYTES: Final = 32_768
"""The largest result, as UTF-8 JSON, that is passed on."""


class CompletionError(BaseModel):
    """Why a job did not succeed.

    Args:
        code: a stable word, such as ``"ATTEMPT_TIMED_OUT"``, or one of your own.
        message: what went wrong.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    code: str
    message: str


class Completion(BaseModel):
    """How a job ended: what ``RunOptions(on_complete=...)`` calls a mutation or an action with, once per ending.

    Annotate the function's only parameter with it. A job that was dead and is retried by hand ends again, and so does
    one that was given up and whose success is heard of late: each of these endings is told.

    Args:
        id: the job's id.
        incarnation: which of its lives has ended; a retry by hand begins another.
        target: what it called.
        outcome: ``"succeeded"``, ``"dead"``, ``"canceled"`` or ``"expired"``.
        attempts: how often it was tried.
        scheduled_for: when it was to run first, in epoch milliseconds.
        ended: when it came to rest, in epoch milliseconds.
        tags: its tags.
        result: what its function returned, if it succeeded; None for a workflow and an agent, which only begin then.
        result_omitted: whether it returned more than 32,768 bytes of JSON, or JSON that is nested too deeply, which is
            left out: let the function store it and return its key.
        error: its last error; None if it succeeded, or was canceled before anything went wrong.

    Example:
        >>> text = '{"id": "j", "incarnation": "i", "target": "billing:charge", "outcome": "succeeded", "attempts": 1,'
        >>> text += '"scheduled_for": 0, "ended": 5, "result": {"receipt": "r1"}}'
        >>> Completion.model_validate_json(text).result["receipt"]
        'r1'
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: str
    incarnation: str
    target: str
    outcome: Ending
    attempts: int
    scheduled_for: int
    ended: int
    tags: tuple[str, ...] = ()
    result: Any = None
    result_omitted: bool = False
    error: CompletionError | None = None


def examples() -> Iterator[dict[str, Any]]:
    """What a function may be called with, an example of each ending that has no result."""
    for outcome in ("dead", "canceled", "expired"):
        yield Completion(
            id="job",
            incarnation="incarnation",
            target="module:name",
            outcome=outcome,
            attempts=1,
            scheduled_for=0,
            ended=0,
            error=CompletionError(code="CODE", message="what went wrong"),
        ).model_dump(mode="json")


def completion_id(job_id: str, incarnation: str, outcome: Ending) -> str:
    """The id of the job that tells of an ending: the same however often it is made, and nobody else's.

    Example:
        >>> completion_id("j", "i", "succeeded")
        'ended-aad7b6ac5e882e2db177b3f2215f8b68'
    """
    told = "\0".join((job_id, incarnation, outcome))
    return f"ended-{hashlib.sha256(told.encode()).hexdigest()[:32]}"
