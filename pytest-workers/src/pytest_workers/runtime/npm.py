"""Installed npm packages, found the way Node finds them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_workers.errors import NpmPackageMissingError
from pytest_workers.runtime.project import Project


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """An installed npm package: its folder, and the content of its package.json."""

    folder: Path
    name: str
    version: str
    node_range: str


def npm_package(project: Project, name: str, start: Path | None = None) -> NpmPackage:
    """Find an installed npm package the way Node does: in each node_modules from a folder upwards.

    Args:
        project: the project; its own `node_modules`, when given, is searched first.
        name: the package's name, with its scope if it has one.
        start: the folder to search from; by default the project's.

    Returns:
        The package.

    Raises:
        NpmPackageMissingError: (NPM_PACKAGE_MISSING) it is not there, or its package.json cannot be read.
    """
    origin = (start or project.folder).resolve()
    candidates = [folder / "node_modules" for folder in (origin, *origin.parents)]
    if project.node_modules is not None:
        candidates.insert(0 if start is None else len(candidates), project.node_modules)
    for candidate in candidates:
        folder = candidate / name
        try:
            content: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
            engines = content.get("engines") or {}
            return NpmPackage(folder.resolve(), name, str(content["version"]), str(engines.get("node", "")))
        except (OSError, ValueError, KeyError, AttributeError):
            continue
    raise NpmPackageMissingError(
        f"The npm package {name} is not installed in {origin} or above it.",
        "A local run needs wrangler (which brings miniflare and workerd) and pyodide in node_modules.",
        "Run `npm ci`, or `npm install --save-dev --save-exact wrangler pyodide`, with optional packages.",
    )
