"""What travels between a SchedulerDO and a receiver: one signed JSON body there, JSON lines back.

::

    -> {"version": 1, "audience": "https://app.example.com", "instance": "<object id>", "attempts": [...]}
    <- {"type": "results", "results": [{"job": ..., "attempt": 1, "outcome": "ok"}]}
    <- {"type": "heartbeat"}
    <- {"type": "end"}

A stream without its ``end`` line was cut: an early close looks like a clean one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.contexts import Job
from lunorash.errors import LunoraError
from lunorash.incident import MAX_TRACE
from lunorash.scheduler.job import Attempt, Dispatch, Outcome, Result

__all__ = [
    "ANSWER_TYPE",
    "DISPATCH_PATH",
    "END",
    "HEARTBEAT",
    "MAX_CODE",
    "MAX_MESSAGE",
    "VERSION",
    "DispatchBody",
    "End",
    "Heartbeat",
    "ReceivedAttempt",
    "Results",
    "encode_dispatch",
    "encode_results",
    "read_dispatch",
    "read_line",
    "split_lines",
    "text_of",
]

DISPATCH_PATH: Final = "/_lunora/scheduler/dispatch"
ANSWER_TYPE: Final = "application/x-ndjson"
"""The content type of an answer; anything else comes from somebody else."""
VERSION: Final = 1
MAX_LINE: Final = 1024 * 1024
_LINE_FILLED: Final = MAX_LINE // 2  # from where on another line is begun; no result is longer than the rest
MAX_CODE: Final = 100
MAX_MESSAGE: Final = 2_000
"""The longest error text that is kept of an attempt, in characters."""


class _Wire(BaseModel):
    # Text that was refused is never repeated in a message: it may be somebody's data.
    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)


class ReceivedAttempt(_Wire):
    """One attempt as the receiver gets it; ``args`` are decoded."""

    job: str
    incarnation: str
    number: int
    target: str
    args: dict[str, Any]
    scheduled_for: int
    timeout_ms: int
    shard_key: str | None = None
    redrives: int = 0
    wants_result: bool = False
    traceparent: str | None = None

    def as_job(self) -> Job:
        """The job as its function is told of it."""
        return Job(
            id=self.job,
            incarnation=self.incarnation,
            attempt=self.number,
            scheduled_for=self.scheduled_for,
            traceparent=self.traceparent,
        )


class DispatchBody(_Wire):
    """The body of a dispatch. ``audience`` is the origin it was made for, ``instance`` the object that sent it."""

    version: int
    audience: str
    instance: str
    attempts: list[ReceivedAttempt]


class _WireResult(_Wire):
    # what is new has a default, and what is not known is passed over: while a deploy is in progress, either end may be
    # of the release before
    job: str
    attempt: int
    outcome: Outcome
    retryable: bool = True
    shared: bool = False
    code: str | None = None
    message: str | None = None
    retry_after_ms: int | None = None
    traceback: str | None = None
    result: str | None = None
    result_omitted: bool = False


class Results(_Wire):
    """Attempts that have ended."""

    type: Literal["results"]
    results: list[_WireResult]

    def as_results(self) -> list[Result]:
        """The same as the engine takes them."""
        return [_cut(result) for result in self.results]


def _cut(result: _WireResult) -> Result:
    """A result as it is kept: whoever sent it need not have cut its texts."""
    if result.outcome == "ok":
        return Result(**result.__dict__)
    cut = {
        "code": text_of(result.code, MAX_CODE),
        "message": text_of(result.message, MAX_MESSAGE),
        "traceback": text_of(result.traceback, MAX_TRACE),
    }
    return Result(**{**result.__dict__, **cut})


class Heartbeat(_Wire):
    """The receiver is alive and its attempts go on."""

    type: Literal["heartbeat"]


class End(_Wire):
    """Everything has been said."""

    type: Literal["end"]


_LINE: Final[TypeAdapter[Results | Heartbeat | End]] = TypeAdapter(
    Annotated[Results | Heartbeat | End, Field(discriminator="type")]
)

HEARTBEAT: Final = b'{"type":"heartbeat"}\n'
END: Final = b'{"type":"end"}\n'


def encode_dispatch(dispatch: Dispatch, *, audience: str, instance: str) -> bytes:
    """The body of a dispatch. The arguments are spliced in as they are stored: they are JSON already."""
    attempts = ",".join(_encode_attempt(attempt) for attempt in dispatch.attempts)
    head = json.dumps({"version": VERSION, "audience": audience, "instance": instance})
    return f'{head[:-1]}, "attempts": [{attempts}]}}'.encode()


def _encode_attempt(attempt: Attempt) -> str:
    fields: dict[str, Any] = {
        "job": attempt.job,
        "incarnation": attempt.incarnation,
        "number": attempt.number,
        "target": attempt.target,
        "scheduled_for": attempt.scheduled_for,
        "timeout_ms": attempt.timeout_ms,
        "shard_key": attempt.shard_key,
        "redrives": attempt.redrives,
    }
    if attempt.wants_result:
        fields["wants_result"] = True
    if attempt.traceparent is not None:
        fields["traceparent"] = attempt.traceparent
    return f'{json.dumps(fields)[:-1]}, "args": {attempt.args}}}'


def read_dispatch(body: bytes) -> DispatchBody:
    """Read the body of a dispatch whose signature was good.

    Raises:
        LunoraError: ``BAD_REQUEST`` when it is not one, or of a version we do not speak.
    """
    value = decode_json(body, max_depth=MAX_ENVELOPE_DEPTH)
    try:
        dispatch = DispatchBody.model_validate(value)
    except ValidationError as error:
        raise LunoraError("BAD_REQUEST", f"the body is not a dispatch: {_first(error)}") from None
    if dispatch.version != VERSION:
        raise LunoraError(
            "BAD_REQUEST",
            f"the dispatch is of protocol version {dispatch.version}; this Worker speaks {VERSION}",
        )
    return dispatch


def encode_results(results: Iterable[Result]) -> bytes:
    """The outcome of every attempt that is ready: one line, or several if it would be too long for one."""
    lines: list[list[str]] = []
    size = _LINE_FILLED
    for result in results:
        text = json.dumps(_wire(result))
        if size + len(text) > _LINE_FILLED:
            lines.append([])
            size = 0
        lines[-1].append(text)
        size += len(text)
    return "".join(f'{{"type": "results", "results": [{", ".join(line)}]}}\n' for line in lines).encode()


def _wire(result: Result) -> dict[str, Any]:
    """What is said of one attempt; nothing of what does not apply."""
    said: dict[str, Any] = {"job": result.job, "attempt": result.attempt, "outcome": result.outcome}
    if result.outcome == "ok":
        if result.result is not None:
            said["result"] = result.result
        if result.result_omitted:
            said["result_omitted"] = True
        return said
    return {
        **said,
        "retryable": result.retryable,
        "shared": result.shared,
        "code": text_of(result.code, MAX_CODE),
        "message": text_of(result.message, MAX_MESSAGE),
        "retry_after_ms": result.retry_after_ms,
        "traceback": text_of(result.traceback, MAX_TRACE),
    }


def text_of(value: object, limit: int) -> str | None:
    """What an app put into an error, fit to travel: it may be no text at all, endless, or half a surrogate pair.

    Args:
        value: the error's code or message.
        limit: how many characters to keep at most.
    """
    if value is None:
        return None
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - an exception that cannot even say what it is
        text = f"a {type(value).__name__} without a text"
    return text[:limit].encode("utf-8", "replace").decode()


def read_line(line: str) -> Results | Heartbeat | End:
    """Read one line of a receiver's answer.

    Raises:
        LunoraError: ``BAD_REQUEST`` when it is none.
    """
    value = decode_json(line, what="the line")
    try:
        event = _LINE.validate_python(value)
    except ValidationError as error:
        raise LunoraError("BAD_REQUEST", f"the line is not part of an answer: {_first(error)}") from None
    if isinstance(event, End) and "".join(line.split()) != END.decode().strip():
        # such as a garbled line whose last "type" is this: attempts that still run would be given up
        raise LunoraError("BAD_REQUEST", "the line is not part of an answer: its end line is written in one way")
    return event


async def split_lines(chunks: AsyncGenerator[str]) -> AsyncGenerator[list[str]]:
    """Cut a stream of text into lines: those that come together, again and again.

    What follows the last line break is not a line: it was cut.

    Raises:
        LunoraError: ``BAD_REQUEST`` for a line longer than any receiver writes.
    """
    rest = ""
    async with aclosing(chunks):
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split("\n")
            short = [*takewhile(lambda line: len(line) <= MAX_LINE, lines)]
            if short:
                yield short
            if len(short) < len(lines) or len(rest) > MAX_LINE:
                raise LunoraError("BAD_REQUEST", f"a line of the answer is longer than {MAX_LINE:,} characters")


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(step) for step in _bounded(problem["loc"]))
    return f"{where or 'the whole'}: {problem['msg']}"


def _bounded(loc: Sequence[int | str]) -> Sequence[int | str]:
    return [step if isinstance(step, int) else step[:60] for step in loc[:8]]
