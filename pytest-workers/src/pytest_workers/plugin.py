"""The pytest plugin: fixtures that run the project's Worker on real workerd.

pytest loads it as soon as the distribution is installed, so the runtime is imported only when a fixture asks
for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_workers.errors import WorkersError
from pytest_workers.options import Options, add_options, read_options

if TYPE_CHECKING:
    from pytest_workers.fleet import Fleet
    from pytest_workers.worker import Worker

OPTIONS = pytest.StashKey[Options]()
FLEET = pytest.StashKey["Fleet"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options to the command line."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, so that a wrong one ends the run before any test."""
    try:
        config.stash[OPTIONS] = read_options(config)
    except WorkersError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """End whatever is left, also when the run was interrupted inside a fixture."""
    fleet = config.stash.get(FLEET, None)
    if fleet is not None:
        fleet.dismiss_all()


@pytest.fixture(scope="session")
def worker_factory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Callable[..., Worker]]:
    """Start further Workers: other projects, configurations, variables, ports or state folders.

    See `pytest_workers.fleet.Fleet.launch` for the arguments. Every Worker ends with the test run.
    """
    fleet = _fleet(request.config, tmp_path_factory)
    yield fleet.launch
    fleet.dismiss_all()


@pytest.fixture(scope="session")
def worker(worker_factory: Callable[..., Worker], request: pytest.FixtureRequest) -> Worker:
    """The project's Worker, started once for the whole test run.

    The options of the command line and of `[tool.pytest-workers]` say which project, port and state folder. A
    test that stops or kills it must restart it for those that follow.
    """
    options = request.config.stash[OPTIONS].for_process(os.environ.get("PYTEST_XDIST_WORKER"))
    return _launch(worker_factory, port=options.port, persist_to=options.persist_to)


@pytest.fixture(scope="module")
def module_worker(worker_factory: Callable[..., Worker], request: pytest.FixtureRequest) -> Generator[Worker]:
    """The project's Worker with a fresh state folder, started for one test module and stopped after it."""
    started = _launch(worker_factory, name=f"module {Path(request.node.nodeid).stem}")
    yield started
    request.config.stash[FLEET].dismiss(started)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note where each log ends as a test begins, and print what came after it if that is wanted."""
    fleet = item.config.stash.get(FLEET, None)
    if fleet is not None:
        fleet.mark()
    result = yield
    _print_log(item.config)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the lines that Workers logged since the test began to the report of a failure."""
    report = yield
    fleet = item.config.stash.get(FLEET, None)
    if report.failed and fleet is not None:
        report.sections.extend(fleet.sections())
    return report


def _fleet(config: pytest.Config, scratch: pytest.TempPathFactory) -> Fleet:
    from pytest_workers.fleet import Fleet

    if FLEET not in config.stash:
        config.stash[FLEET] = Fleet(config.stash[OPTIONS], scratch)
    return config.stash[FLEET]


def _launch(launch: Callable[..., Worker], **arguments: object) -> Worker:
    try:
        return launch(**arguments)
    except WorkersError as error:
        # The message says it all; a traceback through the plugin would only bury it.
        pytest.fail(str(error), pytrace=False)


def _print_log(config: pytest.Config) -> None:
    fleet = config.stash.get(FLEET, None)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if fleet is None or reporter is None or not config.stash[OPTIONS].log:
        return
    for line in fleet.fresh_lines():
        reporter.ensure_newline()
        reporter.write_line(line)
