"""A Worker running locally: `wrangler dev` on real workerd, in a process group that always ends."""

from __future__ import annotations

import datetime as dt
import http.client
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_workers.errors import (
    ServerStateError,
    StartTimeoutError,
    WorkerStartError,
)
from pytest_workers.runtime import ports
from pytest_workers.runtime.command import dev_command, dev_environment
from pytest_workers.runtime.locks import take_state
from pytest_workers.runtime.log import Log
from pytest_workers.runtime.preparation import Prepared, prepare, silent
from pytest_workers.runtime.process import SupervisedProcess
from pytest_workers.runtime.project import Project
from pytest_workers.runtime.triggers import get, scheduled

POLL_SECONDS = 0.05
PORT_ATTEMPTS = 3
ADDRESS_IN_USE = ("Address already in use", "EADDRINUSE", "address in use")


class DevServer:
    """One local server of a Worker project.

    Args:
        project: the project.
        port: the port of localhost; 0 picks a free one, which is kept across restarts.
        persist_to: the state folder (Durable Objects, KV, queues); None is the project's `.wrangler/state`,
            as with a plain `wrangler dev`. One server at a time may use a folder.
        vars: values for the Worker's variables by name; they win over the configuration and over `.dev.vars`.
            "{origin}" in a value becomes the server's own origin, `http://localhost:PORT`.
        log_file: the file that gets the server's output, emptied first; None keeps it in a temporary folder.
        extra_args: further arguments of `wrangler dev`.
        health_path: the path that is asked until the server answers, with any status.
        environment: environment variables of the server, on top of this process's own.
        traces: whether wrangler keeps a trace of each request for its Observability page, as a plain `wrangler dev`
            does. No deployed Worker has that, and it takes about as much time as a small request does.
        echo: called with each log line as it comes, from a thread.
        progress: called with a line of text before anything slow in the preparation.

    Example:
        >>> with DevServer(Project.load("."), vars={"SELF": "{origin}"}) as server:  # doctest: +SKIP
        ...     urllib.request.urlopen(server.url)
    """

    def __init__(  # noqa: PLR0917 - the first six are what every caller gives, in this order
        self,
        project: Project,
        port: int = 0,
        persist_to: Path | None = None,
        vars: Mapping[str, str] | None = None,  # noqa: A002 - the name that wrangler's configuration uses
        log_file: Path | None = None,
        extra_args: Sequence[str] = (),
        *,
        health_path: str = "/",
        environment: Mapping[str, str] | None = None,
        traces: bool = False,
        echo: Callable[[str], None] | None = None,
        progress: Callable[[str], None] = silent,
    ) -> None:
        self.project = project
        self.port = port or ports.pick_free()
        self.persist_to = (persist_to or project.folder / ".wrangler" / "state").absolute()
        self._port_is_ours = port == 0
        self._vars = dict(vars or {})
        self._extra_args = list(extra_args)
        self._health_path = health_path
        self._environment = dict(environment or {})
        self._traces = traces
        self._echo = echo
        self._progress = progress
        self._discard_log: weakref.finalize[..., DevServer] | None = None
        self._log_file = log_file
        self._log: Log | None = None
        self._prepared: Prepared | None = None
        self._process: SupervisedProcess | None = None

    @property
    def url(self) -> str:
        """The server's origin, `http://localhost:PORT`, without a slash at the end."""
        return f"http://localhost:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the server was started and has not ended since."""
        return self._process is not None and self._process.running

    @property
    def process_group(self) -> int | None:
        """The id of the process group of wrangler and workerd, or None when the server is not running."""
        return None if self._process is None else self._process.group

    def log_lines(self, since: int = 0) -> list[str]:
        """Read what the server has written since its first start, across restarts.

        Args:
            since: what `log_position` returned earlier; 0 reads from the beginning.

        Returns:
            Lines without colours. They stay readable after the server has stopped.
        """
        return [] if self._log is None else self._log.lines(since)

    def log_position(self) -> int:
        """Say where the log ends now, for a later `log_lines`.

        Returns:
            A number of bytes; 0 before the first start.
        """
        return 0 if self._log is None else self._log.position()

    def start(self, timeout: float = 60.0) -> None:
        """Start the server and wait until it answers. The project is prepared first if need be.

        Args:
            timeout: seconds to wait for the first answer; the preparation is not counted.

        Raises:
            WorkersError: what `prepare` raises.
            ServerStateError: (SERVER_STATE) it is running already.
            PortTakenError: (PORT_TAKEN) the port that was asked for is in use.
            StateInUseError: (STATE_IN_USE) another server uses the state folder.
            WorkerStartError: (WORKER_START_FAILED) the Worker failed to start; the message ends with its log.
            StartTimeoutError: (START_TIMEOUT) no answer came in time; the message ends with its log.
        """
        if self.running:
            raise ServerStateError(
                f"The server on port {self.port} is running already.",
                "A server is started once.",
                "Stop it first, or call restart().",
            )
        # One that died by itself still has to be waited for.
        self._end(at_once=True)
        if self._prepared is None:
            self._prepared = prepare(self.project, self._progress)
        log = self._open_log()
        for attempt in range(1, PORT_ATTEMPTS + 1):
            begin = log.position()
            if self._port_is_ours and not ports.is_free(self.port):
                self.port = ports.pick_free()
            ports.check_free(self.port)
            self._spawn(self._prepared, log)
            try:
                self._wait_until_ready(timeout, log, begin)
            except WorkerStartError:
                # Another program may take a free port while the server is starting.
                lost_race = any(text in line for line in log.lines(begin) for text in ADDRESS_IN_USE)
                if not (lost_race and self._port_is_ours and attempt < PORT_ATTEMPTS):
                    raise
                self.port = ports.pick_free(frozenset({self.port}))
            else:
                return

    def stop(self) -> None:
        """End the server in good order; after five seconds by force. Its state, port and log are kept.

        Nothing happens when it is not running.
        """
        self._end(at_once=False)

    def kill(self) -> None:
        """End every process of the server at once with SIGKILL, as a crash of the machine would.

        Its state, port and log are kept, so `restart` brings it back. Nothing happens when it is not running.
        """
        self._end(at_once=True)

    def restart(self, timeout: float = 60.0) -> None:
        """Start the server again on the same port and the same state, after `stop`, `kill` or a crash.

        A server that is running is stopped first.

        Args:
            timeout: seconds to wait for the first answer.

        Raises:
            WorkersError: as `start` does.
        """
        self.stop()
        self._port_is_ours = False
        self.start(timeout)

    def trigger_scheduled(self, cron: str = "", time: int | dt.datetime | None = None) -> dict[str, Any]:
        """Call the Worker's `scheduled` handler, which nothing else does locally.

        Args:
            cron: the expression that the handler is given; it need not be in the configuration.
            time: the scheduled time, in milliseconds since 1970 or as an aware datetime; None is now.

        Returns:
            Such as `{"outcome": "ok", "noRetry": False}`; the outcome is "exception" when the handler raised.

        Raises:
            ServerStateError: (SERVER_STATE) the server is not running.
            TriggerError: (TRIGGER_FAILED) the time is naive, or the server gave no outcome.

        Example:
            >>> server.trigger_scheduled("*/5 * * * *", time=1_800_000_000_000)  # doctest: +SKIP
            {'outcome': 'ok', 'noRetry': False}
        """
        if not self.running:
            raise ServerStateError(
                f"The server on port {self.port} is not running.",
                "A handler can be triggered on a running server only.",
                "Call start() or restart() first.",
            )
        return scheduled(self.port, cron, time)

    def close(self) -> None:
        """Stop the server and remove its temporary log. It can be started again."""
        self.stop()
        if self._discard_log is not None:
            self._discard_log()
            self._discard_log = self._log = None

    def __enter__(self) -> Self:
        if not self.running:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open_log(self) -> Log:
        if self._log is None:
            path = self._log_file
            if path is None:
                folder = Path(tempfile.mkdtemp(prefix="pytest-workers-"))
                self._discard_log = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                path = folder / "worker.log"
            self._log = Log(path)
        if self._echo is not None:
            self._log.follow(self._echo)
        return self._log

    def _spawn(self, prepared: Prepared, log: Log) -> None:
        state = take_state(self.persist_to)
        try:
            self._process = SupervisedProcess(
                dev_command(
                    prepared,
                    self.project,
                    port=self.port,
                    persist_to=self.persist_to,
                    variables=self._vars,
                    extra=self._extra_args,
                ),
                dev_environment(prepared, self._environment, traces=self._traces),
                self.project.folder,
                log.path,
                state,
            )
        finally:
            os.close(state)

    def _wait_until_ready(self, timeout: float, log: Log, begin: int) -> None:
        deadline = time.monotonic() + timeout
        try:
            while self.running:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise StartTimeoutError(
                        f"{self.url}{self._health_path} gave no answer within {timeout:g} s.",
                        "A Worker must answer that path, with any status, before tests can use it.",
                        f"Allow more time, name another health path, or read the log:\n{log.tail(begin)}",
                    )
                try:
                    get(self.port, self._health_path, remaining)
                except (OSError, http.client.HTTPException):
                    if self._process is not None:
                        self._process.wait(POLL_SECONDS)
                else:
                    return
            raise WorkerStartError(
                f"The Worker {self.project.config.name or self.project.folder.name!r} failed to start.",
                "wrangler and workerd must stay up until the first answer.",
                f"Correct what the log says:\n{log.tail(begin)}",
            )
        except BaseException:
            self.kill()
            raise

    def _end(self, *, at_once: bool) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(at_once=at_once)
        if self._log is not None:
            self._log.unfollow()
