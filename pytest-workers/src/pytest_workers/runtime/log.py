"""The log of a server: a file that it writes itself, so nothing is lost and nobody has to read along."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
TAIL_LINES = 40
LINE_LIMIT = 400
FOLLOW_SECONDS = 0.1


def plain(text: str) -> str:
    """Take colours and cursor movements out of a text.

    Args:
        text: what a program wrote to a terminal.

    Returns:
        The text alone.
    """
    return ANSI.sub("", text)


class Log:
    """What a server has written, across its restarts.

    Args:
        path: the file. It is emptied.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        self._follower: threading.Thread | None = None
        self._closing = threading.Event()

    def position(self) -> int:
        """Say where the log ends now.

        Returns:
            A number for `lines`, which then leaves out everything up to here.
        """
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def lines(self, since: int = 0) -> list[str]:
        """Read the lines so far.

        Args:
            since: what `position` returned earlier, or 0 for all.

        Returns:
            The lines without colours and line ends. The last one may still be incomplete.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(since)
                content = file.read()
        except FileNotFoundError:
            return []
        return plain(content.decode(errors="replace")).splitlines()

    def tail(self, since: int = 0) -> str:
        """Give the end of the log for an error message.

        Args:
            since: what `position` returned earlier, or 0 for all.

        Returns:
            The last 40 lines that are not blank, each cut at 400 characters.
        """
        filled = [line[:LINE_LIMIT].rstrip() for line in self.lines(since) if line.strip()]
        return "\n".join(filled[-TAIL_LINES:])

    def follow(self, echo: Callable[[str], None]) -> None:
        """Hand every line from here on to a function, from a thread, until `unfollow`.

        Args:
            echo: called with one line at a time, without colours.
        """
        if self._follower is not None:
            return
        self._closing.clear()
        # Opened here, not in the thread: a server that fails at once discards its log before the thread has run.
        file = self.path.open("rb")
        file.seek(self.position())
        self._follower = threading.Thread(target=self._follow, args=(echo, file), daemon=True, name="worker-log")
        self._follower.start()

    def unfollow(self) -> None:
        """Hand over what is left, then stop the thread."""
        if self._follower is not None:
            self._closing.set()
            self._follower.join()
            self._follower = None

    def _follow(self, echo: Callable[[str], None], file: BinaryIO) -> None:
        rest = b""
        with file:
            while True:
                # Looked at before reading: what was written before the end is then still handed over.
                closing = self._closing.is_set()
                *complete, rest = (rest + file.read()).split(b"\n")
                for line in complete:
                    echo(plain(line.decode(errors="replace")))
                if closing:
                    if rest:
                        echo(plain(rest.decode(errors="replace")))
                    return
                self._closing.wait(FOLLOW_SECONDS)
