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
from lunorash.codegen import Generation, generate
from lunorash.errors import LunoraError

__all__ = ["STAGED", "build", "write_generated"]

STAGED: Final = Path(".lunora/worker")
_TOOLING: Final = frozenset({"cli", "codegen", "config", "doctor", "registry", "template", "testing"})
"""Parts of lunorash that are used on the developer's machine only."""
_LEFT_OUT: Final = frozenset({"__pycache__"})


def build(project: Path) -> int:
    """Stage a project's Worker into ``.lunora/worker``.

    Args:
        project: the folder with ``wrangler.jsonc``.

    Returns:
        how many files were written or removed; 0 when all was up to date.

    Raises:
        LunoraError: ``ENTRY_NOT_FOUND`` when there is neither ``src/worker.py`` nor ``lunora/``;
            ``CODEGEN_FAILED`` with all that is wrong with the app.
    """
    has_entry, has_app = (project / "src" / "worker.py").is_file(), (project / "lunora").is_dir()
    if not has_entry and not has_app:
        raise LunoraError(
            "ENTRY_NOT_FOUND",
            f"{project.resolve()} has neither src/worker.py nor a package lunora/; run lunora in the folder of "
            "wrangler.jsonc",
        )
    target = project / STAGED
    generation = generate(project) if has_app else None
    if generation is not None:
        write_generated(generation)
    wanted = {target / name: source.read_bytes() for name, source in _sources(project)}
    if not has_entry and generation is not None:
        wanted[target / "worker.py"] = entry(generation).encode()
    changed = 0
    for path, content in wanted.items():
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


def entry(generation: Generation) -> str:
    """The Worker's entry for a project that has none of its own: everything wired by the usual names."""
    classes = {instance.class_name: instance.kind for instance in generation.instances}
    imports = "".join(f"from lunora.{kind}s import {name}\n" for name, kind in sorted(classes.items()))
    exported = ", ".join(f'"{name}"' for name in sorted(["Default", "SchedulerDO", "ShardDO", *classes]))
    return f'''"""Made by `lunora build`, since this project has no src/worker.py of its own."""

from lunora._generated.app import define_app
from lunora._generated.scheduler import SchedulerDO
{imports}
app = define_app().shard(lambda env: env.SHARD).scheduler(namespace=lambda env: env.SCHEDULER).build()

Default = app.Default
ShardDO = app.ShardDO

__all__ = [{exported}]
'''


def write_generated(generation: Generation) -> None:
    """Write what was generated, unless something is wrong with the app.

    Raises:
        LunoraError: ``CODEGEN_FAILED`` with all that is wrong.
    """
    if generation.diagnostics:
        raise LunoraError("CODEGEN_FAILED", "\n".join(str(diagnostic) for diagnostic in generation.diagnostics))
    generation.write()


def _sources(project: Path) -> Iterator[tuple[Path, Path]]:
    if (project / "src").is_dir():
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
