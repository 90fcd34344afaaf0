"""A job, its states, and the other values that the engine takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from lunorash.refs import Kind

__all__ = ["Attempt", "AttemptOutcome", "Dispatch", "Ending", "NewJob", "OutboxRow", "Outcome", "Result", "State"]

State = Literal["pending", "running", "succeeded", "dead", "canceled", "expired"]

Ending = Literal["succeeded", "dead", "canceled", "expired"]
"""The states in which a job has come to rest."""

Outcome = Literal["ok", "failed", "unavailable"]
"""What a receiver says of an attempt. ``unavailable``: this deployment does not know the function, or
refuses its arguments, which may be a deploy in progress."""


AttemptOutcome = Literal["failed", "unknown", "unavailable", "never_began"]
"""What is recorded of an attempt that did not succeed. ``failed``: the function raised, or ran out of time.
``unknown``: nobody will say how it ended. ``unavailable``: for too long the deployment did not know the function.
``never_began``: its dispatch did not begin, and it was charged for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """One call to schedule, already checked. ``id`` and ``incarnation`` are minted by the caller's side.

    ``charged`` is how many attempts it has used up elsewhere, such as a cron's tick that failed: they bear the first
    numbers, and count against its policy. ``scheduled_for`` is when it was to run then; None for a job that is new, and
    is to run when it is due. ``kind`` is what its function was when it was scheduled, None if that is not known, or if
    it is no function: it decides with whom the job travels, and not how it is run. ``traceparent`` is of whoever asked.

    ``expires_at`` is when it is too late to start it, in epoch milliseconds. ``tags`` and ``on_complete`` are JSON, as
    they are stored: a list of texts, and ``{"target", "kind"}`` of a function.
    """

    id: str
    incarnation: str
    target: str
    args: str
    due: int
    retry: dict[str, Any]
    timeout_ms: int
    shard_key: str | None = None
    charged: int = 0
    scheduled_for: int | None = None
    pool: str | None = None
    priority: int = 0
    kind: Kind | None = None
    traceparent: str | None = None
    expires_at: int | None = None
    tags: str | None = None
    on_complete: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its fields, as they travel. `dataclasses.asdict` would copy what is in them too, in ten times the time.

        Those that a SchedulerDO of the release before does not know are left out unless they say something: while a
        deploy is in progress, what it can do it does.
        """
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None or name not in _NEW_FIELDS}


_NEW_FIELDS: Final = frozenset({"traceparent", "expires_at", "tags", "on_complete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """What a mutation has asked for: to schedule a job, or, without one, to cancel the job of an id.

    Args:
        number: its place in the outbox of its shard.
        id: of the job.
        called: when the mutation ran, in epoch milliseconds.
        job: what to schedule.
    """

    number: int
    id: str
    called: int
    job: NewJob | None = None

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> OutboxRow:
        """Read a row as a shard sends it."""
        body = row["body"]
        job = body.get("job")
        return cls(
            number=row["number"], id=row["id"], called=body["called"], job=None if job is None else NewJob(**job)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One delivery of a job, as it travels."""

    job: str
    incarnation: str
    number: int
    charged: int
    max_attempts: int
    redrives: int
    target: str
    args: str
    scheduled_for: int
    timeout_ms: int
    shard_key: str | None
    wants_result: bool = False
    traceparent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One request to the Worker. Without attempts it is the breaker's probe."""

    id: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one attempt, as the receiver reports it.

    Args:
        job: its id.
        attempt: the number of the attempt.
        outcome: how it ended.
        retryable: whether another attempt may do better.
        shared: it failed together with others, and perhaps because of one of them.
        code: the error's.
        message: the error's.
        retry_after_ms: how long to wait at least before another attempt, in milliseconds.
        traceback: where in the app's code the error came up.
        result: what the function returned, JSON text; only if the attempt asks for it.
        result_omitted: whether it returned more than may travel.
    """

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
