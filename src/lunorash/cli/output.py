"""What a command says, for people or for programs.

For people all goes to stdout, and problems to stderr. With ``--format json`` stdout carries one JSON document and
nothing else, and whatever is said on the way goes to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from lunorash.errors import LunoraError

__all__ = ["Format", "Output", "one_line", "plain_text", "table"]

_PIPE_WIDTH: Final = 100_000
"""The width where there is no terminal: nothing is folded, so that a row stays a line for grep."""


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
        self._problems = _console(sys.stderr)
        self._people = self._problems if self.json else _console(sys.stdout)

    def say(self, line: RenderableType) -> None:
        """Say how it goes, a line of progress or a table, to people. Text is shown as it is, never as markup."""
        if isinstance(line, str):
            self._people.print(plain_text(line))
        else:
            self._people.print(line, soft_wrap=False)

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

    def event(self, event: str, pretty: RenderableType | None = None, **facts: Any) -> None:
        """Say what has happened, for a command that goes on: with ``--format json`` each is a line on stdout.

        Args:
            event: what it is called.
            pretty: what people get; None for nothing.
            facts: what programs get beside the name, JSON values.
        """
        if self.json:
            sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
            sys.stdout.flush()
        elif pretty is not None:
            self.say(pretty)

    @contextmanager
    def progress(self, total: int | None, doing: str) -> Iterator[Callable[..., None]]:
        """Show on a terminal how far something has come, and nothing elsewhere.

        Args:
            total: how many steps there are; None if nobody knows.
            doing: what is done.

        Returns:
            what to call after each step, or with how many there were.
        """
        from rich.progress import Progress  # takes 20 ms that most commands can do without

        with Progress(console=self._problems, transient=True, disable=not self._problems.is_terminal) as shown:
            task = shown.add_task(one_line(doing), total=total)
            yield lambda steps=1: shown.advance(task, steps)

    def ask(self, question: str) -> bool:
        """Ask whoever sits at the terminal; only a yes is one.

        typer's own question puts a part of itself on stdout, which is for the command's result.
        """
        self._problems.print(Text(f"{one_line(question)} [y/N] "), end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def fail(self, error: Exception) -> None:
        """Say why the command failed: for programs ``{"error": {"code", "message"}}``."""
        if self.json:
            told = (
                error.to_dict()
                if isinstance(error, LunoraError)
                else {"code": str(getattr(error, "code", "INTERNAL")), "message": str(error)}
            )
            self.document({"error": told})
        # indented, so that no text of a Worker passes for a line of ours
        self._problems.print(plain_text(f"lunora: {error}".replace("\n", "\n  "), "red"))


def _console(file: TextIO) -> Console:
    return Console(file=file, highlight=False, soft_wrap=True, width=None if file.isatty() else _PIPE_WIDTH)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table for `Output.say`, one line a row where nothing has to be folded.

    Args:
        headings: what its columns are called.
        rows: their values: text from anywhere, None for nothing, other JSON values.
    """
    made = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for row in rows:
        made.add_row(*(Text(_cell(value)) for value in row))
    return made


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def one_line(text: str) -> str:
    """`plain_text` for text that must stay on its line: line breaks and tabs are escaped too.

    Example:
        >>> one_line("done\\nlunora: all is well")
        'done\\\\nlunora: all is well'
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


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
