"""Doing the same to several jobs, each for itself, and telling what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import typer

from lunorash.cli.output import Output, one_line
from lunorash.errors import LunoraError
from lunorash.scheduler.ids import check_id

__all__ = ["check_ids", "do_each", "say_each"]

_ALL_ALIKE: Final = frozenset({"ADMIN_FORBIDDEN", "BAD_ANSWER", "SCHEDULER_NOT_CONFIGURED", "WORKER_UNREACHABLE"})
"""Errors that the next job would meet too."""


def check_ids(ids: Iterable[str]) -> list[str]:
    """Ids from the command line, each once, all checked before anything is asked for.

    Raises:
        typer.BadParameter: for one that cannot be an id.
    """
    try:
        return [check_id(job_id) for job_id in dict.fromkeys(ids)]
    except LunoraError as error:
        raise typer.BadParameter(error.message, param_hint="ID") from None


def do_each(
    ids: list[str], ask: Callable[[str], bool], *, done: str, output: Output, doing: str
) -> list[dict[str, Any]]:
    """Ask the same for each job.

    An error of one does not keep the others from being asked for, unless they would meet it too.

    Args:
        ids: the jobs.
        ask: asks for one; returns whether it was done.
        done: what it is called that was done: the field of the results.
        output: where progress is shown.
        doing: what is said there.

    Returns:
        for each job ``{"id", done: bool}``, with ``"error"`` if there was one.
    """
    results: list[dict[str, Any]] = []
    stopped: LunoraError | None = None
    with output.progress(len(ids), doing) as advance:
        for job_id in ids:
            result: dict[str, Any] = {"id": job_id, done: False}
            if stopped is not None:
                result["error"] = {"code": "NOT_TRIED", "message": f"it was not tried, after {stopped.code}"}
            else:
                try:
                    result[done] = ask(job_id)
                except LunoraError as error:
                    result["error"] = error.to_dict()
                    stopped = error if error.code in _ALL_ALIKE else None
            results.append(result)
            advance()
    return results


def say_each(results: list[dict[str, Any]], *, done: str, otherwise: str, output: Output) -> None:
    """Tell what became of each, for people and for programs.

    Args:
        results: what `do_each` returned.
        done: the field of the results.
        otherwise: why one that met no error was not done.
        output: where it is told.
    """
    if not output.json:
        for result in results:
            if result[done]:
                output.say(f"{done} {one_line(result['id'])}")
            else:
                error = result.get("error")
                why = f"{error['code']}: {error['message']}" if error else otherwise
                output.warn(one_line(f"not {done} {result['id']}: {why}"))
    output.document({"results": results})
