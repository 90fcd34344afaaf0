"""One call of a query or mutation, as it travels from the Worker to a shard."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.contexts import Auth, Job

__all__ = ["ShardCall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCall:
    """A call.

    Args:
        path: the function's path.
        args: its arguments, JSON text.
        auth: who calls.
        job: the job it runs for, if any: its effects then happen once.
        wants_result: whether its result is wanted, of a mutation that is called together with others.
        traceparent: of the request or the attempt that it is part of, if any.
    """

    path: str
    args: str
    auth: Auth
    job: Job | None = None
    wants_result: bool = False
    traceparent: str | None = None

    def to_text(self) -> str:
        """As it travels."""
        return json.dumps(self._to_dict())

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote."""
        return cls._from_dict(decode_json(text, what="the call", max_depth=MAX_ENVELOPE_DEPTH))

    @staticmethod
    def many_to_text(calls: Iterable[ShardCall]) -> str:
        """Several of them, as they travel together."""
        return json.dumps([call._to_dict() for call in calls])

    @classmethod
    def many_from_text(cls, text: str) -> list[Self]:
        """Read what `many_to_text` wrote."""
        many = decode_json(text, what="the calls", max_depth=MAX_ENVELOPE_DEPTH + 1)
        return [cls._from_dict(fields) for fields in many]

    def _to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "args": self.args,
            "user_id": self.auth.user_id,
            "claims": dict(self.auth.claims),
            "job": None if self.job is None else self.job.to_dict(),
            "wants_result": self.wants_result,
            "traceparent": self.traceparent,
        }

    @classmethod
    def _from_dict(cls, fields: dict[str, Any]) -> Self:
        job, traceparent = fields["job"], fields.get("traceparent")
        return cls(
            path=fields["path"],
            args=fields["args"],
            auth=Auth(user_id=fields["user_id"], claims=fields["claims"]),
            job=None if job is None else Job(**job, traceparent=traceparent),
            wants_result=fields.get("wants_result", False),
            traceparent=traceparent,
        )
