"""The plugin's options: from the command line, then from `[tool.pytest-workers]` in pyproject.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_workers.errors import OptionError

TABLE = "pytest-workers"


@dataclass(frozen=True, slots=True)
class Options:
    """What the fixtures start, when a test does not say otherwise.

    Attributes:
        project: the folder of the Worker project.
        config: the wrangler configuration's file name; None for wrangler's own names.
        pins: the pins file; None to look for it in the project.
        node_modules: the folder of npm packages; None to search upwards from the project.
        port: the port of the `worker` fixture; 0 picks a free one.
        persist_to: the state folder of the `worker` fixture; None is a fresh one for each run.
        vars: values for the Worker's variables; "{origin}" becomes the server's origin.
        health_path: the path that is asked until the server answers.
        start_timeout: seconds to wait for the first answer.
        log: whether to print the servers' output after each test.
        provided: dependencies that the Worker's own build provides, so that they are not vendored; `Project` reads
            them from the project's own pyproject.toml.
    """

    project: Path
    config: str | None = None
    pins: Path | None = None
    node_modules: Path | None = None
    port: int = 0
    persist_to: Path | None = None
    vars: dict[str, str] = field(default_factory=dict)
    health_path: str = "/"
    start_timeout: float = 60.0
    log: bool = False
    provided: list[str] = field(default_factory=list)

    def for_process(self, name: str | None) -> Options:
        """Give the options of one of several processes that share a test run.

        Under pytest-xdist every process has a session of its own; they cannot share a port or a state folder.

        Args:
            name: the process's name, such as "gw0"; None when there is only one.

        Returns:
            These options, with a free port and a state folder of its own for a named process.
        """
        if name is None:
            return self
        return replace(self, port=0, persist_to=self.persist_to / name if self.persist_to else None)


KINDS = {
    "project": "a folder",
    "config": "a file name",
    "pins": "a file",
    "node-modules": "a folder",
    "port": "a whole number from 0 to 65535",
    "persist-to": "a folder",
    "vars": "a table of texts",
    "health-path": "a path that begins with /",
    "start-timeout": "a number of seconds above 0",
    "log": "true or false",
    "provided": "a list of packages",
}
PATHS = ("project", "pins", "node-modules", "persist-to")


def add_options(parser: pytest.Parser) -> None:
    """Add the plugin's options to pytest's command line.

    Args:
        parser: pytest's parser.
    """
    group = parser.getgroup("workers", "Cloudflare Python Workers")
    add = group.addoption
    add("--workers-project", metavar="FOLDER", help="folder of the Worker project (default: pytest's rootdir)")
    add("--workers-config", metavar="NAME", help="file name of the wrangler configuration")
    add("--workers-pins", metavar="FILE", help="file that pins what the Worker vendors")
    add("--workers-node-modules", metavar="FOLDER", help="folder of npm packages (default: searched upwards)")
    add("--workers-port", metavar="N", help="port of the `worker` fixture (default: 0, a free one)")
    add(
        "--workers-persist-to",
        metavar="FOLDER",
        help="state folder of the `worker` fixture (default: a fresh one)",
    )
    add(
        "--workers-var",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="value for a variable of the Worker; {origin} becomes the server's origin; may be repeated",
    )
    add(
        "--workers-health-path",
        metavar="PATH",
        help="path that is asked until the server answers (default: /)",
    )
    add("--workers-start-timeout", metavar="SECONDS", help="time for the first answer (default: 60)")
    add("--workers-log", action="store_true", default=None, help="print the servers' output after each test")


def read_options(config: pytest.Config) -> Options:
    """Combine the command line with pyproject.toml of pytest's rootdir; the command line wins.

    Args:
        config: pytest's configuration.

    Returns:
        The options, with absolute paths: those of the command line are relative to the current folder, those
        of pyproject.toml to its own.

    Raises:
        OptionError: (OPTION_INVALID) a key is unknown or a value is not what it should be.
    """
    values = {"project": config.rootpath} | _from_table(config.rootpath / "pyproject.toml")
    values |= _from_command_line(config, values.get("vars", {}))
    return Options(**{key.replace("-", "_"): value for key, value in values.items()})


def _from_table(path: Path) -> dict[str, Any]:
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        # pytest reads the same file, and reports what is wrong with it.
        return {}
    table = tools.get(TABLE, {})
    known = [option.name.replace("_", "-") for option in fields(Options)]
    for key in table:
        if key not in known:
            raise OptionError(
                f"{path.name}: [tool.{TABLE}] has an unknown key {key!r}.",
                f"The keys are {', '.join(known)}.",
                "Correct the key or remove it.",
            )
    where = f"{path.name}: [tool.{TABLE}] "
    return {key: _checked(where + key, key, value, path.parent) for key, value in table.items()}


def _from_command_line(config: pytest.Config, table_vars: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    here = Path(config.invocation_params.dir)
    for key in KINDS:
        if key in ("vars", "provided"):
            continue  # the one is given a variable at a time, the other in the table only
        given = config.getoption(f"--workers-{key}")
        if given is not None:
            values[key] = _checked(f"--workers-{key}", key, _number(key, given), here)
    variables = dict(table_vars)
    for text in config.getoption("--workers-var"):
        name, separator, value = text.partition("=")
        if not name or not separator:
            raise OptionError(
                f"--workers-var {text!r} has no value.",
                "A variable is given as NAME=VALUE.",
                "Write --workers-var NAME=VALUE.",
            )
        variables[name] = value
    return values | {"vars": variables}


def _number(key: str, given: Any) -> Any:
    try:
        if key == "port":
            return int(given)
        if key == "start-timeout":
            return float(given)
    except ValueError:
        return given
    return given


def _checked(where: str, key: str, value: Any, folder: Path) -> Any:
    if key in PATHS and isinstance(value, str) and value:
        return (folder / Path(value).expanduser()).absolute()
    number = isinstance(value, int | float) and not isinstance(value, bool)
    valid = {
        "config": isinstance(value, str) and bool(value),
        "port": number and isinstance(value, int) and 0 <= value <= 65_535,
        "vars": isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
        "health-path": isinstance(value, str) and value.startswith("/"),
        "start-timeout": number and 0 < value < float("inf"),
        "log": isinstance(value, bool),
        "provided": isinstance(value, list) and all(isinstance(item, str) for item in value),
    }
    if valid.get(key, False):
        return value
    raise OptionError(f"{where} is {value!r}.", f"It is {KINDS[key]}.", "Correct the value.")
