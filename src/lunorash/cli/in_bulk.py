"""Doing the same to all jobs that a filter chooses: counted first, then step by step, as many as a call may change."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from lunorash.cli.output import Output, one_line
from lunorash.errors import LunoraError
from lunorash.scheduler.job_filter import MAX_CHANGED, JobFilter

if TYPE_CHECKING:
    from lunorash.cli.api import Api

__all__ = ["MOST", "Bulk", "check_choice", "make_filter"]

MOST: Final = 1_000_000
"""Jobs that one command may change."""

_MOST_COUNTED: Final = 10_000
_MOST_COUNTS: Final = 100  # answers, each of them for 2,000 jobs that were looked at


def make_filter(**conditions: Any) -> JobFilter:
    """The filter of a command line.

    Raises:
        typer.BadParameter: for a condition that cannot be.
    """
    try:
        return JobFilter(**conditions)
    except LunoraError as error:
        raise typer.BadParameter(error.message) from None


def check_choice(
    ids: list[str], wanted: JobFilter, *, everything: bool, limit: int | None, yes: bool, verb: str, noun: str
) -> None:
    """Refuse a command line that does not say clearly which jobs are meant.

    Args:
        ids: those that were named.
        wanted: what else was said of them.
        everything: whether all that the filter lets through are meant.
        limit: how many at most; None for no limit.
        yes: whether nobody has to be asked.
        verb: what is to be done.
        noun: to what.

    Raises:
        typer.BadParameter: with the way out.
    """
    if everything and ids:
        raise typer.BadParameter(f"{verb} those by ID, or --all, not both", param_hint="--all")
    if (wanted != JobFilter() or limit is not None) and not everything:
        raise typer.BadParameter("filters choose among --all; add it, or leave them out", param_hint="--all")
    if not everything and not ids:
        raise typer.BadParameter(f"name the {noun}s to {verb} by ID, or say --all", param_hint="ID")
    if everything and not yes and not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask on; add --yes", param_hint="--all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """What is done to many jobs.

    Args:
        path: the route that does it.
        verb: what it is called.
        done: what it is called when it was done: the field of the results.
        noun: to one of what.
        fixed_by: the condition by which jobs are left out that came to be meant after they were counted.
    """

    path: str
    verb: str
    done: str
    noun: str
    fixed_by: Literal["created_before", "ended_before"]

    def run(self, api: Api, wanted: JobFilter, output: Output, *, limit: int | None, yes: bool) -> int:
        """Do it once somebody has agreed, and tell what became of each; returns the exit status.

        Raises:
            LunoraError: ``NOT_CONFIRMED``, and whatever keeps the first call from being answered.
        """
        total: int | None = None
        if not yes:
            total, wanted = self._agreed(api, wanted, output, limit)
        ids: list[str] = []
        stopped: LunoraError | None = None
        with output.progress(total, f"{self.noun}s to {self.verb}") as advance:
            try:
                for answer in self._steps(api, wanted, limit, dry_run=False) if total != 0 else ():
                    ids += answer["ids"]
                    advance(len(answer["ids"]))
            except LunoraError as error:
                if not ids:
                    raise
                stopped = error
        if not ids:
            output.say(f"there are no such {self.noun}s")
        self._tell(ids, stopped, output)
        return 0 if stopped is None else 1

    def _tell(self, ids: list[str], stopped: LunoraError | None, output: Output) -> None:
        for job_id in () if output.json else ids:
            output.say(f"{self.done} {one_line(job_id)}")
        if stopped is not None:
            output.warn(one_line(f"{len(ids):,} were {self.done}, then it stopped: {stopped}"))
        error = {} if stopped is None else {"error": stopped.to_dict()}
        output.document({"results": [{"id": job_id, self.done: True} for job_id in ids], **error})

    def _agreed(self, api: Api, wanted: JobFilter, output: Output, limit: int | None) -> tuple[int, JobFilter]:
        """How many there are, and a filter that leaves out what comes later, once somebody has agreed."""
        targets: Counter[str] = Counter()
        now: int | None = None
        more = False
        for number, answer in enumerate(self._steps(api, wanted, limit, dry_run=True), start=1):
            now = answer["now"] if now is None else now
            targets.update(answer["targets"])
            if targets.total() >= _MOST_COUNTED or (targets and number >= _MOST_COUNTS):
                more = answer["cursor"] is not None
                break
        total = targets.total()
        if total and not output.ask(self._question(targets, more=more)):
            raise LunoraError("NOT_CONFIRMED", "you did not agree, so nothing was changed")
        given = getattr(wanted, self.fixed_by)
        end = (now or 0) + 1
        fixed: dict[str, Any] = {self.fixed_by: end if given is None else min(given, end)}
        return total, replace(wanted, **fixed)

    def _question(self, targets: Counter[str], *, more: bool) -> str:
        total, many = targets.total(), targets.most_common()
        told = ", ".join(f"{count:,} of {target}" for target, count in many[:5]) + (", ..." if many[5:] else "")
        noun = self.noun if total == 1 else f"{self.noun}s"
        return f"{self.verb.capitalize()} {'at least ' if more else ''}{total:,} {noun} ({told})?"

    def _steps(self, api: Api, wanted: JobFilter, limit: int | None, *, dry_run: bool) -> Iterator[dict[str, Any]]:
        left, cursor = MOST if limit is None else limit, None
        while left > 0:
            step = {"filter": wanted.to_dict(), "limit": min(left, MAX_CHANGED), "cursor": cursor, "dry_run": dry_run}
            answer = _checked(api.post(self.path, step), self.path, cursor)
            yield answer
            left, cursor = left - len(answer["ids"]), answer["cursor"]
            if cursor is None:
                return


def _checked(answer: dict[str, Any], path: str, before: str | None) -> dict[str, Any]:
    ids, targets, cursor, now = (answer.get(name) for name in ("ids", "targets", "cursor", "now"))
    fits = (
        isinstance(ids, list)
        and all(isinstance(job_id, str) for job_id in ids)
        and isinstance(targets, dict)
        and all(type(count) is int for count in targets.values())
        and isinstance(cursor, str | None)
        and type(now) is int
    )
    if not fits:
        raise LunoraError("BAD_ANSWER", f"the answer of {path} does not say which jobs there were")
    if cursor is not None and cursor == before:
        raise LunoraError("BAD_ANSWER", f"the answer of {path} goes round in a circle: its cursor leads nowhere")
    return answer
