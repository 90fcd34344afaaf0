"""All Workers of one test run: they end with it, and their logs join the reports of failed tests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pytest_workers.options import Options
from pytest_workers.runtime import DevServer, Project
from pytest_workers.worker import Worker

# wrangler writes to its log a moment after the Worker has answered.
SETTLE_SECONDS = 0.1


class Fleet:
    """The Workers of a test run.

    Args:
        options: what holds when a call does not say otherwise.
        scratch: makes the folders of state and logs, which pytest keeps for its last three runs.
    """

    def __init__(self, options: Options, scratch: pytest.TempPathFactory) -> None:
        self._options = options
        self._scratch = scratch
        self._workers: list[Worker] = []
        self._marks: dict[int, int] = {}
        self._printed: dict[int, int] = {}
        self._unprinted: list[str] = []

    def launch(
        self,
        project: str | os.PathLike[str] | None = None,
        *,
        config: str | None = None,
        pins: str | os.PathLike[str] | None = None,
        node_modules: str | os.PathLike[str] | None = None,
        port: int = 0,
        persist_to: str | os.PathLike[str] | None = None,
        vars: Mapping[str, str] | None = None,  # noqa: A002 - the name that wrangler's configuration uses
        health_path: str | None = None,
        start_timeout: float | None = None,
        environment: Mapping[str, str] | None = None,
        extra_args: Sequence[str] = (),
        start: bool = True,
        name: str | None = None,
    ) -> Worker:
        """Start a further Worker, which ends with the test run. The fixture `worker_factory` is this method.

        Args:
            project: the project's folder; by default the run's project, with the run's config and pins.
            config: the wrangler configuration's file name.
            pins: the pins file.
            node_modules: the folder of npm packages; by default the run's.
            port: the port; 0 picks a free one.
            persist_to: the state folder; by default a fresh one.
            vars: values for the Worker's variables, on top of the run's.
            health_path: the path that is asked until the server answers; by default the run's.
            start_timeout: seconds to wait for the first answer; by default the run's.
            environment: environment variables of the server.
            extra_args: further arguments of `wrangler dev`.
            start: whether to start it now; otherwise call `start()` on it.
            name: what log sections are headed with; by default the Worker's name.

        Returns:
            The Worker.

        Raises:
            WorkersError: with the code of what is wrong; see `Project.load` and `DevServer.start`.

        Example:
            >>> def test_two_workers(worker_factory):
            ...     one, two = worker_factory(), worker_factory(vars={"PEER": "yes"})
            ...     assert one.port != two.port
        """
        own = project is None
        loaded = Project.load(
            self._options.project if project is None else project,
            config or (self._options.config if own else None),
            pins=pins or (self._options.pins if own else None),
            node_modules=node_modules or self._options.node_modules,
        )
        server = DevServer(
            loaded,
            port,
            Path(persist_to) if persist_to is not None else self._scratch.mktemp("worker-state"),
            self._options.vars | dict(vars or {}),
            self._scratch.mktemp("worker-log") / "worker.log",
            extra_args=extra_args,
            health_path=health_path or self._options.health_path,
            environment=environment,
        )
        timeout = self._options.start_timeout if start_timeout is None else start_timeout
        worker = Worker(name or loaded.config.name or loaded.folder.name, server, timeout)
        self._workers.append(worker)
        if start:
            try:
                worker.start()
            except BaseException:
                # The caller has no Worker to stop, and the error message has the log.
                self.dismiss(worker)
                raise
        return worker

    def dismiss(self, worker: Worker) -> None:
        """End a Worker and forget it.

        Args:
            worker: one that `launch` returned; nothing happens for another.
        """
        if worker in self._workers:
            self._unprinted.extend(self._fresh_lines(worker))
            self._workers.remove(worker)
        self._marks.pop(id(worker), None)
        self._printed.pop(id(worker), None)
        worker.server.close()

    def dismiss_all(self) -> None:
        """End every Worker."""
        while self._workers:
            self.dismiss(self._workers[-1])

    def mark(self) -> None:
        """Note where each log ends, as a test begins."""
        self._marks = {id(worker): worker.log_position() for worker in self._workers}

    def sections(self) -> Iterator[tuple[str, str]]:
        """Give what each Worker has logged since the test began.

        Yields:
            A heading and the lines, for each Worker that has logged anything.
        """
        if any(worker.running for worker in self._workers):
            time.sleep(SETTLE_SECONDS)
        for worker in self._workers:
            lines = worker.log_lines(self._marks.get(id(worker), 0))
            if lines:
                yield f"Log of Worker {worker.name} ({worker.url})", "\n".join(lines)

    def fresh_lines(self) -> Iterator[str]:
        """Give what has been logged since the last call, for `--workers-log`.

        Yields:
            Lines, each headed with the Worker's name.
        """
        unprinted, self._unprinted = self._unprinted, []
        yield from unprinted
        for worker in self._workers:
            yield from self._fresh_lines(worker)

    def _fresh_lines(self, worker: Worker) -> Iterator[str]:
        begin = self._printed.get(id(worker), 0)
        self._printed[id(worker)] = worker.log_position()
        for line in worker.log_lines(begin):
            yield f"{worker.name} | {line}"
