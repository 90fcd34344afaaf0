"""`lunora crons`: the cron jobs of a running Worker or of the sources, and when they fire."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lunorash.cli.admin_access import connect
from lunorash.cli.app_crons import read_crons
from lunorash.cli.forecast import describe, forecast
from lunorash.cli.options import DEFAULT_URL, FormatOption, ProjectOption, UrlOption
from lunorash.cli.output import Format, Output, one_line, table
from lunorash.cli.records import ADMIN, objects
from lunorash.cli.times import distance, now_ms, read_instant, when

__all__ = ["app"]

app = typer.Typer(help="Look at cron jobs, run one now, and see when they fire.", no_args_is_help=True)

_ROUTE: Final = f"{ADMIN}/cron-jobs"


@app.command("list")
def _list(
    offline: Annotated[bool, typer.Option("--offline", help="Read the sources; no Worker is asked.")] = False,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """List cron jobs: when they fire, what they run, how the last run ended.

    JSON: {"jobs": [{"name", "cron", "english", "target", "args", "overlap", "timeout_ms", "retry", "next",
    "last_run"}]}.

    Example: lunora crons list --offline
    """
    if offline:
        crons = [describe(cron, after=datetime.now(UTC)) for cron in read_crons(project)]
    else:
        with connect(url, project) as api:
            crons = objects(api.get(_ROUTE), "jobs", _ROUTE)
    now, output = now_ms(), Output(format)
    listed = table(
        ("NAME", "CRON", "MEANING", "TARGET", "NEXT", "LAST RUN"),
        (
            (
                cron.get("name"),
                cron.get("cron"),
                cron.get("english"),
                cron.get("target"),
                when(cron.get("next"), now),
                _last_run(cron.get("last_run"), now),
            )
            for cron in crons
        ),
    )
    output.document({"jobs": crons}, pretty=listed if crons else "there are no cron jobs")
    for cron in crons if offline else ():
        for notice in cron["notices"]:
            output.warn(f"note: {cron['file']}:{cron['line']}: {notice}")


@app.command("run")
def _run(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Run a cron job of a running Worker now, the way its trigger does.

    JSON: {"name", "ran": true, "result"} or {"name", "ran": false, "reason"}. Exits with 1 if it did not run or failed.

    Example: lunora crons run "sweep presence"
    """
    from lunorash.cli.api import LONG_S

    output = Output(format)
    with connect(url, project) as api:
        answer = api.post(f"{_ROUTE}/run", {"name": name}, wait_s=LONG_S)
    ran = answer.get("ran") is True
    if not output.json:
        if ran:
            output.say(f"ran {one_line(name)}")
        else:
            output.warn(f"not ran {one_line(name)}: {one_line(str(answer.get('reason')))}")
    result = answer.get("result")
    output.document(
        {"name": name, **answer},
        pretty=json.dumps(result, indent=2, ensure_ascii=False) if ran and result is not None else None,
    )
    raise typer.Exit(0 if ran else 1)


@app.command("runs")
def _runs(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Of this cron job only.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    url: UrlOption = DEFAULT_URL,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """List the last runs of cron jobs, the newest first.

    JSON: {"runs": [{"name", "scheduled_for", "trigger", "started", "ended", "outcome", "error_code", ...}]}.

    Example: lunora crons runs digest --limit 5
    """
    path = f"{_ROUTE}/runs"
    with connect(url, project) as api:
        runs = objects(api.get(path, limit=str(limit), **({} if name is None else {"name": name})), "runs", path)
    now = now_ms()
    listed = table(
        ("NAME", "SCHEDULED FOR", "TRIGGER", "TOOK", "OUTCOME", "ERROR", "JOB"),
        (
            (
                run.get("name"),
                when(run.get("scheduled_for"), now),
                run.get("trigger"),
                _took(run),
                run.get("outcome"),
                _error(run),
                run.get("job"),
            )
            for run in runs
        ),
    )
    Output(format).document({"runs": runs}, pretty=listed if runs else "there are no runs")


@app.command("next")
def _next(
    expressions: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXPRESSION", help="Cron expressions; without any, the app's cron jobs."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="How many fires of each.")] = 5,
    after: Annotated[
        datetime | None,
        typer.Option(
            "--from",
            metavar="INSTANT",
            parser=read_instant,
            help="Tell fires after this instant: ISO 8601, UTC if it names no zone. Else after now.",
        ),
    ] = None,
    project: ProjectOption = Path(),
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Say what cron expressions mean to Cloudflare, and when they fire next. No Worker is asked.

    JSON: [{"expression", "normalized", "english", "next": [...], "notices"?}], or {"expression", "error", "code"} for
    one that is refused or never fires; then it exits with 1. The app's cron jobs have "name" and "target" beside.

    Example: lunora crons next "0 8 * * MON" "0 0 LW * *" --count 3
    """
    output, begin = Output(format), after or datetime.now(UTC)
    if expressions:
        told = [forecast(text, after=begin, count=count) for text in expressions]
    else:
        told = [
            {
                "name": cron.job.name,
                "target": cron.job.target,
                **forecast(cron.job.expression, after=begin, count=count),
                **({"notices": list(cron.notices)} if cron.notices else {}),
            }
            for cron in read_crons(project)
        ]
    output.document(told, pretty=None if told else "there are no cron jobs")
    if not output.json:
        for each in told:
            _say_next(each, None if after else begin, output)
    raise typer.Exit(1 if any("error" in each for each in told) else 0)


def _say_next(told: dict[str, Any], now: datetime | None, output: Output) -> None:
    """One expression for people, with distances from now."""
    if "error" in told:
        output.warn(f"lunora: {told['error']}")
        return
    named = f"{told['name']}  " if "name" in told else ""
    as_written = "" if told["expression"] == told["normalized"] else f", written {told['normalized']}"
    output.say(f"{named}{told['expression']}  {told['english']}{as_written}")
    for fire in told["next"]:
        away = "" if now is None else f" ({distance((datetime.fromisoformat(fire) - now).total_seconds() * 1000)})"
        output.say(f"  {fire}{away}")
    for notice in told.get("notices", ()):
        output.warn(f"  note: {notice}")


def _last_run(run: Any, now: int) -> str:
    if not isinstance(run, dict):
        return ""
    return " ".join(filter(None, (str(run.get("outcome") or "running"), when(run.get("started"), now))))


def _took(run: dict[str, Any]) -> str:
    started, ended = run.get("started"), run.get("ended")
    return f"{(ended - started) / 1000:.1f} s" if isinstance(started, int) and isinstance(ended, int) else ""


def _error(run: dict[str, Any]) -> str | None:
    if run.get("error_code") is None:
        return None
    return f"{run['error_code']}: {run.get('error_message')}"
