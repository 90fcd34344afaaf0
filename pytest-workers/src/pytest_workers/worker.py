"""What a test gets: a running Worker to call, crash, restart and read the log of."""

from __future__ import annotations

import datetime as dt
import re
import time as clock
from typing import Any

from pytest_workers.errors import LogTimeoutError
from pytest_workers.runtime.server import DevServer

POLL_SECONDS = 0.02


class Worker:
    """A Worker on a local server.

    Attributes:
        name: what the log sections of a failure report are headed with.
        server: the server underneath.

    Example:
        >>> def test_counts_on_after_a_crash(worker):
        ...     httpx.post(f"{worker.url}/add")
        ...     worker.kill()
        ...     worker.restart()
        ...     assert httpx.get(worker.url).text == "1"
    """

    def __init__(self, name: str, server: DevServer, start_timeout: float) -> None:
        self.name = name
        self.server = server
        self._start_timeout = start_timeout

    @property
    def url(self) -> str:
        """The Worker's origin, `http://localhost:PORT`, without a slash at the end."""
        return self.server.url

    @property
    def port(self) -> int:
        """The port, which stays the same across restarts."""
        return self.server.port

    @property
    def running(self) -> bool:
        """Whether the server was started and has not ended since."""
        return self.server.running

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            WorkersError: with the code of what is wrong; see `DevServer.start`.
        """
        self.server.start(self._start_timeout)

    def stop(self) -> None:
        """End the server in good order. State, port and log are kept."""
        self.server.stop()

    def kill(self) -> None:
        """End every process of the server at once with SIGKILL. State, port and log are kept."""
        self.server.kill()

    def restart(self) -> None:
        """Start the server again on the same port and state, after `stop` or `kill`, or instead of them.

        Raises:
            WorkersError: with the code of what is wrong; see `DevServer.start`.
        """
        self.server.restart(self._start_timeout)

    def trigger_scheduled(self, cron: str = "", time: int | dt.datetime | None = None) -> dict[str, Any]:
        """Call the Worker's `scheduled` handler, which nothing else does locally.

        Args:
            cron: the expression that the handler is given.
            time: the scheduled time, in milliseconds since 1970 or as an aware datetime; None is now.

        Returns:
            Such as `{"outcome": "ok", "noRetry": False}`; the outcome is "exception" when the handler raised.

        Raises:
            ServerStateError: (SERVER_STATE) the server is not running.
            TriggerError: (TRIGGER_FAILED) the time is naive, or the server gave no outcome.
        """
        return self.server.trigger_scheduled(cron, time)

    def log_position(self) -> int:
        """Say where the log ends now, for `log_lines` and `wait_for_log`.

        Returns:
            A number of bytes.
        """
        return self.server.log_position()

    def log_lines(self, since: int = 0) -> list[str]:
        """Read what the server has written, across its restarts.

        Args:
            since: what `log_position` returned earlier; 0 reads from the first start on.

        Returns:
            Lines without colours.
        """
        return self.server.log_lines(since)

    def wait_for_log(self, pattern: str | re.Pattern[str], timeout: float = 10.0, since: int = 0) -> re.Match[str]:
        """Wait until a line of the log matches.

        Args:
            pattern: a regular expression, searched in each line.
            timeout: seconds to wait.
            since: what `log_position` returned earlier; 0 looks at every line.

        Returns:
            The match, whose `string` is the line.

        Raises:
            LogTimeoutError: (LOG_TIMEOUT) no line matched in time.

        Example:
            >>> begin = worker.log_position()  # doctest: +SKIP
            >>> worker.wait_for_log(r"stored (\\d+) rows", since=begin).group(1)  # doctest: +SKIP
            '3'
        """
        search = re.compile(pattern)
        deadline = clock.monotonic() + timeout
        while True:
            expired = clock.monotonic() >= deadline
            lines = self.server.log_lines(since)
            for line in lines:
                if match := search.search(line):
                    return match
            if expired:
                raise LogTimeoutError(
                    f"No line of the log of {self.name} matched {search.pattern!r} within {timeout:g} s.",
                    f"The pattern is searched in each of the {len(lines)} lines, one at a time.",
                    "Correct the pattern, allow more time, or look at the log:\n" + "\n".join(lines[-20:]),
                )
            clock.sleep(POLL_SECONDS)
