"""A Worker project on disk: where its configuration, its pins, its npm packages and its cache are."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from pytest_workers.errors import ConfigInvalidError, ConfigMissingError, PinsMissingError
from pytest_workers.runtime.config import WranglerConfig

# Where a pins file is looked for when none is named.
PINS_FILES = ("requirements/worker.txt", "requirements-worker.txt")
CACHE_VARIABLE = "PYTEST_WORKERS_CACHE"
TABLE = "pytest-workers"


@dataclass(frozen=True, slots=True)
class Project:
    """A Python Worker project.

    Attributes:
        folder: the folder of the wrangler configuration, absolute.
        config: what that configuration says.
        pins: the file that names what the Worker vendors, each package at an exact version; or None when the
            project has no such file, in which case `python_modules/` is left as it is.
        node_modules: a `node_modules` folder to search first; or None to search from `folder` upwards, as
            Node does.
        cache: the folder for the assembled bundle and vendored packages, shared by all projects of the user.

    Example:
        >>> project = Project.load("examples/hello")  # doctest: +SKIP
        >>> project.config.compatibility_flags  # doctest: +SKIP
        ('python_workers',)
    """

    folder: Path
    config: WranglerConfig
    pins: Path | None
    node_modules: Path | None
    cache: Path

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        config: str | None = None,
        *,
        pins: str | os.PathLike[str] | None = None,
        node_modules: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Project:
        """Read a project from its folder.

        Args:
            folder: the folder that holds the wrangler configuration.
            config: the configuration's file name, when it is none of wrangler.jsonc, wrangler.json and
                wrangler.toml.
            pins: the pins file, relative to `folder`. By default `pins` of `[tool.pytest-workers]` in the
                project's pyproject.toml, then requirements/worker.txt, then requirements-worker.txt.
            node_modules: a node_modules folder, relative to `folder`. By default the nearest one upwards.
            cache: the cache folder. By default $PYTEST_WORKERS_CACHE, then pytest-workers in the user's cache
                folder ($XDG_CACHE_HOME or ~/.cache).

        Returns:
            The project. Tools and packages are not looked at yet: `prepare` does that.

        Raises:
            ConfigMissingError: (CONFIG_MISSING) the folder or its configuration does not exist.
            ConfigInvalidError: (CONFIG_INVALID) the configuration or pyproject.toml cannot be read.
            PinsMissingError: (PINS_MISSING) the pins file that was named does not exist, or dependencies in
                pyproject.toml have no pins.
        """
        root = Path(folder).expanduser().absolute()
        if not root.is_dir():
            raise ConfigMissingError(
                f"The project folder {root} does not exist.",
                "A project is a folder with a wrangler configuration.",
                "Name an existing folder.",
            )
        root = root.resolve()
        wrangler = WranglerConfig.find(root, config)
        pyproject = _read_pyproject(root / "pyproject.toml")
        return cls(
            folder=wrangler.path.parent,
            config=wrangler,
            pins=_find_pins(root, pins, pyproject),
            node_modules=None if node_modules is None else (root / node_modules).absolute(),
            cache=_cache_folder(cache),
        )

    @property
    def python_modules(self) -> Path:
        """The folder of vendored packages, which wrangler reads beside its configuration."""
        return self.folder / "python_modules"

    def dependencies(self) -> tuple[str, ...]:
        """Name what the project's pyproject.toml says has to be vendored.

        Returns:
            Normalised names of `[project] dependencies`, without those that depend on a marker, and without those
            that `provided` of `[tool.pytest-workers]` names: the Worker's own build puts them beside its main module.

        Raises:
            ConfigInvalidError: (CONFIG_INVALID) pyproject.toml cannot be read.
        """
        return _dependencies(_read_pyproject(self.folder / "pyproject.toml"))


def _read_pyproject(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigInvalidError(f"{path} cannot be read: {error}.", "It must be TOML.", "Correct the file.") from error


def _dependencies(pyproject: dict[str, Any]) -> tuple[str, ...]:
    provided = _provided(pyproject)
    names = []
    for text in pyproject.get("project", {}).get("dependencies", []):
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            raise ConfigInvalidError(
                f"pyproject.toml: the dependency {text!r} cannot be read.",
                "A dependency is a name with an optional version range.",
                f"Correct it: {error}",
            ) from None
        name = canonicalize_name(requirement.name)
        if requirement.marker is None and name not in provided:
            names.append(name)
    return tuple(names)


def _provided(pyproject: dict[str, Any]) -> frozenset[str]:
    names = pyproject.get("tool", {}).get(TABLE, {}).get("provided", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ConfigInvalidError(
            f"pyproject.toml: `provided` below [tool.{TABLE}] is {names!r}.",
            "It is a list of packages that the Worker's own build provides.",
            'Write `provided = ["name"]`.',
        )
    return frozenset(canonicalize_name(name) for name in names)


def _find_pins(folder: Path, named: str | os.PathLike[str] | None, pyproject: dict[str, Any]) -> Path | None:
    configured = pyproject.get("tool", {}).get(TABLE, {}).get("pins")
    if not isinstance(configured, str | None):
        raise ConfigInvalidError(
            f"pyproject.toml: `pins` below [tool.{TABLE}] is {configured!r}.", "It is a file.", "Put it in quotes."
        )
    chosen = named if named is not None else configured
    rule = "What a Worker vendors is read from a pins file: one `name==version` per line, hashes if you like."
    remedy = (
        "Write one with `uv export --no-dev --no-emit-project -o requirements/worker.txt`, or name yours "
        f"with `pins` below [tool.{TABLE}]."
    )
    if chosen is not None:
        path = (folder / Path(chosen).expanduser()).absolute()
        if not path.is_file():
            raise PinsMissingError(f"The pins file {path} does not exist.", rule, remedy)
        return path
    for name in PINS_FILES:
        if (folder / name).is_file():
            return folder / name
    # Without pins, a folder that another tool vendored (pywrangler does) is taken as it is.
    needed = _dependencies(pyproject)
    if needed and not (folder / "python_modules").is_dir():
        raise PinsMissingError(
            f"pyproject.toml names {', '.join(needed)}, and {folder} has no pins file.", rule, remedy
        )
    return None


def _cache_folder(named: str | os.PathLike[str] | None) -> Path:
    chosen = named or os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    # The specification of XDG_CACHE_HOME says that a relative path there is to be ignored.
    home = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return root / "pytest-workers"
