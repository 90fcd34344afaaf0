"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from lunorash.cli.output import Format

__all__ = [
    "DEFAULT_URL",
    "ErrorOption",
    "FormatOption",
    "IdPrefixOption",
    "LinesOption",
    "PoolOption",
    "ProjectOption",
    "TagOption",
    "TargetOption",
    "UrlOption",
    "YesOption",
]

DEFAULT_URL: Final = "http://localhost:8787"

ProjectOption = Annotated[
    Path, typer.Option("--project", metavar="DIR", help="The folder of wrangler.jsonc.", show_default="here")
]

FormatOption = Annotated[
    Format, typer.Option("--format", help="For people, or one JSON document on stdout and all else on stderr.")
]

LinesOption = Annotated[
    Format,
    typer.Option("--format", help="For people, or one JSON event a line on stdout and all else on stderr."),
]

UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="ORIGIN",
        help="The Worker. Its admin token is LUNORA_ADMIN_TOKEN of the environment, else of .dev.vars.",
    ),
]

TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "--function",
        metavar="TARGET",
        help="That call this: a path, a module or folder of them, or a pattern such as 'billing:*'.",
    ),
]

PoolOption = Annotated[str | None, typer.Option("--pool", metavar="NAME", help="Of this workpool.")]

TagOption = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="With this tag.")]

ErrorOption = Annotated[str | None, typer.Option("--error", metavar="CODE", help="Whose last error has this code.")]

IdPrefixOption = Annotated[str | None, typer.Option("--id-prefix", metavar="TEXT", help="Whose ids begin so.")]

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
