"""A server's processes, seen from the test run: started under a supervisor, ended together."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from pytest_workers.runtime import supervisor

SPAWN_SECONDS = 30.0
# What the supervisor may need beyond its own grace before it is ended itself.
SUPERVISOR_SECONDS = supervisor.GRACE_SECONDS + 10


class SupervisedProcess:
    """A command and all its descendants, which end when this process does, however it ends.

    Args:
        command: the program and its arguments.
        environment: its environment variables.
        folder: its working folder.
        log: the file that its output is appended to.
        keep: a file descriptor that stays open until all of it has ended.
    """

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, log: Path, keep: int) -> None:
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", supervisor.__file__, str(os.getpid()), str(output), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                cwd=folder,
                env=environment,
                pass_fds=(output, keep),
                # Ctrl-C on the terminal must reach the test run first, which then stops the server.
                start_new_session=True,
            )
        finally:
            os.close(output)
        self.group = self._read_group()

    @property
    def running(self) -> bool:
        """Whether the command is still running."""
        return self._process.poll() is None

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than the command runs.

        Args:
            seconds: how long.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def end(self, *, at_once: bool) -> None:
        """End the command and its descendants, and return when none is left.

        Args:
            at_once: send SIGKILL right away instead of SIGTERM and, five seconds later, SIGKILL.
        """
        control = self._process.stdin
        assert control is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):
            control.write(b"kill" if at_once else b"stop")
            control.flush()
        try:
            self._process.wait(SUPERVISOR_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            control.close()
        # Only a supervisor that was killed itself leaves the group behind.
        if self._process.returncode < 0 and self.group is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, signal.SIGKILL)

    def _read_group(self) -> int | None:
        told = self._process.stdout
        assert told is not None  # noqa: S101 - it is a pipe
        with told:
            readable, _, _ = select.select([told], [], [], SPAWN_SECONDS)
            answer = told.readline().strip() if readable else b""
        return int(answer) if answer else None
