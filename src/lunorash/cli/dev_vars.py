"""Settings of local runs: `.dev.vars`, made from `.dev.vars.example` with fresh random secrets."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dotenv import dotenv_values

from lunorash.errors import LunoraError

__all__ = ["EXAMPLE", "FILE", "ensure_dev_vars", "read_dev_vars"]

FILE: Final = ".dev.vars"
EXAMPLE: Final = ".dev.vars.example"
_PLACEHOLDER: Final = '"generate"'


def ensure_dev_vars(project: Path, token_bytes: Callable[[int], bytes] = secrets.token_bytes) -> bool:
    """Make ``.dev.vars`` if there is none, readable by its owner only.

    Args:
        project: the folder of wrangler.jsonc.
        token_bytes: the source of randomness.

    Returns:
        True if it was made.

    Raises:
        LunoraError: ``DEV_VARS_NOT_FOUND`` when there is no example either.
    """
    path, example = project / FILE, project / EXAMPLE
    if path.exists():
        return False
    if not example.is_file():
        raise LunoraError(
            "DEV_VARS_NOT_FOUND",
            f"neither {FILE} nor {EXAMPLE} is in {project.resolve()}; the Worker needs LUNORA_ORIGIN_URL, "
            "LUNORA_SCHEDULER_SECRET and LUNORA_ADMIN_TOKEN from there",
        )
    lines = []
    for line in example.read_text(encoding="utf-8").splitlines():
        name = line.partition("=")[0]
        if line.endswith(_PLACEHOLDER):
            value = token_bytes(32)
            made = "whsec_" + base64.b64encode(value).decode() if name.endswith("_SECRET") else value.hex()
            lines.append(line.removesuffix(_PLACEHOLDER) + f'"{made}"')
        else:
            lines.append(line)
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return True


def read_dev_vars(project: Path) -> dict[str, str]:
    """The settings of local runs by name."""
    return {name: value for name, value in dotenv_values(project / FILE).items() if value is not None}
