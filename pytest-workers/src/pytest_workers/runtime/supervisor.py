"""The small process between a test run and its server, which sees to it that nothing is left running.

It is started as a script of its own, so it imports nothing but the standard library. Its standard input is a
pipe from the parent: the words `stop` and `kill` end the server, and so does the pipe's end, which comes
however the parent ends (SIGKILL included). Its standard output tells the parent the server's process group,
once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time

GRACE_SECONDS = 5.0
LOST_PARENT_GRACE_SECONDS = 1.0
POLL_SECONDS = 1.0
PR_SET_CHILD_SUBREAPER = 36


class Group:
    """The server: a process group, and everything that it leaves behind.

    Args:
        command: the program and its arguments.
        log: the file descriptor that gets its output.
    """

    def __init__(self, command: list[str], log: int) -> None:
        child = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        self.leader = child.pid
        self.status: int | None = None
        # This process waits for its children itself, see `reap`.
        child.returncode = 0

    def reap(self) -> None:
        """Wait for every child that has ended, and keep the exit status of the first process."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.leader:
                self.status = os.waitstatus_to_exitcode(status)

    def signal(self, number: int) -> bool:
        """Send a signal to every process of the group.

        Args:
            number: the signal; 0 only looks.

        Returns:
            Whether there was any process left.
        """
        self.reap()
        try:
            os.killpg(self.leader, number)
        except (ProcessLookupError, PermissionError):
            # macOS answers "not permitted" for a group of which only zombies are left.
            return False
        return True

    def end(self, grace: float) -> None:
        """End every process of the group.

        Args:
            grace: seconds between SIGTERM and SIGKILL; 0 sends SIGKILL at once.
        """
        if grace > 0 and self.signal(signal.SIGTERM):
            deadline = time.monotonic() + grace
            while time.monotonic() < deadline and self.signal(0):
                time.sleep(0.01)
        # A process that was just being forked may miss a signal, so it is repeated until the group is empty.
        while self.signal(signal.SIGKILL):
            time.sleep(0.01)


def watch(group: Group, parent: int) -> None:
    """Wait until the parent says so, or is gone, or the server ends by itself; then end all of the server.

    Args:
        group: the server.
        parent: the process that must be this one's parent. It is told, not looked up: a parent that is gone
            before the look would never be missed.
    """
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    stopped = False

    def note_stop(_number: int, _frame: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, note_stop)
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        while True:
            group.reap()
            if group.status is not None:
                return group.end(0)
            if stopped:
                return group.end(GRACE_SECONDS)
            # A forked sibling may hold a copy of the pipe's other end, so the parent is looked at as well.
            if os.getppid() != parent:
                return group.end(LOST_PARENT_GRACE_SECONDS)
            ready = {key.fd for key, _ in selector.select(POLL_SECONDS)}
            if wake_read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(wake_read, 4096)
            if 0 in ready:
                word = os.read(0, 64).strip()
                if word == b"kill":
                    return group.end(0)
                return group.end(GRACE_SECONDS if word else LOST_PARENT_GRACE_SECONDS)


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent dies, so that they are waited for (Linux only)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main(arguments: list[str]) -> int:
    """Start a server and stay until it has ended.

    Args:
        arguments: the parent's process number, the file descriptor for the server's output, then the command.

    Returns:
        The server's exit status, or 128 plus the signal that ended it.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    adopt_orphans()
    parent, log = map(int, arguments[:2])
    group = Group(arguments[2:], log)
    os.close(log)
    with contextlib.suppress(OSError):
        os.write(1, f"{group.leader}\n".encode())
    os.close(1)
    watch(group, parent)
    status = group.status if group.status is not None else 0
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
