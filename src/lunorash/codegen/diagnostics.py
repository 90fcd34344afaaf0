"""What is wrong with an app's sources: where, a stable code, and the way out."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Diagnostic", "Diagnostics"]


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One thing that is wrong with an app's sources.

    Args:
        file: the file, relative to the project, with forward slashes.
        line: the line, from 1.
        code: a stable word such as ``"ARGUMENT_NOT_ANNOTATED"``.
        message: what is wrong, the rule, and what to do.

    Example:
        >>> print(Diagnostic("lunora/billing.py", 7, "FUNCTION_NO_CONTEXT", "end_trial takes no context"))
        lunora/billing.py:7: FUNCTION_NO_CONTEXT: end_trial takes no context
    """

    file: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"

    def to_dict(self) -> dict[str, str | int]:
        """The diagnostic as ``--format json`` shows it."""
        return {"code": self.code, "file": self.file, "line": self.line, "message": self.message}


@dataclass(slots=True)
class Diagnostics:
    """Collects all of a run, so that none has to be found by running again."""

    _found: set[Diagnostic] = field(default_factory=set)

    def report(self, code: str, file: str, line: int, message: str) -> None:
        """Add one."""
        self._found.add(Diagnostic(file, line, code, message))

    def files(self) -> frozenset[str]:
        """The files that they are about: what is missed there may be their consequence."""
        return frozenset(diagnostic.file for diagnostic in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All of them, by file and line."""
        return tuple(sorted(self._found))
