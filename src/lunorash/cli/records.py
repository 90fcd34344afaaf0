"""Jobs as a Worker tells of them: fetched page by page, and shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group, RenderableType
from rich.table import Table

from lunorash.cli.output import Output, plain_text, table
from lunorash.cli.times import when
from lunorash.errors import LunoraError

if TYPE_CHECKING:
    from lunorash.cli.api import Api  # httpx takes a third of a second to import, and crons next does without

__all__ = ["ADMIN", "SCHEDULED", "details", "job_table", "objects", "take", "tell_list", "walk"]

ADMIN: Final = "/_lunora/admin/v1"
"""Where the admin API is. `lunorash.studio.operation` says so too, and takes long to import."""

SCHEDULED: Final = f"{ADMIN}/scheduled"
"""Where the routes of jobs are."""

_PAGE: Final = 100


def walk(
    api: Api,
    path: str,
    field: str = "records",
    *,
    page: int = _PAGE,
    query: Mapping[str, str | list[str]] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """All entries of a list, fetched as they are asked for.

    Args:
        api: the Worker.
        path: the route of the list.
        field: what its answer calls them.
        page: how many to fetch at a time, 100 at most.
        query: further parameters of the route; a list for one that is given several times.
    """
    cursor: str | None = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        answer = api.get(path, limit=str(min(page, _PAGE)), **query, **more)
        yield from objects(answer, field, path)
        following = answer.get("cursor")
        if following is None:
            return
        if not isinstance(following, str) or following == cursor:
            raise LunoraError("BAD_ANSWER", f"the answer of {path} goes round in a circle: its cursor leads nowhere")
        cursor = following


def take(jobs: Iterable[dict[str, Any]], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """The first jobs, and whether there are more.

    Example:
        >>> take([{"id": "a"}, {"id": "b"}], 1)
        ([{'id': 'a'}], True)
    """
    taken = list(islice(jobs, limit + 1))
    return taken[:limit], len(taken) > limit


def tell_list(
    output: Output,
    found: list[dict[str, Any]],
    *,
    truncated: bool,
    limit: int,
    pretty: RenderableType,
    field: str = "records",
) -> None:
    """Give a list as a command's result, and say if there is more of it.

    Args:
        output: where it is told.
        found: what is listed.
        truncated: whether there is more.
        limit: how many were asked for.
        pretty: what people get.
        field: what programs get it as.
    """
    output.document({field: found, "truncated": truncated}, pretty=pretty)
    if truncated and not output.json:
        output.warn(f"there are more than these {limit}; see --limit")


def objects(answer: dict[str, Any], field: str, path: str) -> list[dict[str, Any]]:
    """A list of objects from an answer.

    Raises:
        LunoraError: ``BAD_ANSWER`` when it holds something else.
    """
    found = answer.get(field)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise LunoraError("BAD_ANSWER", f"the answer of {path} has no list of objects as {field!r}")
    return found


def job_table(jobs: Iterable[dict[str, Any]], now: int) -> Table:
    """Jobs as a table.

    Args:
        jobs: their records.
        now: the time now, in epoch milliseconds.
    """
    return table(
        ("ID", "TARGET", "STATE", "DUE", "ATTEMPTS", "ERROR"),
        (
            (
                job.get("id"),
                job.get("target"),
                _state(job),
                when(job.get("due"), now),
                job.get("attempts"),
                job.get("error_code"),
            )
            for job in jobs
        ),
    )


def details(job: dict[str, Any], now: int) -> RenderableType:
    """All that is known of one job.

    Args:
        job: its record.
        now: the time now, in epoch milliseconds.
    """
    rows = Table.grid(padding=(0, 2, 0, 0))
    for name, value in job.items():
        if value is None or value == [] or name == "failures":
            continue
        told = when(value, now) if name in _INSTANTS else _state(job) if name == "state" else value
        shown = told if isinstance(told, str) else json.dumps(told, indent=2 if name == "args" else None)
        rows.add_row(plain_text(name), plain_text(shown))
    failures = job.get("failures")
    if not isinstance(failures, list) or not failures:
        return rows
    listed = table(
        ("ATTEMPT", "SENT", "ENDED", "CODE", "MESSAGE"),
        (
            (
                failure.get("number"),
                when(failure.get("started"), now),
                when(failure.get("ended"), now),
                failure.get("code"),
                failure.get("message"),
            )
            for failure in failures
            if isinstance(failure, dict)
        ),
    )
    return Group(rows, "", "its last attempts that failed, newest first", listed, *_tracebacks(failures))


def _tracebacks(failures: Iterable[Any]) -> Iterator[RenderableType]:
    """Where the failures came up, as far as that is known; the same place once."""
    told: set[str] = set()
    for failure in failures:
        trace = failure.get("traceback") if isinstance(failure, dict) else None
        if isinstance(trace, str) and trace not in told:
            told.add(trace)
            yield ""
            yield plain_text(f"attempt {failure.get('number')} failed at")
            yield from (plain_text(f"  {line}") for line in trace.splitlines())


_INSTANTS: Final = frozenset({"created", "due", "ended", "expires_at", "scheduled_for", "started"})


def _state(job: dict[str, Any]) -> Any:
    return "running, cancel requested" if _is_stopping(job) else job.get("state")


def _is_stopping(job: dict[str, Any]) -> bool:
    return job.get("state") == "running" and job.get("cancel_requested") is True
