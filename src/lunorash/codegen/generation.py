"""One run of the generator: what an app's sources say, what the files should be, and what is different on disk."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lunorash.codegen.arguments import ArgumentTypes
from lunorash.codegen.cron_notices import cron_notices
from lunorash.codegen.crons import AppCron, find_crons, triggers
from lunorash.codegen.dependency import missing_dependency
from lunorash.codegen.diagnostics import Diagnostic, Diagnostics
from lunorash.codegen.discovery import AppFunction, find_functions
from lunorash.codegen.document import MARK
from lunorash.codegen.emit_app import emit_app, emit_package
from lunorash.codegen.emit_crons import emit_crons
from lunorash.codegen.emit_instances import emit_instances
from lunorash.codegen.emit_references import emit_references
from lunorash.codegen.emit_registry import emit_registry
from lunorash.codegen.emit_scheduler import emit_scheduler
from lunorash.codegen.emit_server import emit_server
from lunorash.codegen.instances import AppInstance, find_instances
from lunorash.codegen.migrations import read_migrations
from lunorash.codegen.modules import APP, GENERATED, read_modules
from lunorash.codegen.names import Names
from lunorash.codegen.queues import AppQueue, find_queues
from lunorash.codegen.whole_files import replace_file

__all__ = ["FileChange", "Generation", "generate"]

_FOLDER: Final = f"{APP}/{GENERATED}"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One generated file that is not as it should be.

    Args:
        file: the file, relative to the project, with forward slashes.
        before: its content; None if it does not exist.
        after: what it should be; None if it should not exist.
    """

    file: str
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for content in (self.before, self.after)
        )
        lines = difflib.unified_diff(
            before,
            after,
            "/dev/null" if self.before is None else f"a/{self.file}",
            "/dev/null" if self.after is None else f"b/{self.file}",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Generation:
    """What `generate` found.

    Args:
        project: the project's folder.
        functions: the app's functions, by path.
        instances: its workflows and agents.
        diagnostics: what is wrong with its sources. If there is anything, there are no changes.
        changes: the files that have to be written or removed.
        crons: its cron jobs, in order of their names.
        queues: the queues that it enqueues into.
        notices: what somebody should look at, and is no error.
    """

    project: Path
    functions: tuple[AppFunction, ...]
    instances: tuple[AppInstance, ...]
    diagnostics: tuple[Diagnostic, ...]
    changes: tuple[FileChange, ...]
    crons: tuple[AppCron, ...] = ()
    queues: tuple[AppQueue, ...] = ()
    notices: tuple[Diagnostic, ...] = ()

    @property
    def triggers(self) -> tuple[str, ...]:
        """The expressions that ``triggers.crons`` of wrangler.jsonc needs, each once."""
        return triggers(self.crons)

    def write(self) -> None:
        """Make the changes, each whole or not at all. Files that are as they should be are not touched."""
        for change in self.changes:
            path = self.project / change.file
            if change.after is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, change.after)


def generate(project: Path) -> Generation:
    """Read an app's sources and work out what `lunora/_generated/` should contain. Nothing is written.

    The app's modules are parsed, never imported.

    Args:
        project: the folder with `lunora/` in it.

    Example:
        Bring a project up to date::

            generation = generate(Path("."))
            if not generation.diagnostics:
                generation.write()
    """
    diagnostics = Diagnostics()
    if not (project / APP).is_dir():
        diagnostics.report(
            "APP_NOT_FOUND",
            APP,
            1,
            "there is no folder lunora/ in the project; run lunora codegen in the folder of wrangler.jsonc, "
            "or name it with --project",
        )
        return Generation(project, (), (), diagnostics.sorted(), ())
    _check_folder(project, diagnostics)
    modules = read_modules(project, diagnostics)
    names = Names(modules)
    functions = find_functions(modules, names, diagnostics)
    instances = find_instances(names, diagnostics)
    queues = find_queues(modules, names, diagnostics)
    crons = find_crons(names, functions, instances, diagnostics)
    migrations = read_migrations(project, diagnostics)
    found = Generation(
        project,
        tuple(functions),
        tuple(instances),
        diagnostics.sorted(),
        (),
        tuple(crons),
        tuple(queues),
        _notices(project, crons),
    )
    if found.diagnostics:
        return found
    types = ArgumentTypes.of(functions)
    files = {
        "__init__.py": emit_package(),
        "agents.py": emit_instances("agent", instances),
        "api.py": emit_references("api", functions, types),
        "app.py": emit_app(),
        "crons.py": emit_crons([cron.job for cron in crons]),
        "internal.py": emit_references("internal", functions, types),
        "registry.py": emit_registry(functions, migrations, instances),
        "scheduler.py": emit_scheduler(functions, types),
        "server.py": emit_server(),
        "workflows.py": emit_instances("workflow", instances),
    }
    return replace(found, changes=_changes(project, files))


def _notices(project: Path, crons: Sequence[AppCron]) -> tuple[Diagnostic, ...]:
    dependency = missing_dependency(project)
    return tuple(sorted({*cron_notices(crons), *([dependency] if dependency is not None else [])}))


def _check_folder(project: Path, diagnostics: Diagnostics) -> None:
    folder = project / APP / GENERATED
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        diagnostics.report(
            "GENERATED_NOT_A_FOLDER",
            _FOLDER,
            1,
            f"{_FOLDER} is a symbolic link or a file; remove it, so that a folder can take its place",
        )


def _changes(project: Path, files: Mapping[str, str]) -> tuple[FileChange, ...]:
    folder = project / APP / GENERATED
    changes: list[FileChange] = []
    for name, text in sorted(files.items()):
        path = folder / name
        before = path.read_bytes() if path.is_file() else None
        after = text.encode()
        if before != after:
            changes.append(FileChange(f"{_FOLDER}/{name}", before, after))
    for path in sorted(folder.rglob("*.py")):
        relative = path.relative_to(folder).as_posix()
        if relative not in files and path.is_file():
            before = path.read_bytes()
            # what somebody put there by hand is not ours to remove
            if MARK.encode() in before:
                changes.append(FileChange(f"{_FOLDER}/{relative}", before, None))
    return tuple(sorted(changes, key=lambda change: change.file))
