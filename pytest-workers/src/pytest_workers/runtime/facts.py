"""Facts about programs that are slow to find out: asked once, and kept while the file is the same."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path


def remembered(cache: Path, topic: str, program: Path, ask: Callable[[Path], str]) -> str:
    """Ask a program something once, and again only when the file has changed.

    Args:
        cache: the cache folder; when it cannot be written, the program is asked each time.
        topic: what is asked.
        program: the file.
        ask: gives the answer.

    Returns:
        The answer.
    """
    stat = program.stat()
    key = hashlib.sha256(f"{topic}\0{program}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()[:16]
    fact = cache / "facts" / key
    with contextlib.suppress(OSError):
        return fact.read_text(encoding="utf-8")
    answer = ask(program)
    with contextlib.suppress(OSError):
        fact.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=fact.parent, encoding="utf-8", delete=False) as partial:
            partial.write(answer)
        Path(partial.name).replace(fact)
    return answer
