"""File locks: one process at a time vendors or assembles, and one server at a time uses a state folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_workers.errors import StateInUseError

STATE_LOCK = ".pytest-workers.lock"


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a lock file while the block runs, waiting for whoever holds it now.

    The lock is the kernel's: it ends with the process, however that ends.

    Args:
        path: the lock file; its folder is made.
        waiting: called once if the lock is not free at once.
    """
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def take_state(folder: Path) -> int:
    """Take the lock of a state folder.

    Args:
        folder: the folder; it is made.

    Returns:
        A file descriptor. The lock lasts until every copy of it is closed, so the supervisor is given one:
        the folder stays taken until the server has ended, even when its parent was killed.

    Raises:
        StateInUseError: (STATE_IN_USE) another server has the folder.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / STATE_LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise StateInUseError(
            f"The state folder {folder} is in use" + (f" by process {holder}." if holder else "."),
            "Two servers on one folder would overwrite each other's Durable Objects.",
            "Stop the other server, or give this one another folder (persist_to).",
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor
