"""A job that somebody wants, and what they know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lunorash.refs import FunctionReference
from lunorash.refs import Kind as FunctionKind
from lunorash.scheduler.options import RunOptions

__all__ = ["Plan"]


@dataclass(slots=True, kw_only=True)
class Plan:
    """One job that a client wants, and what it knows of it."""

    id: str
    incarnation: str
    at: float
    delay: int
    target: str
    args: dict[str, Any]
    options: RunOptions
    kind: FunctionKind = "action"
    together: float | None = None
    """When it falls due together with all others."""
    acknowledged: bool = False
    taken: bool = False
    """Whether somebody else has got its id, since the job was gone."""

    @property
    def reference(self) -> FunctionReference[Any]:
        """What it calls."""
        return FunctionReference(self.target, kind=self.kind, internal=True)

    def delay_at(self, now: float) -> int:
        """What a call at that time has to say."""
        return self.delay if self.together is None else max(0, round((self.together - now) * 1000))
