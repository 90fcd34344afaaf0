from __future__ import annotations

from pathlib import Path

import pytest
from pytest_workers.errors import OptionError
from pytest_workers.options import Options, read_options

pytest_plugins = ["pytester"]

TABLE = """
[tool.pytest-workers]
project = "worker"
config = "other.jsonc"
pins = "pins.txt"
node-modules = "node_modules"
provided = ["staged"]
port = 8787
persist-to = "state"
vars = { ONE = "1", TWO = "2" }
health-path = "/health"
start-timeout = 30
log = true
"""


def read(pytester: pytest.Pytester, table: str, *arguments: str) -> Options:
    pytester.makepyprojecttoml(table)
    return read_options(pytester.parseconfig("--rootdir", str(pytester.path), *arguments))


def test_defaults(pytester: pytest.Pytester) -> None:
    assert read(pytester, "") == Options(project=pytester.path)


def test_pyproject(pytester: pytest.Pytester) -> None:
    root = pytester.path
    assert read(pytester, TABLE) == Options(
        project=root / "worker",
        config="other.jsonc",
        pins=root / "pins.txt",
        node_modules=root / "node_modules",
        provided=["staged"],
        port=8787,
        persist_to=root / "state",
        vars={"ONE": "1", "TWO": "2"},
        health_path="/health",
        start_timeout=30,
        log=True,
    )


def test_the_command_line_wins(pytester: pytest.Pytester) -> None:
    arguments = ["--workers-project=mine", "--workers-port=0", "--workers-var=TWO={origin}/x=y"]
    arguments += ["--workers-var=THREE=", "--workers-start-timeout=1.5", "--workers-health-path=/up"]
    arguments += ["--workers-persist-to=s", "--workers-config=c.jsonc", "--workers-log"]
    options = read(pytester, TABLE, *arguments)
    assert options.project == Path(pytester.path) / "mine"
    assert options.vars == {"ONE": "1", "TWO": "{origin}/x=y", "THREE": ""}
    assert (options.port, options.start_timeout, options.health_path) == (0, 1.5, "/up")
    assert options.config == "c.jsonc"


def test_processes_of_one_run_share_neither_port_nor_state(tmp_path: Path) -> None:
    options = Options(project=tmp_path, port=8787, persist_to=tmp_path / "state")
    assert options.for_process(None) == options
    process = options.for_process("gw1")
    assert (process.port, process.persist_to) == (0, tmp_path / "state" / "gw1")
    assert Options(project=tmp_path).for_process("gw1").persist_to is None


@pytest.mark.parametrize(
    "table",
    [
        "port = true",
        "port = 70000",
        'port = "8787"',
        "vars = { A = 1 }",
        'vars = "A=1"',
        'health-path = "up"',
        "start-timeout = 0",
        "start-timeout = nan",
        'log = "yes"',
        'config = ""',
        "project = 3",
        'persist-to = ""',
    ],
)
def test_a_bad_value_in_pyproject(pytester: pytest.Pytester, table: str) -> None:
    with pytest.raises(OptionError, match=table.split(maxsplit=1)[0]) as caught:
        read(pytester, f"[tool.pytest-workers]\n{table}\n")
    assert caught.value.code == "OPTION_INVALID"


@pytest.mark.parametrize(
    "argument",
    ["--workers-port=x", "--workers-port=-1", "--workers-var=X", "--workers-var==1", "--workers-start-timeout=-1"],
)
def test_a_bad_value_on_the_command_line(pytester: pytest.Pytester, argument: str) -> None:
    with pytest.raises(OptionError, match=argument[:13]):
        read(pytester, "", argument)


def test_an_unknown_key_ends_the_run_and_names_the_known_ones(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest-workers]\nprojekt = "x"\n')
    result = pytester.runpytest_subprocess("--rootdir", str(pytester.path))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*OPTION_INVALID*unknown key 'projekt'*project, config, pins, node-modules, port*"])


def test_a_project_that_is_none_fails_the_test_without_a_traceback(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(worker): ...")
    result = pytester.runpytest_subprocess("--rootdir", str(pytester.path))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*CONFIG_MISSING*wrangler.jsonc*"])
    result.stdout.no_fnmatch_line("*plugin.py*")
