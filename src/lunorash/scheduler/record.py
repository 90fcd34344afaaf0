"""What a caller sees of a job."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from lunorash.codec import decode_json
from lunorash.scheduler.job import AttemptOutcome, State
from lunorash.scheduler.retry import RetryPolicy

__all__ = ["DeadGroup", "DeadGroups", "Failure", "JobCount", "JobRecord", "Page"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt that counted and did not succeed. Times are epoch milliseconds.

    Args:
        number: its number.
        incarnation: the job's incarnation then.
        dispatch: the id of the dispatch that carried it.
        started: when it was sent.
        ended: when it was settled.
        outcome: ``"failed"``, ``"unknown"``, ``"unavailable"`` or ``"never_began"``.
        code: of its error.
        message: of its error, at most 2,000 characters.
        traceback: where in the app's code the error came up, without any values; None if that is not known.
    """

    number: int
    incarnation: str
    dispatch: str | None
    started: int | None
    ended: int
    code: str
    message: str
    outcome: AttemptOutcome = "failed"
    traceback: str | None = None

    @classmethod
    def from_dict(cls, failure: dict[str, Any]) -> Failure:
        """Read an attempt as the SchedulerDO answers it. Fields of a newer release are passed over."""
        return cls(**{field.name: failure[field.name] for field in fields(cls) if field.name in failure})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A job as it stands. Times are epoch milliseconds.

    Args:
        id: its id.
        incarnation: changes with each retry by hand.
        target: the path of its function.
        args: its arguments.
        state: ``"pending"``, ``"running"``, ``"succeeded"``, ``"dead"``, ``"canceled"`` or ``"expired"``.
        due: when its next attempt is due, or its last was.
        scheduled_for: when it was to run first.
        created: when it was scheduled.
        retry: its retry policy.
        timeout_ms: how long one attempt may take.
        shard_key: the shard it runs on.
        pool: the workpool that it runs in, if any.
        priority: which jobs of its pool it goes before.
        expires_at: when it is too late to start it; None for never.
        tags: its tags.
        on_complete: the path of the function that is called when it ends.
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
    pool: str | None = None
    priority: int = 0
    expires_at: int | None = None
    tags: tuple[str, ...] = ()
    on_complete: str | None = None
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
        values["tags"] = tuple(record.get("tags", ()))
        values["failures"] = tuple(Failure.from_dict(failure) for failure in record.get("failures", ()))
        return cls(**values)

    @classmethod
    def of_new(cls, job: dict[str, Any], *, created: int) -> JobRecord:
        """The record of a job that is on its way to the SchedulerDO.

        Args:
            job: the fields of a `NewJob`.
            created: when it was scheduled, in epoch milliseconds.
        """
        return cls(
            id=job["id"],
            incarnation=job["incarnation"],
            target=job["target"],
            args=decode_json(job["args"], what="the stored arguments"),
            state="pending",
            due=job["due"],
            scheduled_for=job["due"],
            created=created,
            retry=RetryPolicy.from_dict(job["retry"]),
            timeout_ms=job["timeout_ms"],
            shard_key=job["shard_key"],
            pool=job.get("pool"),
            priority=job.get("priority", 0),
            expires_at=job.get("expires_at"),
            tags=tuple(json.loads(job.get("tags") or "[]")),
            on_complete=json.loads(job.get("on_complete") or "{}").get("target"),
            attempts=0,
            charged=0,
            redrives=0,
            cancel_requested=False,
            started=None,
            ended=None,
            error_code=None,
            error_message=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of jobs; ``cursor`` asks for the next one and is None on the last.

    Args:
        jobs: the jobs.
        cursor: where to go on.
        scanned: how many jobs were looked at to find them.
    """

    jobs: tuple[JobRecord, ...]
    cursor: str | None
    scanned: int = 0

    @classmethod
    def from_dict(cls, page: dict[str, Any]) -> Page:
        """Read a page as the SchedulerDO answers it."""
        jobs = tuple(JobRecord.from_dict(job) for job in page["jobs"])
        return cls(jobs=jobs, cursor=page["cursor"], scanned=page.get("scanned", len(jobs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCount:
    """How many jobs there are.

    Args:
        count: how many were found.
        exact: whether all were looked at; if not, there may be more.
    """

    count: int
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroup:
    """Dead letters that called the same and died of the same.

    Args:
        target: what they called.
        error_code: the code of their last error.
        count: how many they are.
        newest: when the last of them died, in epoch milliseconds.
        example_id: the id of that one.
        example_message: the text of its error.
    """

    target: str
    error_code: str | None
    count: int
    newest: int
    example_id: str
    example_message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroups:
    """What dead letters died of.

    Args:
        groups: the hundred largest groups, the largest first.
        exact: whether these are all groups, and all dead letters were counted: the newest 10,000 are.
    """

    groups: tuple[DeadGroup, ...]
    exact: bool
