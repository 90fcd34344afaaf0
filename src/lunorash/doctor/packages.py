"""Whether the Worker's Python packages are pinned, vendored as pinned, and made for the Python inside the Worker."""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, parse_tag
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion
from pytest_workers.errors import WorkersError
from pytest_workers.runtime import Project
from pytest_workers.runtime.pins import Pin, check_complete, read_pins
from pytest_workers.runtime.toolchain import Toolchain
from pytest_workers.runtime.vendoring import FOREIGN_STAMP, STAMP, pins_digest

from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, kebab, noted, passed, warned

__all__ = ["check_lock", "check_vendored", "check_wheels"]

_PYTHON: Final = "3.14"
"""The Python inside a Worker, where the installed Pyodide does not say."""
_LIBRARY: Final = "lunorash"
_PYLOCK: Final = "pylock.toml"
_LOCK_FIX: Final = "lock again: `make lock`, or `uv export --no-dev --no-emit-project -o requirements/worker.txt`"
_VENDOR_FIX: Final = "run `lunora doctor --fix`; `lunora dev` and `lunora deploy` do it by themselves"


def check_lock(evidence: Evidence) -> Iterator[Finding]:
    """``pins-missing``, ``pins-invalid`` and ``pins-stale``: the pins are not those of pyproject.toml."""
    try:
        project = evidence.runtime_project
        ours = _needs_of_library(project)
        if project.pins is None:
            if ours and not (project.folder / _PYLOCK).is_file():
                yield failed("pins-missing", f"no file pins what lunorash needs: {', '.join(ours)}", _LOCK_FIX)
            return
        pins = _pins(evidence)
        check_complete(project.pins, pins, project.dependencies(), "pyproject.toml")
        check_complete(project.pins, pins, ours, "lunorash")
    except WorkersError as error:
        yield failed(kebab(error.code), f"{error.problem} {error.rule}", error.remedy)
        return
    pinned = {pin.name: _version(pin) for pin in pins}
    stale = [
        f"{requirement.name} is pinned at {pinned[name]}, and pyproject.toml wants {requirement.specifier}"
        for requirement in _dependencies(project.folder)
        if (name := canonicalize_name(requirement.name)) in pinned and not _allows(requirement, pinned[name])
    ]
    for problem in stale:
        yield failed("pins-stale", problem, _LOCK_FIX)
    if not stale:
        yield passed("pins-ok", f"{project.pins.name} pins all that pyproject.toml names: {len(pins)} packages")


def check_vendored(evidence: Evidence) -> Iterator[Finding]:
    """``packages-stale``, ``packages-not-vendored`` and ``packages-foreign``: what is in ``python_modules/``."""
    try:
        project = evidence.runtime_project
        pins = _pins(evidence) if project.pins is not None else None
    except WorkersError:
        # the check of the lock tells it
        return
    folder = evidence.project / "python_modules"
    if not folder.is_dir():
        if pins:
            yield noted(
                "packages-not-vendored",
                f"python_modules/ is not there yet; the Worker needs {len(pins)} packages in it",
                "`lunora dev`, `lunora build` and `lunora deploy` make it",
            )
        return
    locked = {pin.name: _version(pin) for pin in pins} if pins is not None else _read_pylock(evidence.project)
    if locked is None:
        yield noted("packages-not-locked", "there are no pins to compare python_modules/ with", _LOCK_FIX)
        return
    different = _differences(locked, _installed(folder))
    if different:
        yield warned("packages-stale", f"python_modules/ is not as it is locked: {'; '.join(different)}", _VENDOR_FIX)
    elif pins and not _is_stamped(folder):
        yield warned(
            "packages-foreign",
            "python_modules/ was made by hand, so nothing keeps it in step with the pins",
            "move your own modules beside the Worker's entry and remove the folder; `lunora dev` makes it anew",
        )
    elif pins and _is_of_other_pins(folder, pins, evidence.fitting_toolchain):
        yield warned("packages-stale", "python_modules/ was made from other pins, or for another Python", _VENDOR_FIX)
    else:
        yield passed("packages-ok", f"python_modules/ is as it is locked: {len(locked)} packages")


