"""A project as `lunora init` makes it, on this machine's installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def new_project(folder: Path) -> Path:
    """Make a project, with the npm packages that `npm install` would bring: they are the same, by their pins."""
    run(folder.parent, "-m", "lunorash.cli.main", "init", folder.name)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    return folder


def run(folder: Path, *arguments: str, status: int = 0) -> str:
    """Run Python in a folder as a shell would; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def lunora(folder: Path, *arguments: str, status: int = 0) -> str:
    """Run the `lunora` command in a folder; returns what it printed."""
    return run(folder, "-m", "lunorash.cli.main", *arguments, status=status)
