"""`lunora jobs`: find the jobs of a running Worker, run them now and cancel them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.in_bulk import MOST, Bulk, check_choice, make_filter
from lunorash.cli.job_query import (
    BeforeOption,
    ByOption,
    Instant,
    JobState,
    Order,
    SinceOption,
    StatesOption,
    query_of,
)
from lunorash.cli.one_by_one import check_ids, do_each, say_each
from lunorash.cli.options import (
    DEFAULT_URL,
    ErrorOption,
    FormatOption,
    IdPrefixOption,
    PoolOption,
    ProjectOption,
    TagOption,
    TargetOption,
    UrlOption,
    YesOption,
)
from lunorash.cli.output import Format, Output
from lunorash.cli.records import SCHEDULED, details, job_table, take, tell_list, walk
from lunorash.cli.times import now_ms
from lunorash.errors import LunoraError

__all__ = ["app"]

_LIVE: Final = (JobState.RUNNING, JobState.PENDING)


class StoppableState(StrEnum):
    """The states of jobs that can be cancelled."""

    PENDING = "pending"
    RUNNING = "running"


_CANCEL: Final = Bulk(
    path=f"{SCHEDULED}/cancel-many", verb="cancel", done="cancelled", noun="job", fixed_by="created_before"
)

app = typer.Typer(help="Find the jobs of a running Worker, run them now and cancel them.", no_args_is_help=True)


@app.command("list")
def _list(
    states: StatesOption = None,
    *,
    target: TargetOption = None,
    pool: PoolOption = None,
    tag: TagOption = None,
    error: ErrorOption = None,
    id_prefix: IdPrefixOption = None,
    since: SinceOption = None,
    before: BeforeOption = None,
    by: ByOption = Instant.CREATED,
    order: Annotated[
        Order | None,
        typer.Option("--order", help="By when they ended, or else are due. Else soonest of what has not ended."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 100,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List jobs: those that run or wait, or those of the states that are named.

    JSON: {"records": [...], "truncated": whether there are more}.

    Example: lunora jobs list --state dead --state canceled --function billing --by ended --since 2026-01-05
    """
    chosen = [state.value for state in states or _LIVE]
    query = query_of(
        chosen,
        target=target,
        pool=pool,
        tag=tag,
        error=error,
        id_prefix=id_prefix,
        since=since,
        before=before,
        by=by,
    )
    query["order"] = order or (Order.SOONEST if set(chosen) <= {*_LIVE} else Order.NEWEST)
    with connect(url, project) as api:
        jobs, truncated = take(walk(api, f"{SCHEDULED}/jobs", page=limit + 1, query=query), limit)
    told = job_table(jobs, now_ms()) if jobs else "there are no such jobs"
    tell_list(Output(format), jobs, truncated=truncated, limit=limit, pretty=told)


@app.command("count")
def _count(
    states: StatesOption = None,
    *,
    target: TargetOption = None,
    pool: PoolOption = None,
    tag: TagOption = None,
    error: ErrorOption = None,
    id_prefix: IdPrefixOption = None,
    since: SinceOption = None,
    before: BeforeOption = None,
    by: ByOption = Instant.CREATED,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Count jobs in all states, or in those that are named. Ten thousand are looked at.

    JSON: {"count", "exact": whether those were all; if not, there may be more}.

    Example: lunora jobs count --state pending --pool imports
    """
    query = query_of(
        [state.value for state in states or ()],
        target=target,
        pool=pool,
        tag=tag,
        error=error,
        id_prefix=id_prefix,
        since=since,
        before=before,
        by=by,
    )
    path = f"{SCHEDULED}/count"
    with connect(url, project) as api:
        answer = api.get(path, **query)
    count, exact = answer.get("count"), answer.get("exact")
    if type(count) is not int or not isinstance(exact, bool):
        raise LunoraError("BAD_ANSWER", f"the answer of {path} does not say how many there are")
    Output(format).document({"count": count, "exact": exact}, pretty=f"{'' if exact else 'at least '}{count:,}")


@app.command("run-now")
def _run_now(
    ids: Annotated[list[str], typer.Argument(metavar="ID")],
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Make jobs that wait due now. They start as soon as their pool and the Worker have room for them.

    JSON: {"results": [{"id", "due", "error"?}]}. Exits with 1 if one was not.

    Example: lunora jobs run-now end-trial_42
    """
    output, checked = Output(format), check_ids(ids)
    with connect(url, project) as api:
        results = do_each(
            checked,
            lambda job_id: api.post(f"{SCHEDULED}/run-now", {"id": job_id}).get("due") is True,
            done="due",
            output=output,
            doing="jobs to run now",
        )
    say_each(results, done="due", otherwise="no job waits by this id", output=output)
    raise typer.Exit(0 if all(result["due"] for result in results) else 1)


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
    tag: TagOption = None,
    id_prefix: IdPrefixOption = None,
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
    state_name = None if state is None else state.value
    wanted = make_filter(state=state_name, target=target, pool=pool, tag=tag, id_prefix=id_prefix)
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