def check_wheels(evidence: Evidence) -> Iterator[Finding]:
    """``packages-wrong-wheel``: a package that is not made for the Worker's Python."""
    folder, toolchain = evidence.project / "python_modules", evidence.fitting_toolchain
    if not folder.is_dir() or toolchain is None:
        return
    fitting = _tags(toolchain)
    count = 0
    wrong = False
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        count += 1
        text = distribution.read_text("WHEEL") or ""
        written = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Tag:")]
        if written and not any(fitting.intersection(parse_tag(tag)) for tag in written):
            wrong = True
            yield failed(
                "packages-wrong-wheel",
                f"{distribution.name} {distribution.version} in python_modules/ is made for {', '.join(written)}; "
                f"the Worker is CPython {toolchain.python_version} on {_platform(toolchain)}",
                "remove python_modules/ and run `lunora doctor --fix`; a package without such a wheel must be replaced",
            )
    if count and not wrong:
        yield passed("packages-wheels-ok", f"all packages are made for Python {toolchain.python_version} in a Worker")


def _needs_of_library(project: Project) -> tuple[str, ...]:
    """What this library needs in a Worker, where `lunora build` provides it and nobody else names its dependencies."""
    declared = {canonicalize_name(requirement.name) for requirement in _dependencies(project.folder)}
    if _LIBRARY not in declared.difference(project.dependencies()):
        return ()
    needed = map(Requirement, importlib.metadata.requires(_LIBRARY) or ())
    return tuple(canonicalize_name(requirement.name) for requirement in needed if requirement.marker is None)


def _pins(evidence: Evidence) -> tuple[Pin, ...]:
    toolchain, path = evidence.fitting_toolchain, evidence.runtime_project.pins
    assert path is not None  # noqa: S101 - the callers look first
    return read_pins(path, toolchain.python_version if toolchain is not None else _PYTHON)


def _version(pin: Pin) -> str:
    """The version of a pin; a package that is pinned by its address has none."""
    return next((part.version for part in Requirement(pin.line).specifier), "")


def _dependencies(folder: Path) -> list[Requirement]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return []
    written = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {}).get("dependencies", [])
    return [requirement for requirement in map(Requirement, written) if requirement.marker is None]


def _allows(requirement: Requirement, version: str) -> bool:
    try:
        return not version or requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return True


def _read_pylock(folder: Path) -> dict[str, str] | None:
    path = folder / _PYLOCK
    if not path.is_file():
        return None
    packages: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("packages", [])
    return {canonicalize_name(package["name"]): str(package.get("version", "")) for package in packages}


def _installed(folder: Path) -> dict[str, str]:
    found = importlib.metadata.distributions(path=[str(folder)])
    return {canonicalize_name(distribution.name): distribution.version for distribution in found}


def _differences(locked: Mapping[str, str], installed: Mapping[str, str]) -> list[str]:
    """What is missing, of another version, or there without being locked; at most five, and how many more."""
    found = [
        f"{name} is {installed.get(name, 'missing')}, locked is {version}"
        for name, version in sorted(locked.items())
        if version and installed.get(name) != version
    ]
    found += [f"{name} {installed[name]} is not locked" for name in sorted(set(installed) - set(locked))]
    return found[:5] + ([f"{len(found) - 5} more"] if len(found) > 5 else [])


def _is_stamped(folder: Path) -> bool:
    return (folder / STAMP).is_file() or (folder / FOREIGN_STAMP).exists()


def _is_of_other_pins(folder: Path, pins: tuple[Pin, ...], toolchain: Toolchain | None) -> bool:
    stamp = folder / STAMP
    if toolchain is None or not stamp.is_file():
        return False
    return stamp.read_text(encoding="utf-8") != pins_digest(pins, toolchain)


def _platform(toolchain: Toolchain) -> str:
    return f"pyemscripten_{toolchain.abi_version}_wasm32"


def _tags(toolchain: Toolchain) -> frozenset[Tag]:
    major, minor = map(int, toolchain.python_version.split("."))
    interpreter, platforms = f"cp{major}{minor}", [_platform(toolchain)]
    return frozenset(
        [
            *cpython_tags((major, minor), [interpreter, "abi3", "none"], platforms),
            *compatible_tags((major, minor), interpreter, platforms),
        ]
    )
