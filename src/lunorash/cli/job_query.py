"""Which jobs a command line means, as a query of the admin API."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from lunorash.cli.in_bulk import make_filter
from lunorash.cli.times import read_instant
from lunorash.scheduler.job_filter import JobFilter

__all__ = ["BeforeOption", "ByOption", "Instant", "JobState", "Order", "SinceOption", "StatesOption", "query_of"]


class JobState(StrEnum):
    """`lunorash.scheduler.job.State`, as typer wants it."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELED = "canceled"
    EXPIRED = "expired"


class Order(StrEnum):
    """`lunorash.scheduler.walking.Order`, as typer wants it."""

    NEWEST = "newest"
    SOONEST = "soonest"


class Instant(StrEnum):
    """The instants of a job by which some can be chosen."""

    CREATED = "created"
    DUE = "due"
    ENDED = "ended"


StatesOption = Annotated[
    list[JobState] | None,
    typer.Option("--state", help="In this state; may be given several times."),
]
SinceOption = Annotated[
    datetime | None,
    typer.Option(
        "--since",
        metavar="INSTANT",
        parser=read_instant,
        help="Scheduled then or later, or what --by says: ISO 8601, UTC if it names no zone.",
    ),
]
BeforeOption = Annotated[
    datetime | None,
    typer.Option("--before", metavar="INSTANT", parser=read_instant, help="Scheduled earlier, or what --by says."),
]
ByOption = Annotated[Instant, typer.Option("--by", help="Which of their instants --since and --before mean.")]


def query_of(
    states: Sequence[str],
    *,
    target: str | None,
    pool: str | None,
    tag: str | None,
    error: str | None,
    id_prefix: str | None,
    since: datetime | None = None,
    before: datetime | None = None,
    by: Instant = Instant.CREATED,
) -> dict[str, str | list[str]]:
    """The parameters of the routes that find and count jobs.

    Args:
        states: in one of these; none for all.
        target: what they call.
        pool: of this workpool.
        tag: with this tag.
        error: the code of their last error.
        id_prefix: how their ids begin.
        since: from when on, by ``by``.
        before: before when, by ``by``.
        by: which of their instants.

    Raises:
        typer.BadParameter: for a condition that cannot be.

    Example:
        >>> query_of(["dead"], target="billing", pool=None, tag=None, error=None, id_prefix=None)
        {'state': ['dead'], 'function': 'billing'}
    """
    wanted: JobFilter = make_filter(
        state=list(dict.fromkeys(states)) or None,
        target=target,
        pool=pool,
        tag=tag,
        error=error,
        id_prefix=id_prefix,
        **{f"{by}_from": since, f"{by}_before": before},
    )
    conditions = wanted.to_dict()
    query: dict[str, str | list[str]] = {"state": list(conditions.pop("state"))} if states else {}
    names = {"target": "function"}
    return query | {names.get(name, name): str(value) for name, value in conditions.items()}
