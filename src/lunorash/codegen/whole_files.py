"""Files that are replaced whole: a crash leaves what was there or what is to be, and nothing between."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Give a file another content, or make it. A link stays one, and a file keeps its mode.

    Args:
        path: the file; its folder exists. Half of it may be what somebody wrote by hand.
        content: all that is to be in it.

    Raises:
        OSError: it cannot be written; it is as it was then, and nothing is left beside it.
    """
    path = path.resolve()
    written = path.with_name(f".{path.name}.new")
    try:
        written.write_bytes(content)
        if path.exists():
            shutil.copymode(path, written)
        written.replace(path)
    except OSError:
        written.unlink(missing_ok=True)
        raise
