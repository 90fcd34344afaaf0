"""The `lunora` command: every command with its options; what each does is in a file of its name.

Exit statuses: 0 when it was done, 1 when it failed or found something wrong, 2 for a command line that makes no sense.
With ``--format json`` the last two have a document too, ``{"error": {"code", "message"}}``, unless a command says more.
"""

from __future__ import annotations

import json
import sys
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lunorash.cli import crons, dead, jobs, pools, registry
from lunorash.cli.build import STAGED, build
from lunorash.cli.codegen import codegen
from lunorash.cli.init import init
from lunorash.cli.local_server import DEFAULT_PORT, vendor_packages
from lunorash.cli.options import FormatOption, LinesOption, ProjectOption
from lunorash.cli.output import Format, Output
from lunorash.cli.run import run
from lunorash.errors import LunoraError

__all__ = ["app", "main"]

_UsageError: Final[Any] = typer.BadParameter.__base__
"""Whatever is wrong with a command line; typer exports only this one kind of it."""

app = typer.Typer(
    name="lunora",
    help="Durable deferred jobs, crons and workpools for Python on Cloudflare.",
    epilog="Exit status: 0 done, 1 failed or found something wrong, 2 a command line that makes no sense.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(init)
app.add_typer(registry.app, name="registry")


@app.command("dev")
def _dev(
    project: ProjectOption = Path(),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to answer.")] = DEFAULT_PORT,
    no_crons: Annotated[bool, typer.Option("--no-crons", help="Fire no crons.")] = False,
    format: LinesOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """Serve the Worker locally, on the real runtime, and fire its crons on their schedule.

    JSON: a line for each event, {"event": NAME, ...}: progress, ready, log, crons, cron, cron_missed, ended, stopped.

    Example: lunora dev --port 8790
    """
    from lunorash.cli.dev import dev

    raise typer.Exit(dev(project, Output(format), port=port, crons=not no_crons))


@app.command("demo")
def _demo(project: ProjectOption = Path(), format: FormatOption = Format.PRETTY) -> None:  # noqa: A002
    """Tell a short story of jobs on a Worker of its own.

    JSON: {"ok", "backlog", "in_flight", "dead"}, once it has ended well.

    Example: lunora demo
    """
    from lunorash.cli.demo import demo

    raise typer.Exit(demo(project, Output(format)))


@app.command("codegen")
def _codegen(
    project: ProjectOption = Path(),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail and show the difference when stale.")
    ] = False,
    format: FormatOption = Format.PRETTY,  # noqa: A002 - the option's name
) -> None:
    """Make lunora/_generated and what wrangler.jsonc lacks from the app's sources.

    Example: lunora codegen --check
    """
    raise typer.Exit(codegen(project, Output(format), check=check))


@app.command("build")
def _build(project: ProjectOption = Path(), format: FormatOption = Format.PRETTY) -> None:  # noqa: A002
    """Put the Worker's files together for wrangler.

    Example: lunora build
    """
    output = Output(format)
    changed = build(project)
    vendor_packages(project, lambda line: output.say(f"lunora build: {line}"))
    output.document(
        {"ok": True, "changed": changed, "folder": str(STAGED)},
        pretty=f"lunora build: {changed or 'no'} file{'' if changed == 1 else 's'} changed in {STAGED}",
    )


@app.command("doctor")
def _doctor(
    project: ProjectOption = Path(),
    fix: Annotated[bool, typer.Option("--fix", help="Repair what nobody has to decide, then look again.")] = False,
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Look for what would keep the project from running or from being deployed.

    Example: lunora doctor --fix
    """
    from lunorash.cli.doctor import doctor

    raise typer.Exit(doctor(project, Output(format), fix=fix))


@app.command("deploy")
def _deploy(
    arguments: Annotated[list[str] | None, typer.Argument(help="Passed on to wrangler; put -- before them.")] = None,
    *,
    project: ProjectOption = Path(),
    environment: Annotated[str | None, typer.Option("--env", metavar="NAME", help="The environment.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but upload.")] = False,
    skip_doctor: Annotated[bool, typer.Option("--skip-doctor", help="Deploy whatever the doctor would say.")] = False,
    format: FormatOption = Format.PRETTY,  # noqa: A002
) -> None:
    """Check and build the Worker, then hand it to wrangler.

    Example: lunora deploy --env staging -- --keep-vars
    """
    from lunorash.cli.deploy import deploy

    output = Output(format)
    given = arguments or ()
    raise typer.Exit(
        deploy(project, output, environment=environment, dry_run=dry_run, skip_doctor=skip_doctor, arguments=given)
    )


@app.command("openapi")
def _openapi(format: FormatOption = Format.PRETTY) -> None:  # noqa: A002
    """Print the OpenAPI document of the admin API, which a Worker has at /_lunora/admin/v1/openapi.json.

    JSON: the document, on one line.

    Example: lunora openapi
    """
    from lunorash.cli.openapi import document

    Output(format).document(document(), pretty=json.dumps(document(), indent=2))


app.command("run")(run)
app.add_typer(jobs.app, name="jobs")
app.add_typer(dead.app, name="dead")
app.add_typer(pools.app, name="pools")
app.add_typer(crons.app, name="crons")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may hold what the encoding of a pipe lacks
    try:
        status = app(given, prog_name="lunora", standalone_mode=False)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except _UsageError as error:
        error.show()  # on stderr, with how it is used
        refused = {"code": "COMMAND_LINE_INVALID", "message": error.format_message()}
        Output(_asked_format(given)).document({"error": refused})
        return 2
    except Exception as error:
        told = _about_file(error) if isinstance(error, OSError) and error.filename is not None else error
        # our own and pytest-workers' say what to do; anything else is a bug, and its traceback helps
        if getattr(told, "code", None) is None:
            raise
        Output(_asked_format(given)).fail(told)
        return 1
    return status if isinstance(status, int) else 0


def _about_file(error: OSError) -> LunoraError:
    """A disk that is full, a file that may not be written, a folder that is in the way: nothing of it is our bug."""
    which = error.filename if error.filename2 is None else error.filename2
    return LunoraError("FILE_UNUSABLE", f"{which}: {error.strerror}. Put that right and run the command again")


def _asked_format(arguments: list[str]) -> Format:
    """The format that a command line asks for, wherever it stands in it."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = [option.removeprefix("--format=") for option in options if option.startswith("--format=")]
    asked += [value for option, value in pairwise(options) if option == "--format"]
    return Format.JSON if Format.JSON in asked else Format.PRETTY


if __name__ == "__main__":
    sys.exit(main())
