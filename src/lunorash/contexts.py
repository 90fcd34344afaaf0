"""What a function is given as its first argument: what it may do follows from its kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar

from lunorash.errors import LunoraError

if TYPE_CHECKING:
    from lunorash.shard.database import Database

__all__ = ["ActionContext", "Auth", "Job", "MutationContext", "QueryContext"]

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Auth:
    """Who calls. Jobs and crons run as nobody.

    Args:
        user_id: the caller, as your `authenticate` hook names them; None for nobody.
        claims: what else it says of them.
    """

    user_id: str | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The job that a function runs for.

    Args:
        id: its id.
        incarnation: changes when a dead letter is retried by hand; (id, incarnation) is the key under which
            an effect should happen once.
        attempt: the number of this delivery, from 1; numbers are never used again.
        scheduled_for: when it was to run, in epoch milliseconds.
        traceparent: of this attempt, as W3C Trace Context has it: a span of its own in the trace of the request that
            scheduled the job; None if that had none.
    """

    id: str
    incarnation: str
    attempt: int
    scheduled_for: int
    traceparent: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it travels to a shard, of whatever release: its traceparent is that of the call."""
        return {
            "id": self.id,
            "incarnation": self.incarnation,
            "attempt": self.attempt,
            "scheduled_for": self.scheduled_for,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """Given to a query, which reads its shard.

    Args:
        db: the shard's database; writes are refused.
        auth: who calls.
        now: the time, the same for the whole call.
        random: randomness, the same again if the call is run again.
    """

    db: Database
    auth: Auth
    now: datetime
    random: Random

    if not TYPE_CHECKING:  # a type checker says that it is not there; at run time the error says why

        @property
        def scheduler(self) -> Never:
            """Not there: a query is run again whenever its answer may have changed.

            Raises:
                LunoraError: ``SCHEDULER_NOT_IN_QUERY``.
            """
            raise LunoraError(
                "SCHEDULER_NOT_IN_QUERY",
                "a query has no ctx.scheduler: it may be run any number of times, and would schedule as often. "
                "Make it a mutation, or schedule from an action",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationContext(Generic[S]):
    """Given to a mutation, which is one transaction on its shard.

    Args:
        db: the shard's database.
        auth: who calls.
        now: the time, the same for the whole call.
        random: randomness, the same again if the call is run again.
        scheduler: what is scheduled here is sent when the mutation has committed, and never if it does not.
        job: the job it runs for, if it is one.
        run_mutation: runs another mutation of this shard inside this one; if it raises, only its own writes and
            calls are undone.
    """

    db: Database
    auth: Auth
    now: datetime
    random: Random
    scheduler: S
    run_mutation: Callable[..., Awaitable[Any]]
    job: Job | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionContext(Generic[S]):
    """Given to an action, which may talk to the world and is not a transaction.

    Args:
        env: the Worker's bindings and variables.
        auth: who calls.
        now: the time when it began.
        random: randomness.
        scheduler: schedules at once.
        fetch: makes an HTTP request, as `workers.fetch` does, with the ``traceparent`` of whom this is done for unless
            you set that header yourself.
        run_query: runs a query: reference or path, arguments, and ``shard_key=`` for another shard.
        run_mutation: runs a mutation, likewise.
        job: the job it runs for, if it is one.
    """

    env: Any
    auth: Auth
    now: datetime
    random: Random
    scheduler: S
    fetch: Callable[..., Awaitable[Any]]
    run_query: Callable[..., Awaitable[Any]]
    run_mutation: Callable[..., Awaitable[Any]]
    job: Job | None = None
