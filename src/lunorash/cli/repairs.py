"""What `lunora doctor --fix` does: only what nobody has to decide. A secret that is there is never touched.

Compatibility flags and dates, origins, bindings to another class and secrets in the wrong place are left to people:
each of them changes what a deployed Worker does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from lunorash.cli.dev_vars import FILE, complete_dev_vars
from lunorash.cli.local_server import vendor_packages
from lunorash.codegen import generate
from lunorash.config.reconcile import with_bindings
from lunorash.doctor import Finding

__all__ = ["repair"]

_Repair = Callable[[Path, Callable[[str], None]], Iterator[str]]


def repair(project: Path, findings: Iterable[Finding], say: Callable[[str], None]) -> list[str]:
    """Repair what was found, as far as it is safe.

    Args:
        project: the folder of wrangler.jsonc.
        findings: what was found.
        say: told of what takes long, and of a repair that failed.

    Returns:
        what was done.
    """
    done: list[str] = []
    for each in dict.fromkeys(_REPAIRS[finding.code] for finding in findings if finding.code in _REPAIRS):
        try:
            done += each(project, say)
        except Exception as error:
            # ours and pytest-workers' have a code and say what to do
            if getattr(error, "code", None) is None and not isinstance(error, OSError):
                raise
            say(f"could not repair: {error}")
    return done


def _generate(project: Path, _say: Callable[[str], None]) -> Iterator[str]:
    generation = with_bindings(generate(project))
    generation.write()
    for change in generation.changes:
        yield f"brought {change.file} up to date"


def _vendor(project: Path, say: Callable[[str], None]) -> Iterator[str]:
    vendor_packages(project, say, refresh=True)
    yield "vendored the pinned packages into python_modules/"


def _add_settings(*names: str) -> _Repair:
    def add(project: Path, _say: Callable[[str], None]) -> Iterator[str]:
        for name in complete_dev_vars(project, names):
            yield f"added {name} to {FILE}"

    return add


def _ignore_dev_vars(project: Path, _say: Callable[[str], None]) -> Iterator[str]:
    path = project / ".gitignore"
    before = path.read_bytes() if path.is_file() else b""
    gap = "\n" if before and not before.endswith(b"\n") else ""
    with path.open("ab") as file:
        file.write(f"{gap}{FILE}\n".encode())
    yield f"added {FILE} to .gitignore"


_REPAIRS: Final[dict[str, _Repair]] = {
    **dict.fromkeys(
        (
            "generated-missing",
            "generated-stale",
            "migration-missing",
            "triggers-stale",
            "wrangler-stale",
            *(f"wrangler-{kind}-binding-missing" for kind in ("agent", "scheduler", "shard", "workflow")),
        ),
        _generate,
    ),
    "dev-vars-missing": _add_settings("LUNORA_ORIGIN_URL", "LUNORA_SCHEDULER_SECRET", "LUNORA_ADMIN_TOKEN"),
    "dev-vars-missing-origin": _add_settings("LUNORA_ORIGIN_URL"),
    "dev-vars-missing-secret": _add_settings("LUNORA_SCHEDULER_SECRET"),
    "admin-token-missing": _add_settings("LUNORA_ADMIN_TOKEN"),
    "dev-vars-not-ignored": _ignore_dev_vars,
    "packages-not-vendored": _vendor,
    "packages-stale": _vendor,
}
"""What is repaired, by the code of the finding. A repair that several codes share is made once."""
