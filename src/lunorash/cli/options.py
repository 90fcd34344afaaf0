"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from lunorash.cli.output import Format

__all__ = ["DEFAULT_URL", "FormatOption", "LinesOption", "ProjectOption", "UrlOption", "YesOption"]

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

YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
