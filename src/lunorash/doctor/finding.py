"""What a check of the doctor says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level", "failed", "kebab", "noted", "passed", "warned"]


class Level(StrEnum):
    """How much a finding matters, the worst first."""

    FAIL = "fail"
    WARN = "warn"
    INFO = "info"
    PASS = "pass"  # noqa: S105 - no password


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        code: a stable word such as ``"origin-missing"``; the message may be reworded.
        level: how much it matters.
        message: what was found. Never a secret.
        fix: what to do about it; None when there is nothing to do.

    Example:
        >>> Finding("origin-missing", Level.WARN, "LUNORA_ORIGIN_URL is not set", "set it").to_dict()["level"]
        'warn'
    """

    code: str
    level: Level
    message: str
    fix: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The finding as ``--format json`` shows it."""
        return {"code": self.code, "level": self.level.value, "message": self.message, "fix": self.fix}


def failed(code: str, message: str, fix: str) -> Finding:
    """What does not work, or must not be deployed."""
    return Finding(code, Level.FAIL, message, fix)


def warned(code: str, message: str, fix: str) -> Finding:
    """What somebody should look at, and may be right."""
    return Finding(code, Level.WARN, message, fix)


def noted(code: str, message: str, fix: str | None = None) -> Finding:
    """What is worth knowing, and no fault."""
    return Finding(code, Level.INFO, message, fix)


def passed(code: str, message: str) -> Finding:
    """What is as it should be."""
    return Finding(code, Level.PASS, message)


def kebab(code: str) -> str:
    """An error's code as a finding has it.

    Example:
        >>> kebab("NODE_TOO_OLD")
        'node-too-old'
    """
    return code.lower().replace("_", "-")
