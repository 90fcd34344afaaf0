"""`lunora dev`: serves the Worker locally, fires its crons, and says what to try."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lunorash.cli.app_crons import AppCrons
from lunorash.cli.cron_firing import CronFiring
from lunorash.cli.demo import has_demo
from lunorash.cli.local_server import DEFAULT_PORT, make_server
from lunorash.cli.options import DEFAULT_URL
from lunorash.cli.output import Output

if TYPE_CHECKING:
    from pytest_workers.runtime import DevServer

__all__ = ["dev", "try_next"]

_READY: Final = """\
Ready on {url}. In another terminal, in this folder:

  # the admin token of this machine
  TOKEN=$(sed -n 's/^LUNORA_ADMIN_TOKEN="\\(.*\\)"$/\\1/p' .dev.vars)
"""
_DEMO: Final = """
  # say hello in three seconds
  JOB=$(curl -s {url}/api/mutation -H "authorization: Bearer $TOKEN" -H "content-type: application/json" \\
    -d '{{"path": "demo:hello_later", "args": {{"name": "Ada", "delay_ms": 3000}}}}' | cut -d '"' -f 8)

  # look at it, before and after
  curl -s "{url}/_lunora/admin/v1/scheduled/get?id=$JOB" -H "authorization: Bearer $TOKEN"
"""
_LOOK: Final = """
  # what runs and what waits; how the scheduler is doing
  curl -s {url}/_lunora/admin/v1/scheduled -H "authorization: Bearer $TOKEN"
  curl -s {url}/_lunora/admin/v1/scheduled/status -H "authorization: Bearer $TOKEN"

  # all of it in a browser, signed in with that token: {url}/_lunora/studio

Jobs survive Ctrl-C and kill -9: stop the server while one is pending, start it again, and it runs.
See also: lunora jobs, lunora dead, lunora crons, lunora run{option}
"""


def try_next(url: str, *, demo: bool) -> str:
    """The lines that `lunora dev` prints once the server answers; each can be pasted.

    Args:
        url: where it answers.
        demo: whether the app has the functions of the example's ``demo.py``.
    """
    option = "" if url == DEFAULT_URL else f", each with --url {url}"
    return (_READY + (_DEMO if demo else "") + _LOOK).format(url=url, option=option)


def dev(project: Path, output: Output, *, port: int = DEFAULT_PORT, crons: bool = True) -> int:
    """Serve until Ctrl-C; returns the exit status.

    Args:
        project: the folder of wrangler.jsonc.
        output: where all that happens is told, as events.
        port: where to answer.
        crons: whether to fire the app's crons.
    """
    ended, ready = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        ended.set()
        if not ready.is_set():
            raise KeyboardInterrupt  # nobody waits for a server that is still starting

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)

    def progress(line: str) -> None:
        output.event("progress", f"==> {line}", message=line)

    def echo(line: str) -> None:
        # not the frame of wrangler's list of some 900 modules
        if line.strip() and line[0] not in "┌├│└":
            output.event("log", line, line=line)

    try:
        server = make_server(project, port=port, persist_to=None, say=progress, echo=echo)
        progress(f"starting the Worker on port {server.port}")
        server.start()
        ready.set()
    except KeyboardInterrupt:
        output.event("stopped", "==> stopped before it was ready")
        return 1
    with server:
        output.event("ready", f"\n{try_next(server.url, demo=has_demo(project))}", url=server.url)
        with _crons_of(project, server, output, wanted=crons):
            while not ended.wait(0.5):
                if not server.running:
                    output.event("ended", "lunora: the server has ended by itself; its last words are above")
                    return 1
    output.event("stopped", "==> stopped")
    return 0


@contextmanager
def _crons_of(project: Path, server: DevServer, output: Output, *, wanted: bool) -> Iterator[None]:
    """Fire the crons of a project for as long as the block runs."""
    if not wanted or not (project / "lunora").is_dir():
        yield
        return
    firing = CronFiring(AppCrons(project), server.trigger_scheduled, output)
    firing.start()
    try:
        yield
    finally:
        firing.stop()
