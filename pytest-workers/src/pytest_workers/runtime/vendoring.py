"""Vendor a Worker's packages into `python_modules/`, with pip, from the pins file.

Packages are installed once per content of the pins into the shared cache, and copied from there into each
project. Both steps build in a temporary folder and rename it, so an interrupted run leaves nothing half-made.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pytest_workers.errors import (
    HashMismatchError,
    VendoringFailedError,
    WheelUnavailableError,
)
from pytest_workers.runtime.locks import exclusive
from pytest_workers.runtime.pins import Pin, check_complete, read_pins, worker_environment
from pytest_workers.runtime.project import Project
from pytest_workers.runtime.toolchain import Toolchain

STAMP = ".pytest-workers"
# What `pywrangler sync` leaves in the folders that it made.
FOREIGN_STAMP = ".synced"
LAYOUT = "1"

NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")
HASH_MISMATCH = re.compile(r"DO NOT MATCH THE HASHES.*?\n\s+(\S+) from ", re.DOTALL)
NO_NETWORK = re.compile(r"Retrying \(Retry|Could not fetch URL|[Cc]onnection ?[Ee]rror")


def vendor(project: Project, toolchain: Toolchain, progress: Callable[[str], None]) -> None:
    """Bring `python_modules/` of a project in line with its pins; nothing happens when it is already.

    Args:
        project: the project. Without pins nothing is done.
        toolchain: says for which Python and binary interface.
        progress: called with a line of text before anything slow.

    Raises:
        PinsMissingError: (PINS_MISSING) a dependency of the project, or of a package, is not pinned.
        PinsInvalidError: (PINS_INVALID) the pins file has a line that is not an exact pin.
        HashMismatchError: (HASH_MISMATCH) the index delivered another file than the pinned one.
        WheelUnavailableError: (WHEEL_UNAVAILABLE) a package has no wheel that runs in a Worker.
        VendoringFailedError: (VENDORING_FAILED) no network, or `python_modules/` was made by hand.
    """
    if project.pins is None:
        return
    pins = read_pins(project.pins, toolchain.python_version)
    check_complete(project.pins, pins, project.dependencies(), "pyproject.toml")
    digest = pins_digest(pins, toolchain)
    target = project.python_modules
    if _stamp(target) == digest:
        return
    lock = project.cache / "locks" / hashlib.sha256(str(target).encode()).hexdigest()[:16]
    with exclusive(lock, lambda: progress("waiting for another run to finish vendoring")):
        if _stamp(target) == digest:
            return
        _check_replaceable(target)
        source = _installed(project, toolchain, pins, digest, progress)
        _place(source, target)


def pins_digest(pins: tuple[Pin, ...], toolchain: Toolchain) -> str:
    """Name the result of vendoring by everything that decides it.

    Args:
        pins: the pins.
        toolchain: the Python and binary interface.

    Returns:
        Sixteen hexadecimal digits.
    """
    parts = [LAYOUT, toolchain.python_version, toolchain.abi_version]
    for pin in sorted(pins, key=lambda pin: pin.name):
        parts += [pin.line, *sorted(pin.hashes)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def pip_command(requirements: Path, target: Path, toolchain: Toolchain, *, hashes: bool) -> list[str]:
    """Build pip's command line for the Worker's platform.

    Args:
        requirements: the file of pins.
        target: the folder to install into.
        toolchain: the Python and binary interface.
        hashes: whether the pins have hashes, which pip must then check.

    Returns:
        The command. Dependencies are not resolved: pip would do that for the Python it runs on, and the pins
        are complete.
    """
    tag = "cp" + toolchain.python_version.replace(".", "")
    platform = f"pyemscripten_{toolchain.abi_version}_wasm32"
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--no-compile", "--target", str(target), "--only-binary=:all:"]
    command += [
        "--implementation",
        "cp",
        "--python-version",
        toolchain.python_version,
        "--platform",
        platform,
    ]
    command += ["--abi", tag, "--abi", "abi3", "--abi", "none"]
    command += ["--require-hashes"] if hashes else []
    return [*command, "-r", str(requirements)]


def explain_pip(output: str, toolchain: Toolchain) -> Exception:
    """Turn what pip printed into the error that says what to do.

    Args:
        output: pip's standard output and error.
        toolchain: the Python and binary interface, for the message.

    Returns:
        The error to raise.
    """
    tail = "\n".join(output.strip().splitlines()[-15:])
    if match := HASH_MISMATCH.search(output):
        return HashMismatchError(
            f"The file that the index delivered for {match.group(1)} has another hash than the pinned one.",
            "A pinned package must be the file that was pinned.",
            "If the version was changed by hand, write the pins again with their hashes; else do not trust the index.",
        )
    if NO_NETWORK.search(output):
        return VendoringFailedError(
            "pip could not reach the package index.",
            "Vendoring downloads each pinned wheel once.",
            f"Check the network and pip's index settings, then run again. pip said:\n{tail}",
        )
    if match := NO_WHEEL.search(output):
        return WheelUnavailableError(
            f"There is no wheel of {match.group(1)} that runs in a Worker.",
            f"A Worker takes pure Python wheels, and wheels for CPython {toolchain.python_version} on "
            f"pyemscripten_{toolchain.abi_version}_wasm32.",
            "Pin a version that has one, or replace the package.",
        )
    return VendoringFailedError("pip failed.", "Every pinned package must install.", f"Look at what pip said:\n{tail}")


def _installed(
    project: Project,
    toolchain: Toolchain,
    pins: tuple[Pin, ...],
    digest: str,
    progress: Callable[[str], None],
) -> Path:
    folder = project.cache / "vendored" / digest
    if _stamp(folder) == digest:
        return folder
    with exclusive(project.cache / "locks" / f"vendored-{digest}", lambda: progress("waiting for another run")):
        if _stamp(folder) == digest:
            return folder
        progress(f"vendoring {len(pins)} packages for Python {toolchain.python_version}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(folder.parent / f".partial-{digest}") as scratch:
            partial = scratch / "python_modules"
            partial.mkdir()
            _run_pip(scratch, partial, toolchain, pins)
            _check_requirements(project, toolchain, pins, partial)
            for name in ("__pycache__", "bin"):
                for found in partial.rglob(name) if name == "__pycache__" else [partial / name]:
                    shutil.rmtree(found, ignore_errors=True)
            (partial / STAMP).write_text(digest, encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
    return folder


def _run_pip(scratch: Path, partial: Path, toolchain: Toolchain, pins: tuple[Pin, ...]) -> None:
    if not pins:
        return
    requirements = scratch / "pins.txt"
    lines = [" ".join([pin.line, *(f"--hash={value}" for value in pin.hashes)]) for pin in pins]
    requirements.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = pip_command(requirements, partial, toolchain, hashes=bool(pins[0].hashes))
    # PIP_USER and PIP_TARGET, which people set for other reasons, contradict --target.
    environment = {key: value for key, value in os.environ.items() if key not in ("PIP_USER", "PIP_TARGET")}
    result = subprocess.run(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if result.returncode != 0:
        raise explain_pip(result.stdout, toolchain)


def _check_requirements(project: Project, toolchain: Toolchain, pins: tuple[Pin, ...], folder: Path) -> None:
    environment = worker_environment(toolchain.python_version)
    assert project.pins is not None  # noqa: S101 - `vendor` returns before this when there are none
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        needed = []
        for text in distribution.requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                needed.append(canonicalize_name(requirement.name))
        check_complete(project.pins, pins, tuple(needed), distribution.name)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    # One name for all, since callers hold a lock: what a killed run has left is removed by the next.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stamp(folder: Path) -> str | None:
    try:
        return (folder / STAMP).read_text(encoding="utf-8")
    except OSError:
        return None


def _check_replaceable(target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        return
    made_by_tool = (target / STAMP).exists() or (target / FOREIGN_STAMP).exists()
    if target.is_dir() and (made_by_tool or not any(target.iterdir())):
        return
    raise VendoringFailedError(
        f"{target} was not made by pytest-workers or pywrangler.",
        "The folder is generated from the pins and is replaced as a whole.",
        "Move your own modules beside the Worker's main module, then remove the folder.",
    )


def _place(source: Path, target: Path) -> None:
    # A copy, not a link: another tool that writes into python_modules must not reach the shared cache.
    with _scratch(target.parent / ".wrangler" / "python_modules") as scratch:
        fresh = scratch / "new"
        shutil.copytree(source, fresh)
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            target.rename(scratch / "old")
        fresh.rename(target)
