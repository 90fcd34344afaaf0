"""What a job can call: the path of a function, as text."""

from __future__ import annotations

import re
from typing import Any, Final

from lunorash.errors import LunoraError, shown

__all__ = ["check_function_path"]

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_MAX_LENGTH: Final = 200


def check_function_path(target: Any) -> str:
    """Return ``target`` if it reads like a function path, ``module.path:name`` relative to ``lunora/``.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule and an example.

    Example:
        >>> check_function_path("billing:end_trial")
        'billing:end_trial'
    """
    if not isinstance(target, str) or len(target) > _MAX_LENGTH or not _PATH.fullmatch(target):
        raise LunoraError(
            "INVALID_INPUT",
            f"the target {shown(target)} is not a function path: write "
            f'module:name, such as "billing:end_trial" or "crons.jobs:run", at most {_MAX_LENGTH} characters',
        )
    return target
