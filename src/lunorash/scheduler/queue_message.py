"""What travels through a Cloudflare Queue: one call, as JSON text.

::

    {"version": 1, "target": "imports:process_row", "args": {...}, "due": 1796083200000, "shard_key": null}

It travels as text, not as an object of the platform's: 1.0 stays a float, integers keep all their digits, and what
comes from outside is read by `lunorash.codec` and by nothing else.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.errors import LunoraError, UnavailableError, shown

__all__ = ["MAX_MESSAGE_BYTES", "OVERHEAD_BYTES", "VERSION", "QueueMessage", "encode_message", "read_message"]

VERSION: Final = 1

OVERHEAD_BYTES: Final = 100
"""What the platform adds to every message, and counts."""

MAX_MESSAGE_BYTES: Final = 128_000 - OVERHEAD_BYTES
"""The largest message that a queue takes, as UTF-8."""


class QueueMessage(BaseModel):
    """A message as its consumer reads it. What a later version adds to it is ignored.

    Args:
        target: what to call.
        args: its arguments.
        due: when it was to run, in epoch milliseconds.
        shard_key: which shard a mutation runs on.
    """

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    target: str
    args: dict[str, Any]
    due: int
    shard_key: str | None = None


class _Envelope(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)

    version: int


def encode_message(*, target: str, args: str, due: int, shard_key: str | None) -> str:
    """A message's text.

    Args:
        target: what to call.
        args: its arguments, JSON text; spliced in as it is.
        due: when it is to run, in epoch milliseconds.
        shard_key: which shard a mutation runs on.

    Raises:
        LunoraError: ``PAYLOAD_TOO_LARGE`` when no queue would take it.

    Example:
        >>> encode_message(target="billing:charge", args='{"n":1}', due=0, shard_key=None)
        '{"version": 1, "target": "billing:charge", "due": 0, "shard_key": null, "args": {"n":1}}'
    """
    head = json.dumps({"version": VERSION, "target": target, "due": due, "shard_key": shard_key})
    text = f'{head[:-1]}, "args": {args}}}'
    size = len(text.encode())
    if size > MAX_MESSAGE_BYTES:
        raise LunoraError(
            "PAYLOAD_TOO_LARGE",
            f"the message for {shown(target)} takes {size:,} bytes; a queue takes {MAX_MESSAGE_BYTES:,}. Store the "
            "data first and enqueue its key, or use ctx.scheduler.run_after, whose jobs may carry more",
        )
    return text


def read_message(body: object) -> QueueMessage:
    """Read the body of a message. What is wrong with it is told without repeating any of it.

    Raises:
        UnavailableError: ``BAD_REQUEST`` when it is of a version that we do not speak.
        LunoraError: ``BAD_REQUEST`` when it was not made by `encode_message` at all.

    Example:
        >>> read_message(encode_message(target="billing:charge", args='{"n":1}', due=0, shard_key=None)).args
        {'n': 1}
    """
    if not isinstance(body, str):
        raise LunoraError("BAD_REQUEST", "its body is not text")
    try:
        value = decode_json(body, what="its body", max_depth=MAX_ENVELOPE_DEPTH)
    except LunoraError:  # whose message may say which character is wrong
        raise LunoraError("BAD_REQUEST", "its body is not JSON that we read") from None
    try:
        version = _Envelope.model_validate(value).version
        if version != VERSION:
            raise UnavailableError("BAD_REQUEST", f"it is of version {shown(version)}; this Worker speaks {VERSION}")
        return QueueMessage.model_validate(value)
    except ValidationError as error:
        fields = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        raise LunoraError(
            "BAD_REQUEST", f"its body is not one of ours: look at {', '.join(sorted(fields)) or 'the whole'}"
        ) from None
