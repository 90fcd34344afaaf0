"""Whether what would be uploaded is small enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, noted, passed, warned

__all__ = ["MAX_BYTES", "check_size"]

MAX_BYTES: Final = 64 * 1024 * 1024
"""Cloudflare's limit since September 2026, uncompressed and on every plan. There is none for the compressed size."""
_NEAR: Final = 0.9
"""From this part of it on wrangler shows the size in red."""


def check_size(evidence: Evidence) -> Iterator[Finding]:
    """``worker-too-large`` and ``worker-nearly-too-large``."""
    main = evidence.environments[0].get("main")
    folder = (evidence.project / str(main)).parent if main else None
    if folder is None or not (evidence.project / str(main)).is_file():
        yield noted(
            "worker-size-unknown", "the Worker is not built yet, so its size is not known", "run `lunora build`"
        )
        return
    packages = evidence.project / "python_modules"
    size = _bytes(folder) + _bytes(packages)
    told = f"the Worker is {size / 1024 / 1024:.1f} MiB with its packages; Cloudflare takes {MAX_BYTES // 1024 // 1024}"
    largest = ", ".join(f"{name} {part / 1024 / 1024:.1f} MiB" for name, part in _largest(packages))
    fix = "take away what the Worker does not need" + (f"; its largest packages are {largest}" if largest else "")
    if size > MAX_BYTES:
        yield failed("worker-too-large", told, fix)
    elif size > MAX_BYTES * _NEAR:
        yield warned("worker-nearly-too-large", told, fix)
    else:
        yield passed("worker-size-ok", told)


def _bytes(folder: Path) -> int:
    """What wrangler takes of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")


def _largest(packages: Path) -> list[tuple[str, int]]:
    if not packages.is_dir():
        return []
    sizes = {folder.name: _bytes(folder) for folder in packages.iterdir() if folder.is_dir()}
    return sorted(sizes.items(), key=lambda each: -each[1])[:3]
