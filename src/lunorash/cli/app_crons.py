"""The cron jobs of an app, read from its sources."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lunorash.codegen import generate
from lunorash.codegen.crons import AppCron
from lunorash.errors import LunoraError

__all__ = ["AppCrons", "read_crons"]

_APP: Final = "lunora"


def read_crons(project: Path) -> tuple[AppCron, ...]:
    """The cron jobs of an app, in order of their names. Its modules are parsed, never imported.

    Args:
        project: the folder with `lunora/` in it.

    Raises:
        LunoraError: ``CODEGEN_FAILED`` with all that is wrong with the app.
    """
    generation = generate(project)
    if generation.diagnostics:
        raise LunoraError("CODEGEN_FAILED", "\n".join(str(diagnostic) for diagnostic in generation.diagnostics))
    return generation.crons


class AppCrons:
    """The cron jobs of an app whose sources are being worked on.

    Args:
        project: the folder with `lunora/` in it.
    """

    def __init__(self, project: Path) -> None:
        self._project = project
        self._seen: frozenset[tuple[str, int, int]] = frozenset()
        self.crons: tuple[AppCron, ...] = ()
        """As they were when the sources were last without a mistake: that is what the Worker runs."""

    def refresh(self) -> bool:
        """Read the sources again if they have changed since; returns whether that gave other cron jobs."""
        try:
            seen = self._fingerprint()
            if seen == self._seen:
                return False
            self._seen = seen
            crons = read_crons(self._project)
        except (LunoraError, OSError):
            # A mistake is told by the build that wrangler runs. A file may be gone again before it is read.
            return False
        changed = [cron.job for cron in crons] != [cron.job for cron in self.crons]
        self.crons = crons
        return changed

    def _fingerprint(self) -> frozenset[tuple[str, int, int]]:
        files = ((path, path.stat()) for path in (self._project / _APP).rglob("*.py"))
        return frozenset((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in files)
