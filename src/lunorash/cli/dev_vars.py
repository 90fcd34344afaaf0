"""Settings of local runs: `.dev.vars`, made from `.dev.vars.example` with fresh random secrets."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from dotenv import dotenv_values

from lunorash.errors import LunoraError

__all__ = ["EXAMPLE", "FILE", "complete_dev_vars", "ensure_dev_vars", "read_dev_vars"]

FILE: Final = ".dev.vars"
EXAMPLE: Final = ".dev.vars.example"
_PLACEHOLDER: Final = '"generate"'
_DEFAULTS: Final = {
    "LUNORA_ORIGIN_URL": '"http://localhost:8787"',
    "LUNORA_SCHEDULER_SECRET": _PLACEHOLDER,
    "LUNORA_ADMIN_TOKEN": _PLACEHOLDER,
}
"""What is added to a file that lacks them."""


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
    lines = [_filled(line, token_bytes) for line in example.read_text(encoding="utf-8").splitlines()]
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return True


def complete_dev_vars(
    project: Path, names: Iterable[str], token_bytes: Callable[[int], bytes] = secrets.token_bytes
) -> list[str]:
    """Add settings to ``.dev.vars`` that it lacks; make it, from the example if there is one, where there is none.

    Args:
        project: the folder of wrangler.jsonc.
        names: of ``LUNORA_ORIGIN_URL``, ``LUNORA_SCHEDULER_SECRET`` and ``LUNORA_ADMIN_TOKEN``, those it should have.
        token_bytes: the source of randomness.

    Returns:
        the names that were added. A setting that is there is left as it is.

    Raises:
        LunoraError: ``DEV_VARS_UNREADABLE``.
    """
    path, example = project / FILE, project / EXAMPLE
    before = read_dev_vars(project)
    if example.is_file():
        ensure_dev_vars(project, token_bytes)
    found = read_dev_vars(project)
    missing = [name for name in names if not found.get(name)]
    if missing:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" if text and not text.endswith("\n") else "")
            file.writelines(f"{_filled(f'{name}={_DEFAULTS[name]}', token_bytes)}\n" for name in missing)
    return [name for name in names if not before.get(name)]


def read_dev_vars(project: Path) -> dict[str, str]:
    """The settings of local runs by name; none if there is no file.

    Raises:
        LunoraError: ``DEV_VARS_UNREADABLE``.
    """
    try:
        # wrangler, too, takes a ${...} in this file as it is written
        values = dotenv_values(project / FILE, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        # the error of a text that is not UTF-8 shows bytes of the file
        why = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not UTF-8"
        raise LunoraError("DEV_VARS_UNREADABLE", f"{project / FILE} cannot be read: {why}; save it as UTF-8") from None
    return {name: value for name, value in values.items() if value is not None}


def _filled(line: str, token_bytes: Callable[[int], bytes]) -> str:
    """A line of the example, with a fresh secret in place of the placeholder."""
    if not line.endswith(_PLACEHOLDER):
        return line
    value = token_bytes(32)
    of_webhooks = line.partition("=")[0].endswith("_SECRET")
    made = "whsec_" + base64.b64encode(value).decode() if of_webhooks else value.hex()
    return line.removesuffix(_PLACEHOLDER) + f'"{made}"'
