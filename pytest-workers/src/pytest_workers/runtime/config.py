"""What a wrangler configuration says about a Worker, read from JSON with comments or from TOML."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyjson5

from pytest_workers.errors import (
    CompatibilityDateError,
    ConfigInvalidError,
    ConfigMissingError,
    PythonFlagMissingError,
)

# In the order in which wrangler looks for them.
FILE_NAMES = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")
PYTHON_FLAG = "python_workers"
# The flags that select the locally made bundle; each run needs all three.
LOCAL_FLAGS = (PYTHON_FLAG, "python_workers_development", "experimental")
# From this date on, `python_workers` selects Python 3.14.
OLDEST_DATE = dt.date(2026, 9, 8)


@dataclass(frozen=True, slots=True)
class WranglerConfig:
    """The parts of a wrangler configuration that a local run depends on.

    Attributes:
        path: the file it was read from.
        name: the Worker's name, or "" when the file has none.
        compatibility_date: the text as written, or None.
        compatibility_flags: the flags as written, in order.
    """

    path: Path
    name: str
    compatibility_date: str | None
    compatibility_flags: tuple[str, ...]

    @classmethod
    def find(cls, folder: Path, file_name: str | None = None) -> WranglerConfig:
        """Read the configuration of a project.

        Args:
            folder: the project's folder.
            file_name: a name other than wrangler's default ones, relative to `folder`.

        Returns:
            The configuration. Of several wrangler takes wrangler.json, before wrangler.jsonc and wrangler.toml.

        Raises:
            ConfigMissingError: (CONFIG_MISSING) there is no such file.
            ConfigInvalidError: (CONFIG_INVALID) the file cannot be read, or a value has the wrong type.
        """
        names = FILE_NAMES if file_name is None else (file_name,)
        for name in names:
            if (folder / name).is_file():
                return cls.read(folder / name)
        raise ConfigMissingError(
            f"There is no {' or '.join(names)} in {folder}.",
            "A Worker project has a wrangler configuration beside its pyproject.toml.",
            "Name the project's folder, or the configuration file if it has another name.",
        )

    @classmethod
    def read(cls, path: Path) -> WranglerConfig:
        """Read one configuration file.

        Args:
            path: a `.toml` file, or a JSON file with or without comments.

        Returns:
            The configuration.

        Raises:
            ConfigInvalidError: (CONFIG_INVALID) the file cannot be read, or a value has the wrong type.
        """
        values = _parse(path)
        return cls(
            path=path,
            name=_text(path, values, "name") or "",
            compatibility_date=_text(path, values, "compatibility_date"),
            compatibility_flags=_texts(path, values, "compatibility_flags"),
        )

    def check(self) -> None:
        """Check that the configuration selects a Python that can be run locally.

        Raises:
            PythonFlagMissingError: (PYTHON_FLAG_MISSING) the flag `python_workers` is absent.
            CompatibilityDateError: (COMPATIBILITY_DATE) the date is absent, not a date, or too old.
        """
        if PYTHON_FLAG not in self.compatibility_flags:
            raise PythonFlagMissingError(
                f"{self.path.name}: compatibility_flags is {list(self.compatibility_flags)}.",
                f"A Python Worker needs the flag {PYTHON_FLAG!r}.",
                f'Write "compatibility_flags": ["{PYTHON_FLAG}"].',
            )
        remedy = f'Write "compatibility_date": "{OLDEST_DATE}" or a later date.'
        rule = f"Python 3.14 needs a compatibility date of {OLDEST_DATE} or later, written YYYY-MM-DD."
        try:
            date = dt.date.fromisoformat(self.compatibility_date or "")
        except ValueError:
            found = "absent" if self.compatibility_date is None else repr(self.compatibility_date)
            raise CompatibilityDateError(f"{self.path.name}: compatibility_date is {found}.", rule, remedy) from None
        if date < OLDEST_DATE:
            raise CompatibilityDateError(f"{self.path.name}: compatibility_date is {date}.", rule, remedy)

    def local_flags(self) -> tuple[str, ...]:
        """Name the flags of a local run: the configured ones, then those that select the local bundle.

        Returns:
            Flags without repetition. wrangler's command line replaces the configured list, so it needs all.
        """
        return tuple(dict.fromkeys((*self.compatibility_flags, *LOCAL_FLAGS)))


def _parse(path: Path) -> dict[str, Any]:
    rule = "It must be JSON (comments and trailing commas are fine) or, when named .toml, TOML."
    remedy = "Correct the file; `wrangler deploy --dry-run` checks it too."
    try:
        text = path.read_text(encoding="utf-8")
        values: Any = tomllib.loads(text) if path.suffix == ".toml" else pyjson5.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigInvalidError(f"{path} cannot be read: {error}.", rule, remedy) from error
    except pyjson5.Json5DecoderException as error:
        problem = f"{path} cannot be read: {error.message}."
        raise ConfigInvalidError(problem, rule, remedy) from error
    if not isinstance(values, dict):
        raise ConfigInvalidError(f"{path} holds a {type(values).__name__}, not an object.", rule, remedy)
    return values


def _text(path: Path, values: dict[str, Any], key: str) -> str | None:
    value = values.get(key)
    if isinstance(value, dt.date):
        value = value.isoformat()
    if value is None or isinstance(value, str):
        return value
    raise ConfigInvalidError(
        f"{path.name}: {key} is {value!r}.", f"{key} is a text.", f"Put the value of {key} in quotes."
    )


def _texts(path: Path, values: dict[str, Any], key: str) -> tuple[str, ...]:
    value = values.get(key, [])
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ConfigInvalidError(
        f"{path.name}: {key} is {value!r}.", f"{key} is a list of texts.", f'Write {key} as ["…", "…"].'
    )
