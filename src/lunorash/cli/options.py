"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lunorash.cli.output import Format

__all__ = ["FormatOption", "ProjectOption"]

ProjectOption = Annotated[
    Path, typer.Option("--project", metavar="DIR", help="The folder of wrangler.jsonc.", show_default="here")
]

FormatOption = Annotated[
    Format, typer.Option("--format", help="For people, or one JSON document on stdout and all else on stderr.")
]
