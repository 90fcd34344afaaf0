from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer

from lunorash.cli import records
from lunorash.cli.job_query import JobState, Order
from lunorash.cli.main import app
from lunorash.scheduler import walking
from lunorash.scheduler.job import State
from lunorash.studio.operation import PREFIX

from .conftest import Lunora


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


_COMMANDS = dict(_commands(typer.main.get_command(app)))


def test_the_commands_that_the_readme_names_are_there() -> None:
    names = {" ".join(path) for path in _COMMANDS}
    assert names >= {
        *("dev", "demo", "codegen", "build", "run"),
        *("jobs list", "jobs count", "jobs get", "jobs run-now", "jobs cancel", "openapi"),
        *("dead list", "dead groups", "dead retry", "dead drop"),
        *("pools list", "pools pause", "pools resume", "pools cap"),
        *("crons list", "crons run", "crons runs", "crons next"),
    }


@pytest.mark.parametrize("path", _COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_that_is_a_command_line_of_its_own(
    path: tuple[str, ...], lunora: Lunora
) -> None:
    done = lunora(*path, "--help")
    assert done.status == 0
    assert done.err == ""
    example = re.search(r"^ *Example: lunora (.+)$", done.out, re.MULTILINE)
    assert example, "the example stands on one line, so that it can be pasted"
    words = shlex.split(example[1])
    assert tuple(words[: len(path)]) == path
    command = _COMMANDS[path]
    command.make_context(" ".join(path), words[len(path) :])  # parsed, not run


@pytest.mark.parametrize("path", _COMMANDS, ids=" ".join)
def test_every_command_can_report_to_programs(path: tuple[str, ...]) -> None:
    options = {option for parameter in _COMMANDS[path].params for option in parameter.opts}
    assert "--format" in options
    assert "--token" not in options, "a command line is seen by everybody on the machine"


def test_the_help_names_the_exit_statuses(lunora: Lunora) -> None:
    done = lunora("--help")
    assert "Exit status: 0 done, 1 failed" in " ".join(done.out.split())


def test_jobs_may_be_asked_for_in_every_state_there_is() -> None:
    assert [state.value for state in JobState] == list(get_args(State))
    assert [order.value for order in Order] == list(get_args(walking.Order))


def test_the_admin_api_is_where_it_is_asked() -> None:
    assert records.ADMIN == PREFIX
