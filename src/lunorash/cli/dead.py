"""`lunora dead`: the dead letters of a running Worker, to be retried or dropped by hand."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.one_by_one import check_ids, do_each, say_each
from lunorash.cli.options import DEFAULT_URL, FormatOption, ProjectOption, UrlOption, YesOption
from lunorash.cli.output import Format, Output
from lunorash.cli.records import SCHEDULED, job_table, take, walk
from lunorash.cli.times import now_ms, read_instant
from lunorash.errors import LunoraError

if TYPE_CHECKING:
    from lunorash.cli.api import Api

__all__ = ["DeadFilter", "app"]

app = typer.Typer(help="Look at dead letters, retry them or drop them.", no_args_is_help=True)

_TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="With this target: a path, a module or folder of them, or a pattern such as 'billing:*'.",
    ),
]
_ErrorOption = Annotated[str | None, typer.Option("--error", metavar="CODE", help="That died of this error.")]
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
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters are meant; None for any.

    Args:
        target: a target, or a module or a folder of them, or a pattern with ``*``, ``?`` or ``[...]``.
        error: the code that they died of.
        before: that they died before it.
    """

    target: str | None = None
    error: str | None = None
    before: datetime | None = None

    def passes(self, job: dict[str, Any]) -> bool:
        """Whether a dead letter is meant.

        A target without a wildcard is never taken for the beginning of a longer name.

        Example:
            >>> [DeadFilter(target="billing").passes({"target": text}) for text in ("billing:end", "billing2:end")]
            [True, False]
        """
        target, ended = str(job.get("target")), job.get("ended")
        if self.target is not None and not _names(self.target, target):
            return False
        if self.error is not None and job.get("error_code") != self.error:
            return False
        return self.before is None or (isinstance(ended, int) and ended < self.before.timestamp() * 1000)

    def find(self, api: Api) -> Iterator[dict[str, Any]]:
        """The dead letters of a Worker that are meant, newest first."""
        return (job for job in walk(api, f"{SCHEDULED}/dead") if self.passes(job))


def _names(wanted: str, target: str) -> bool:
    if any(sign in wanted for sign in "*?["):
        return fnmatchcase(target, wanted)
    return target == wanted or (target.startswith(wanted) and target[len(wanted)] in ".:")


@app.command("list")
def _list(
    *,
    target: _TargetOption = None,
    error: _ErrorOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many at most.")] = 100,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List dead letters, newest first.

    JSON: {"records": [...], "truncated": whether there are more}.

    Example: lunora dead list --target billing --error UPSTREAM_DOWN
    """
    output = Output(format)
    with connect(url, project) as api:
        letters, truncated = take(DeadFilter(target=target, error=error, before=before).find(api), limit)
    output.document(
        {"records": letters, "truncated": truncated},
        pretty=job_table(letters, now_ms()) if letters else "there are no such dead letters",
    )
    if truncated and not output.json:
        output.warn(f"there are more than these {limit}; see --limit")


@app.command("retry")
def _retry(
    ids: _IdsArgument = None,
    *,
    everything: _AllOption = False,
    target: _TargetOption = None,
    error: _ErrorOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int | None, typer.Option(min=1, max=_MOST, help="So many at most, the newest.")] = None,
    yes: YesOption = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Run dead letters again, now, with all their attempts. With --all it asks first.

    JSON: {"results": [{"id", "retried", "error"?}]}. Exits with 1 if one was not retried.

    Example: lunora dead retry --all --target billing --error UPSTREAM_DOWN
    """
    chosen = DeadFilter(target=target, error=error, before=before)
    steer = _Steering("retry", "retried", f"{SCHEDULED}/dead/retry", "retried")
    raise typer.Exit(
        steer.run(
            ids or [], chosen, Output(format), everything=everything, limit=limit, yes=yes, url=url, project=project
        )
    )


@app.command("drop")
def _drop(
    ids: _IdsArgument = None,
    *,
    everything: _AllOption = False,
    target: _TargetOption = None,
    error: _ErrorOption = None,
    before: _BeforeOption = None,
    limit: Annotated[int | None, typer.Option(min=1, max=_MOST, help="So many at most, the newest.")] = None,
    yes: YesOption = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Remove dead letters for good. With --all it asks first.

    JSON: {"results": [{"id", "dropped", "error"?}]}. Exits with 1 if one was not dropped.

    Example: lunora dead drop --all --before 2026-01-01
    """
    chosen = DeadFilter(target=target, error=error, before=before)
    steer = _Steering("drop", "dropped", f"{SCHEDULED}/dead/cancel", "removed")
    raise typer.Exit(
        steer.run(
            ids or [], chosen, Output(format), everything=everything, limit=limit, yes=yes, url=url, project=project
        )
    )


@dataclass(frozen=True, slots=True)
class _Steering:
    """What is done to dead letters.

    Args:
        verb: what it is called.
        done: what it is called when it was done.
        path: the route that does it to one.
        answered: the field by which that says whether it did.
    """

    verb: str
    done: str
    path: str
    answered: str

    def run(
        self,
        ids: list[str],
        chosen: DeadFilter,
        output: Output,
        *,
        everything: bool,
        limit: int | None,
        yes: bool,
        url: str,
        project: Path,
    ) -> int:
        """Do it to those by id, or to all that are chosen; returns the exit status."""
        checked = check_ids(ids)
        self._check(checked, everything=everything, filtered=chosen != DeadFilter() or limit is not None, yes=yes)
        with connect(url, project) as api:
            if everything:
                checked = self._choose(take(chosen.find(api), limit or _MOST)[0], output, yes)
            results = do_each(
                checked,
                lambda job_id: api.post(self.path, {"id": job_id}).get(self.answered) is True,
                done=self.done,
                output=output,
                doing=f"dead letters to {self.verb}",
            )
        say_each(results, done=self.done, otherwise="there is no dead letter of this id", output=output)
        return 0 if all(result[self.done] for result in results) else 1

    def _check(self, ids: list[str], *, everything: bool, filtered: bool, yes: bool) -> None:
        if everything and ids:
            raise typer.BadParameter(f"{self.verb} those by ID, or --all, not both", param_hint="--all")
        if filtered and not everything:
            raise typer.BadParameter("filters choose among --all; add it, or leave them out", param_hint="--all")
        if not everything and not ids:
            raise typer.BadParameter(f"name the dead letters to {self.verb} by ID, or say --all", param_hint="ID")
        if everything and not yes and not sys.stdin.isatty():
            raise typer.BadParameter("there is no terminal to ask on; add --yes", param_hint="--all")

    def _choose(self, letters: list[dict[str, Any]], output: Output, yes: bool) -> list[str]:
        """The ids of those that were found, once somebody has agreed."""
        found = [str(letter.get("id")) for letter in letters]
        if not found:
            output.say("there are no such dead letters")
        elif not yes:
            many = Counter(str(letter.get("target")) for letter in letters).most_common()
            told = ", ".join(f"{count} of {target}" for target, count in many[:5]) + (", ..." if many[5:] else "")
            noun = "dead letter" if len(found) == 1 else "dead letters"
            if not output.ask(f"{self.verb.capitalize()} {len(found):,} {noun} ({told})?"):
                raise LunoraError("NOT_CONFIRMED", "you did not agree, so nothing was changed")
        return found
