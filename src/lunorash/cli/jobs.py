"""`lunora jobs`: look at the jobs of a running Worker, and cancel them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.in_bulk import MOST, Bulk, check_choice, make_filter
from lunorash.cli.one_by_one import check_ids, do_each, say_each
from lunorash.cli.options import (
    DEFAULT_URL,
    FormatOption,
    PoolOption,
    ProjectOption,
    TargetOption,
    UrlOption,
    YesOption,
)
from lunorash.cli.output import Format, Output
from lunorash.cli.records import SCHEDULED, details, job_table, take, walk
from lunorash.cli.times import now_ms
from lunorash.errors import LunoraError

__all__ = ["JobState", "app"]


class JobState(StrEnum):
    """`lunorash.scheduler.job.State`, as typer wants it."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELED = "canceled"
    EXPIRED = "expired"


class StoppableState(StrEnum):
    """The states of jobs that can be cancelled."""

    PENDING = "pending"
    RUNNING = "running"


_CANCEL: Final = Bulk(
    path=f"{SCHEDULED}/cancel-many", verb="cancel", done="cancelled", noun="job", fixed_by="created_before"
)

app = typer.Typer(help="Look at the jobs of a running Worker, and cancel them.", no_args_is_help=True)


@app.command("list")
def _list(
    states: Annotated[
        list[JobState] | None,
        typer.Option("--state", help="Jobs in this state; may be given several times. Else what runs and what waits."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 100,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List jobs: those that run, those that wait by due time, those that ended with the newest first.

    JSON: {"records": [...], "truncated": whether there are more}.

    Example: lunora jobs list --state dead --state pending --limit 20
    """

    def wanted() -> Iterator[dict[str, Any]]:
        if not states:
            yield from walk(api, SCHEDULED, page=limit + 1)
        for state in dict.fromkeys(states or ()):
            yield from walk(api, SCHEDULED, page=limit + 1, state=state)

    output = Output(format)
    with connect(url, project) as api:
        jobs, truncated = take(wanted(), limit)
    output.document(
        {"records": jobs, "truncated": truncated},
        pretty=job_table(jobs, now_ms()) if jobs else "there are no such jobs",
    )
    if truncated and not output.json:
        output.warn(f"there are more than these {limit}; see --limit")


@app.command("get")
def _get(
    job_id: Annotated[str, typer.Argument(metavar="ID")],
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Show all that is known of one job, its arguments and its failed attempts included.

    JSON: {"record": {...}}. Exits with 1 if there is no such job.

    Example: lunora jobs get end-trial_42
    """
    (job_id,) = check_ids([job_id])
    with connect(url, project) as api:
        job = api.get(f"{SCHEDULED}/get", id=job_id).get("record")
    if not isinstance(job, dict):
        raise LunoraError("JOB_NOT_FOUND", f"there is no job {job_id!r}; what has ended is forgotten after a while")
    Output(format).document({"record": job}, pretty=details(job, now_ms()))


@app.command("cancel")
def _cancel(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All jobs, or those that the filters let through.")] = False,
    state: Annotated[
        StoppableState | None, typer.Option("--state", help="In this state. Else what waits and what runs.")
    ] = None,
    target: TargetOption = None,
    pool: PoolOption = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="So many at most: what waits by due time, then what runs.")
    ] = None,
    yes: YesOption = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Cancel jobs. An attempt that is running is not stopped, but none follows it. With --all it asks first.

    JSON: {"results": [{"id", "cancelled", "error"?}], "error"?}. Exits with 1 if none of those by ID was cancelled.

    Example: lunora jobs cancel --all --target billing --pool imports
    """
    output, checked = Output(format), check_ids(ids or [])
    wanted = make_filter(state=None if state is None else state.value, target=target, pool=pool)
    check_choice(checked, wanted, everything=everything, limit=limit, yes=yes, verb="cancel", noun="job")
    with connect(url, project) as api:
        if everything:
            raise typer.Exit(_CANCEL.run(api, wanted, output, limit=limit, yes=yes))
        results = do_each(
            checked,
            lambda job_id: api.post(f"{SCHEDULED}/cancel", {"id": job_id}).get("cancelled") is True,
            done="cancelled",
            output=output,
            doing="cancelling",
        )
    say_each(results, done="cancelled", otherwise="there is no such job, or it has ended", output=output)
    raise typer.Exit(0 if any(result["cancelled"] for result in results) else 1)
