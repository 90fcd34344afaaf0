"""`lunora pools`: the workpools of a running Worker, to be paused, resumed and resized by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from lunorash.cli.admin_access import connect
from lunorash.cli.options import DEFAULT_URL, FormatOption, ProjectOption, UrlOption
from lunorash.cli.output import Format, Output, table
from lunorash.cli.records import SCHEDULED, take, tell_list, walk
from lunorash.errors import LunoraError
from lunorash.scheduler.pool import MAX_CONCURRENCY, check_pool_name

__all__ = ["app"]

app = typer.Typer(help="Look at workpools, pause and resume them, change their caps.", no_args_is_help=True)

_ROUTE = f"{SCHEDULED}/pools"
_NameArgument = Annotated[str, typer.Argument(metavar="NAME")]


@app.command("list")
def _list(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 100,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List workpools by name: how many jobs run, how many wait (counted up to 10,000), the cap, whether it is paused.

    JSON: {"pools": [{"name", "max_concurrency", "paused", "in_flight", "queued"}], "truncated": if there are more}.

    Example: lunora pools list
    """
    with connect(url, project) as api:
        pools, truncated = take(walk(api, _ROUTE, "pools", page=limit + 1), limit)
    told = _pool_table(pools) if pools else "there are no pools; one comes to be with its first job"
    tell_list(Output(format), pools, truncated=truncated, limit=limit, pretty=told, field="pools")


@app.command("pause")
def _pause(
    name: _NameArgument,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Start no more jobs of a workpool; those that run go on.

    JSON: {"pool": {...}}, as in the list.

    Example: lunora pools pause imports
    """
    _steer("pause", {"name": _checked(name)}, url, project, format)


@app.command("resume")
def _resume(
    name: _NameArgument,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Start the jobs of a workpool again, at once.

    JSON: {"pool": {...}}, as in the list.

    Example: lunora pools resume imports
    """
    _steer("resume", {"name": _checked(name)}, url, project, format)


@app.command("cap")
def _cap(
    name: _NameArgument,
    max_concurrency: Annotated[int, typer.Argument(metavar="JOBS", min=1, max=MAX_CONCURRENCY)],
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Set how many jobs of a workpool may run at a time. It holds until code names another cap than before.

    JSON: {"pool": {...}}, as in the list.

    Example: lunora pools cap imports 5
    """
    _steer("cap", {"name": _checked(name), "max_concurrency": max_concurrency}, url, project, format)


def _steer(how: str, body: dict[str, Any], url: str, project: Path, format: Format) -> None:  # noqa: A002
    path = f"{_ROUTE}/{how}"
    with connect(url, project) as api:
        pool = api.post(path, body).get("pool")
    if not isinstance(pool, dict):
        raise LunoraError("BAD_ANSWER", f"the answer of {path} does not say how the pool is")
    Output(format).document({"pool": pool}, pretty=_pool_table([pool]))


def _checked(name: str) -> str:
    try:
        return check_pool_name(name)
    except LunoraError as error:
        raise typer.BadParameter(error.message, param_hint="NAME") from None


def _pool_table(pools: Iterable[dict[str, Any]]) -> Table:
    return table(
        ("NAME", "RUNNING", "WAITING", "CAP", "STATE"),
        (
            (
                pool.get("name"),
                pool.get("in_flight"),
                pool.get("queued"),
                pool.get("max_concurrency"),
                "paused" if pool.get("paused") is True else "",
            )
            for pool in pools
        ),
    )
