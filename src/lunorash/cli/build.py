"""`lunora build`: puts what the Worker is made of into one folder, for wrangler to bundle.

Wrangler takes every ``.py`` file below the folder of ``main`` and nothing beside it, so the content of
``src/`` and the package ``lunora/`` are copied side by side into ``.lunora/worker/``. Files that did not
change are left alone, so that wrangler, which watches them, sees only what did.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import lunorash
from lunorash.errors import LunoraError

__all__ = ["STAGED", "build"]

STAGED: Final = Path(".lunora/worker")
_TOOLING: Final = frozenset({"cli", "codegen", "config", "testing"})
"""Parts of lunorash that run on the developer's machine only."""
_LEFT_OUT: Final = frozenset({"__pycache__"})


def build(project: Path) -> int:
    """Stage a project's Worker into ``.lunora/worker``.

    Args:
        project: the folder with ``wrangler.jsonc``.

    Returns:
        how many files were written or removed; 0 when all was up to date.

    Raises:
        LunoraError: ``ENTRY_NOT_FOUND`` when there is no ``src/worker.py``.
    """
    if not (project / "src" / "worker.py").is_file():
        raise LunoraError(
            "ENTRY_NOT_FOUND",
            f"{project / 'src' / 'worker.py'} does not exist; it must export Default and SchedulerDO. "
            "Run lunora build in the folder of wrangler.jsonc",
        )
    target = project / STAGED
    wanted = {target / name: source for name, source in _sources(project)}
    changed = 0
    for path, source in wanted.items():
        content = source.read_bytes()
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            changed += 1
    for path in [path for path in target.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()
        changed += 1
    for folder in sorted((path for path in target.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    return changed


def _sources(project: Path) -> Iterator[tuple[Path, Path]]:
    yield from _files(project / "src", Path())
    if (project / "lunora").is_dir():
        yield from _files(project / "lunora", Path("lunora"))
    if not (project / "src" / "lunorash").is_dir():
        # the library that built the Worker is the one it runs with
        yield from _files(Path(lunorash.__file__).parent, Path("lunorash"))
    for folder in _included(project):
        yield from _files(folder, Path(folder.name))


def _files(folder: Path, name: Path) -> Iterator[tuple[Path, Path]]:
    for path in sorted(folder.rglob("*")):
        staged = name / path.relative_to(folder)
        parts = staged.parts
        tooling = len(parts) > 2 and parts[0] == "lunorash" and parts[1] in _TOOLING
        if path.is_file() and not tooling and not _LEFT_OUT.intersection(parts):
            yield staged, path


def _included(project: Path) -> list[Path]:
    """Further packages to stage: ``[tool.lunora] include = ["../shared_package"]`` in pyproject.toml."""
    settings = project / "pyproject.toml"
    if not settings.is_file():
        return []
    try:
        named = tomllib.loads(settings.read_text(encoding="utf-8")).get("tool", {}).get("lunora", {}).get("include", [])
    except tomllib.TOMLDecodeError as error:
        raise LunoraError("PYPROJECT_INVALID", f"{settings} is not TOML: {error}") from None
    if not isinstance(named, list) or not all(isinstance(extra, str) for extra in named):
        raise LunoraError("PYPROJECT_INVALID", "[tool.lunora] include must be a list of folders")
    folders = [(project / extra).resolve() for extra in named]
    for extra, folder in zip(named, folders, strict=True):
        if not folder.is_dir():
            raise LunoraError("INCLUDE_NOT_FOUND", f"[tool.lunora] include names {extra!r}, which is no folder")
        if project.resolve().is_relative_to(folder):
            raise LunoraError(
                "INCLUDE_INVALID", f"[tool.lunora] include names {extra!r}, which contains the project itself"
            )
    return folders
