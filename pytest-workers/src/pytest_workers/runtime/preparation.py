"""Everything that has to be done once before a Worker can be started locally."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pytest_workers.runtime import bundle
from pytest_workers.runtime.locks import exclusive
from pytest_workers.runtime.project import Project
from pytest_workers.runtime.toolchain import Toolchain
from pytest_workers.runtime.vendoring import vendor


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a server needs to know after the preparation.

    Attributes:
        toolchain: the programs, checked.
        bundle: the folder that holds the Pyodide bundle.
        workerd: the script that starts workerd with that folder; wrangler is told to start it.
    """

    toolchain: Toolchain
    bundle: Path
    workerd: Path


def silent(_line: str) -> None:
    """Take a line of progress and show it to nobody."""


def prepare(project: Project, progress: Callable[[str], None] = silent) -> Prepared:
    """Check versions, vendor packages and assemble the Pyodide bundle, each only when it is needed.

    Several processes may call it at the same time for the same project: they wait for each other.

    Args:
        project: the project.
        progress: called with a line of text before anything that takes longer than a moment.

    Returns:
        The programs, and the folder of the bundle.

    Raises:
        WorkersError: with the code of what is missing or does not fit; see `Toolchain.find`, `vendor`,
            `bundle.ensure` and `WranglerConfig.check`.

    Example:
        >>> prepare(Project.load("."), print)  # doctest: +SKIP
        vendoring 10 packages for Python 3.14
        assembling the Pyodide 314.0.6 bundle
    """
    project.config.check()
    toolchain = Toolchain.find(project)
    vendor(project, toolchain, progress)
    with exclusive(project.cache / "locks" / "bundle", lambda: progress("waiting for another run")):
        folder = bundle.ensure(toolchain.pyodide, toolchain.pyodide_version, project.cache, progress)
    return Prepared(toolchain, folder, write_wrapper(toolchain.workerd, folder, project.cache))


def write_wrapper(workerd: Path, folder: Path, cache: Path) -> Path:
    """Write the script that wrangler starts in place of workerd.

    wrangler has no option for workerd's bundle folder (cloudflare/workers-py#97), but it lets an environment
    variable name the program; the script adds the option after the subcommand `serve`.

    Args:
        workerd: the real program.
        folder: the folder of the bundle.
        cache: where the script is kept.

    Returns:
        The script.
    """
    content = (
        "#!/bin/sh\n"
        f"program={shlex.quote(str(workerd))}\n"
        'if [ "$1" = serve ]; then\n'
        "  shift\n"
        f'  exec "$program" serve {shlex.quote(f"--pyodide-bundle-disk-cache-dir={folder}")} "$@"\n'
        "fi\n"
        'exec "$program" "$@"\n'
    )
    path = cache / "wrappers" / sha256(content.encode()).hexdigest()[:16] / "workerd"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as partial:
            partial.write(content)
        os.chmod(partial.name, 0o755)  # noqa: S103, PTH101 - a program that others on the machine may read
        Path(partial.name).replace(path)
    return path
