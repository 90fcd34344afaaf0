"""`lunora dead`: the dead letters of a running Worker, to be retried or dropped by hand."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.in_bulk import MOST, Bulk, check_choice, make_filter
from lunorash.cli.job_query import Instant, query_of
from lunorash.cli.one_by_one import check_ids, do_each, say_each
from lunorash.cli.options import (
    DEFAULT_URL,
    ErrorOption,
    FormatOption,
    PoolOption,
    ProjectOption,
    TagOption,
    TargetOption,
    UrlOption,
    YesOption,
)
from lunorash.cli.output import Format, Output, table
from lunorash.cli.records import SCHEDULED, job_table, objects, take, tell_list, walk
from lunorash.cli.times import now_ms, read_instant, when
from lunorash.scheduler.job_filter import JobFilter

__all__ = ["app"]

app = typer.Typer(help="Look at dead letters, retry them or drop them.", no_args_is_help=True)

_BeforeOption = Annotated[
    datetime | None,
    typer.Option(
        "--before",
        metavar="INSTANT",
        parser=read_instant,
        help="That died before it: ISO 8601, UTC if it names no zone.",
    ),
]
_IdsArgument = Annotated[list[str] | None, typer.Argument(metavar="ID")]
_AllOption = Annotated[bool, typer.Option("--all", help="All dead letters, or those that the filters let through.")]


_RETRY: Final = Bulk(
    path=f"{SCHEDULED}/dead/retry-many", verb="retry", done="retried", noun="dead letter", fixed_by="ended_before"
)
_DROP: Final = Bulk(
    path=f"{SCHEDULED}/dead/cancel-many", verb="drop", done="dropped", noun="dead letter", fixed_by="ended_before"
)


@app.command("list")
def _list(
    *,
    target: TargetOption = None,
    error: ErrorOption = None,
    pool: PoolOption = None,
    tag: TagOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="How many at most.")] = 100,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List dead letters, newest first.

    JSON: {"records": [...], "truncated": whether there are more}.

    Example: lunora dead list --target billing --error UPSTREAM_DOWN
    """
    query = query_of(
        ["dead"], target=target, pool=pool, tag=tag, error=error, id_prefix=None, before=before, by=Instant.ENDED
    )
    with connect(url, project) as api:
        letters, truncated = take(walk(api, f"{SCHEDULED}/jobs", page=limit + 1, query=query), limit)
    told = job_table(letters, now_ms()) if letters else "there are no such dead letters"
    tell_list(Output(format), letters, truncated=truncated, limit=limit, pretty=told)


@app.command("groups")
def _groups(
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Tell what dead letters died of: by what they called and the code of their error, the most first.

    JSON: {"groups": [{"target", "error_code", "count", "newest", "example_id", "example_message"}], "exact"}.

    Example: lunora dead groups
    """
    path, output = f"{SCHEDULED}/dead/groups", Output(format)
    with connect(url, project) as api:
        answer = api.get(path)
    groups, now = objects(answer, "groups", path), now_ms()
    listed = table(
        ("COUNT", "TARGET", "ERROR", "NEWEST", "EXAMPLE", "MESSAGE"),
        (
            (
                group.get("count"),
                group.get("target"),
                group.get("error_code"),
                when(group.get("newest"), now),
                group.get("example_id"),
                group.get("example_message"),
            )
            for group in groups
        ),
    )
    output.document(
        {"groups": groups, "exact": answer.get("exact")}, pretty=listed if groups else "there are no dead letters"
    )
    if answer.get("exact") is not True and not output.json:
        output.warn("there are more than were counted")


@app.command("retry")
def _retry(
    ids: _IdsArgument = None,
    *,
    everything: _AllOption = False,
    target: TargetOption = None,
    error: ErrorOption = None,
    pool: PoolOption = None,
    tag: TagOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="So many at most, the newest.")] = None,
    yes: YesOption = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Run dead letters again, now, with all their attempts. With --all it asks first.

    JSON: {"results": [{"id", "retried", "error"?}], "error"?}. Exits with 1 if one was not retried.

    Example: lunora dead retry --all --target billing --error UPSTREAM_DOWN
    """
    status = _run(
        _RETRY,
        f"{SCHEDULED}/dead/retry",
        "retried",
        ids or [],
        make_filter(target=target, error=error, pool=pool, tag=tag, ended_before=before),
        everything=everything,
        limit=limit,
        yes=yes,
        url=url,
        project=project,
        output=Output(format),
    )
    raise typer.Exit(status)


@app.command("drop")
def _drop(
    ids: _IdsArgument = None,
    *,
    everything: _AllOption = False,
    target: TargetOption = None,
    error: ErrorOption = None,
    pool: PoolOption = None,
    tag: TagOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int | None, typer.Option(min=1, max=MOST, help="So many at most, the newest.")] = None,
    yes: YesOption = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Remove dead letters for good. With --all it asks first.

    JSON: {"results": [{"id", "dropped", "error"?}], "error"?}. Exits with 1 if one was not dropped.

    Example: lunora dead drop --all --before 2026-01-01
    """
    status = _run(
        _DROP,
        f"{SCHEDULED}/dead/cancel",
        "removed",
        ids or [],
        make_filter(target=target, error=error, pool=pool, tag=tag, ended_before=before),
        everything=everything,
        limit=limit,
        yes=yes,
        url=url,
        project=project,
        output=Output(format),
    )
    raise typer.Exit(status)


def _run(
    bulk: Bulk,
    path: str,
    answered: str,
    ids: list[str],
    wanted: JobFilter,
    *,
    everything: bool,
    limit: int | None,
    yes: bool,
    url: str,
    project: Path,
    output: Output,
) -> int:
    """Do something to dead letters by id, or to all that are meant; returns the exit status.

    Args:
        bulk: what is done to many.
        path: the route that does it to one.
        answered: the field by which that says whether it did.
        ids: those that were named.
        wanted: which are meant.
        everything: whether all of them are.
        limit: how many at most.
        yes: whether nobody has to be asked.
        url: the Worker.
        project: the project's folder.
        output: where it is told.
    """
    checked = check_ids(ids)
    check_choice(checked, wanted, everything=everything, limit=limit, yes=yes, verb=bulk.verb, noun=bulk.noun)
    with connect(url, project) as api:
        if everything:
            return bulk.run(api, wanted, output, limit=limit, yes=yes)
        results = do_each(
            checked,
            lambda job_id: api.post(path, {"id": job_id}).get(answered) is True,
            done=bulk.done,
            output=output,
            doing=f"dead letters to {bulk.verb}",
        )
    say_each(results, done=bulk.done, otherwise="there is no dead letter of this id", output=output)
    return 0 if all(result[bulk.done] for result in results) else 1
