"""`lunora dev`: serves the Worker locally and says what to try."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Final

from lunorash.cli.demo import has_demo
from lunorash.cli.local_server import DEFAULT_PORT, make_server

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
  curl -s "{url}/_lunora/admin/scheduled/get?id=$JOB" -H "authorization: Bearer $TOKEN"
"""
_LOOK: Final = """
  # what runs and what waits; how the scheduler is doing
  curl -s {url}/_lunora/admin/scheduled -H "authorization: Bearer $TOKEN"
  curl -s {url}/_lunora/admin/scheduled/status -H "authorization: Bearer $TOKEN"

Jobs survive Ctrl-C and kill -9: stop the server while one is pending, start it again, and it runs.
"""


def try_next(url: str, *, demo: bool) -> str:
    """The lines that `lunora dev` prints once the server answers; each can be pasted.

    Args:
        url: where it answers.
        demo: whether the app has the functions of the example's ``demo.py``.
    """
    return (_READY + (_DEMO if demo else "") + _LOOK).format(url=url)


def dev(project: Path, *, port: int = DEFAULT_PORT) -> int:
    """Serve until Ctrl-C; returns the exit status.

    Args:
        project: the folder of wrangler.jsonc.
        port: where to answer.
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    server = make_server(
        project, port=port, persist_to=None, say=lambda line: print(f"==> {line}", flush=True), echo=_echo
    )
    print(f"==> starting the Worker on port {server.port}", flush=True)
    with server:
        print(f"\n{try_next(server.url, demo=has_demo(project))}", flush=True)
        while not ended.wait(0.5):
            if not server.running:
                print("lunora: the server has ended by itself; its last words are above", flush=True)
                return 1
    print("==> stopped", flush=True)
    return 0


def _echo(line: str) -> None:
    # not the frame of wrangler's list of some 900 modules
    if line.strip() and line[0] not in "┌├│└":
        print(line, flush=True)
