"""The benchmark's Worker on real workerd, as its figures talk to it."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx
from pytest_workers.runtime import DevServer, Project

from benchmarks.machine import worker_memory_mb

__all__ = ["ADMIN_TOKEN", "APP", "BenchWorker", "NotThereError"]

APP: Final = Path(__file__).parent / "app"
ADMIN_TOKEN: Final = secrets.token_hex(32)
"""Of all Workers of this run."""

_LEAD_MS: Final = 1_000
"""Between storing jobs that are measured and the time when they fall due."""
_POLL_S: Final = 0.5
"""Looking costs the scheduler some milliseconds, so it is done seldom; times are taken from the jobs' own records."""
_STALLED_S: Final = 120
_LOG_LINES: Final = 30
"""Shown when something goes wrong."""
_A_YEAR_MS: Final = 365 * 86_400_000


class NotThereError(Exception):
    """This machine has not what a figure needs; the text says what."""


class BenchWorker:
    """A server with a state of its own, from `__enter__` to `__exit__`.

    Args:
        project: the benchmark's app.
        loopback: whether dispatches stay inside the Worker.
        stored: how many far-future jobs its scheduler holds from the beginning.
        say: told what takes long.
    """

    def __init__(self, project: Project, *, loopback: bool, stored: int, say: Callable[[str], None]) -> None:
        self._state = tempfile.TemporaryDirectory(prefix="lunora-benchmark-", ignore_cleanup_errors=True)
        variables = {
            "LUNORA_ORIGIN_URL": "{origin}",
            "LUNORA_DISPATCH": "loopback" if loopback else "origin",
            "LUNORA_ADMIN_TOKEN": ADMIN_TOKEN,
            "LUNORA_LOG": "problems",  # the local server takes longer for a line than the scheduler for a job
        }
        self._server = DevServer(
            project,
            persist_to=Path(self._state.name),
            vars=variables,
            health_path="/_lunora/health",
            progress=say,
        )
        self._http = httpx.Client(timeout=120)
        self._stored = stored
        self._say = say
        self._batches = 0

    def __enter__(self) -> Self:
        try:
            self._server.start()
            # what is only done once, such as making tables, is done
            for target in ("idle:mutation", "idle:act"):
                self.drain(target, 20)
            if self._stored:
                begin = time.monotonic()
                self.stock("stored", "idle:act", self._stored, due_ms=_now() + _A_YEAR_MS)
                self._say(f"stored {self._stored:,} far-future jobs in {time.monotonic() - begin:.1f} s")
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, NotThereError):
            time.sleep(0.5)  # its log comes through wrangler
            for line in self._server.log_lines()[-_LOG_LINES:]:
                self._say(f"| {line}")
        self.close()

    def close(self) -> None:
        """End the server, and delete what it stored."""
        self._http.close()
        self._server.close()
        self._state.cleanup()

    @property
    def url(self) -> str:
        """Where it answers."""
        return self._server.url

    def call(self, path: str, args: dict[str, Any] | None = None) -> Any:
        """Call an action of the app.

        Raises:
            RuntimeError: it failed.
        """
        answer = self._http.post(f"{self.url}/api/action", json={"path": path, "args": args or {}})
        if answer.status_code != 200:
            raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[:500]}")
        return answer.json()["value"]

    def stock(self, name: str, target: str, count: int, **options: Any) -> None:
        """Store jobs in bulk: see ``storing:stock`` of the app."""
        self.call("storing:stock", {"name": name, "target": target, "count": count, **options})

    def drain(self, target: str, count: int, *, step_ms: int = 0, **options: Any) -> float:
        """Let jobs fall due, all at once or one after the other, and wait until all have succeeded.

        Args:
            target: what they run.
            count: how many there are.
            step_ms: how long each falls due after the one before.
            options: further ones of `stock`.

        Returns:
            the seconds from the time when the first was due to the end of the last one, by their records.

        Raises:
            RuntimeError: one has not succeeded, or nothing has ended for two minutes.
        """
        self._batches += 1
        name = f"batch{self._batches}"
        # storing takes some ten microseconds a row
        due_ms = _now() + _LEAD_MS + count // 20
        self.stock(name, target, count, due_ms=due_ms, step_ms=step_ms, **options)
        if _now() >= due_ms:
            raise RuntimeError(f"storing {count:,} jobs took longer than expected: they were due before it was done")
        found = self._wait(name, count)
        if found["succeeded"] != count:
            raise RuntimeError(f"only {found['succeeded']:,.0f} of {count:,} jobs have succeeded")
        seconds: float = (found["last_ended"] - found["first_due"]) / 1000
        return seconds

    def memory_mb(self) -> float:
        """The resident memory of its workerd, in MiB.

        Raises:
            RuntimeError: it is not running.
        """
        group = self._server.process_group
        if group is None:
            raise RuntimeError("the server is not running")
        return worker_memory_mb(group)

    def _wait(self, name: str, count: int) -> dict[str, Any]:
        ended, heard = 0, time.monotonic()
        while True:
            found: dict[str, Any] = self.call("storing:look", {"name": name})
            if found["ended"] == count:
                return found
            if found["jobs"] < count:
                raise RuntimeError(f"of {count:,} jobs {found['jobs']:,} are left: history is needed to measure them")
            if found["ended"] > ended:
                ended, heard = found["ended"], time.monotonic()
            if time.monotonic() - heard > _STALLED_S:
                raise RuntimeError(f"nothing has ended for {_STALLED_S} s; {ended:,} of {count:,} jobs had")
            time.sleep(_POLL_S)


def _now() -> int:
    return int(time.time() * 1000)
