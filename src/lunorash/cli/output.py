"""What a command says, for people or for programs.

For people all goes to stdout, and problems to stderr. With ``--format json`` stdout carries one JSON document and
nothing else, and whatever is said on the way goes to stderr.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from lunorash.errors import LunoraError

__all__ = ["Format", "Output", "plain_text"]


class Format(StrEnum):
    """How a command reports."""

    PRETTY = "pretty"
    JSON = "json"


class Output:
    """Where a command says things. Colours are for terminals only, and not where ``NO_COLOR`` is set.

    Args:
        format: for people or for programs.
    """

    def __init__(self, format: Format = Format.PRETTY) -> None:  # noqa: A002 - the option's name
        self.json = format is Format.JSON
        self._problems = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._people = self._problems if self.json else Console(file=sys.stdout, highlight=False, soft_wrap=True)

    def say(self, line: RenderableType) -> None:
        """Say how it goes, a line of progress or a table, to people. Text is shown as it is, never as markup."""
        self._people.print(plain_text(line) if isinstance(line, str) else line)

    def warn(self, line: str) -> None:
        """Say what somebody should look at."""
        self._problems.print(plain_text(line, "yellow"))

    def document(self, document: Any, *, pretty: RenderableType | None = None) -> None:
        """Give the command's result.

        Args:
            document: what programs get, JSON values.
            pretty: what people get in its place; None for nothing more than was said.
        """
        if self.json:
            sys.stdout.write(json.dumps(document) + "\n")
            sys.stdout.flush()
        elif pretty is not None:
            self.say(pretty)

    def fail(self, error: Exception) -> None:
        """Say why the command failed: for programs ``{"error": {"code", "message"}}``."""
        if self.json:
            told = (
                error.to_dict()
                if isinstance(error, LunoraError)
                else {"code": str(getattr(error, "code", "INTERNAL")), "message": str(error)}
            )
            self.document({"error": told})
        self._problems.print(plain_text(f"lunora: {error}", "red"))


def plain_text(text: str, style: str = "") -> Text:
    """Text that came from somewhere else, made harmless for a terminal: what is not printable is shown escaped.

    Args:
        text: any text; line breaks and tabs stay.
        style: how it is shown, in rich's words.

    Example:
        >>> plain_text("a[red]b\\x1b[31mc").plain
        'a[red]b\\\\x1b[31mc'
    """
    shown = "".join(
        character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1] for character in text
    )
    return Text(shown, style=style)
