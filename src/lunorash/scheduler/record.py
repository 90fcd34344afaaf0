"""What a caller sees of a job."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from lunorash.codec import decode_json
from lunorash.scheduler.job import State
from lunorash.scheduler.retry import RetryPolicy

__all__ = ["Failure", "JobRecord", "Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt that counted and did not succeed. Times are epoch milliseconds."""

    number: int
    incarnation: str
    dispatch: str | None
    started: int | None
    ended: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as it stands. Times are epoch milliseconds.

    Args:
        id: its id.
        incarnation: changes with each retry by hand.
        target: the path of its function.
        args: its arguments.
        state: ``"pending"``, ``"running"``, ``"succeeded"``, ``"dead"`` or ``"canceled"``.
        due: when its next attempt is due, or its last was.
        scheduled_for: when it was to run first.
        created: when it was scheduled.
        retry: its retry policy.
        timeout_ms: how long one attempt may take.
        shard_key: the shard it runs on.
        attempts: how often it was tried.
        charged: how many of them count against its policy.
        redrives: how often it was retried by hand.
        cancel_requested: canceled while running.
        started: when its last attempt was sent.
        ended: when it came to rest; None while it has not.
        error_code: the code of its last error.
        error_message: the text of its last error.
        failures: its last 20 unsuccessful attempts, newest first; only `get` fills them in.
    """

    id: str
    incarnation: str
    target: str
    args: dict[str, Any]
    state: State
    due: int
    scheduled_for: int
    created: int
    retry: RetryPolicy
    timeout_ms: int
    shard_key: str | None
    attempts: int
    charged: int
    redrives: int
    cancel_requested: bool
    started: int | None
    ended: int | None
    error_code: str | None
    error_message: str | None
    failures: tuple[Failure, ...] = ()

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> JobRecord:
        """Read a record as the SchedulerDO answers it. Fields of a newer release are passed over."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in record.items() if name in known}
        values["args"] = decode_json(record["args"], what="the stored arguments")
        values["retry"] = RetryPolicy.from_dict(record["retry"])
        values["failures"] = tuple(Failure(**failure) for failure in record.get("failures", ()))
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of jobs; ``cursor`` asks for the next one and is None on the last."""

    jobs: tuple[JobRecord, ...]
    cursor: str | None
