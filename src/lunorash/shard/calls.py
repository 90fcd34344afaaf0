"""One call of a query or mutation, as it travels from the Worker to a shard."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
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
    """

    path: str
    args: str
    auth: Auth
    job: Job | None = None

    def to_text(self) -> str:
        """As it travels."""
        return json.dumps(
            {
                "path": self.path,
                "args": self.args,
                "user_id": self.auth.user_id,
                "claims": dict(self.auth.claims),
                "job": None if self.job is None else asdict(self.job),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote."""
        fields: dict[str, Any] = decode_json(text, what="the call", max_depth=MAX_ENVELOPE_DEPTH)
        job = fields["job"]
        return cls(
            path=fields["path"],
            args=fields["args"],
            auth=Auth(user_id=fields["user_id"], claims=fields["claims"]),
            job=None if job is None else Job(**job),
        )
