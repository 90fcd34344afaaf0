"""`lunora demo`: a short story, told by a real Worker on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lunorash.cli.admin_access import find_token
from lunorash.cli.api import Api
from lunorash.cli.local_server import make_server
from lunorash.cli.output import Output
from lunorash.codegen import generate
from lunorash.errors import LunoraError

__all__ = ["demo", "has_demo", "tell"]

_PATIENCE_S: Final = 30
_POLL_S: Final = 0.02
_FUNCTIONS: Final = frozenset({"demo:hello_later", "demo:flaky_later"})


def demo(project: Path, output: Output) -> int:
    """Start a Worker with nothing stored, tell the story, stop it; returns the exit status.

    Args:
        project: the folder of wrangler.jsonc.
        output: where it is told; programs get how many jobs are left in which state.
    """
    if not has_demo(project):
        raise LunoraError(
            "DEMO_NOT_FOUND", "the story is told with the example's lunora/demo.py, which this project does not have"
        )
    with tempfile.TemporaryDirectory(prefix="lunora-demo-") as state:
        server = make_server(project, port=0, persist_to=Path(state), say=lambda line: output.say(f"==> {line}"))
        output.say("==> starting a Worker with nothing stored (a few seconds)")
        with server, Api(server.url, find_token(project, {})[0]) as api:
            left = tell(api, output.say)
    output.document({"ok": True, **left})
    return 0


def has_demo(project: Path) -> bool:
    """Whether a project has the functions that the story is told with."""
    return {function.path for function in generate(project).functions} >= _FUNCTIONS


def tell(api: Api, say: Callable[[str], None]) -> dict[str, int]:
    """Tell the story.

    Args:
        api: the Worker.
        say: told each line as it happens.

    Returns:
        how many jobs wait, run and are dead at the end.

    Raises:
        LunoraError: ``DEMO_FAILED`` when it takes another turn than it should.
    """
    story = _Story(api, say)
    say("\n1. A job now. It is stored in a Durable Object, its alarm fires, the Worker is called back.")
    story.schedule("hello", "demo:hello_later", name="Ada")
    story.follow("hello", until="succeeded")

    say("\n2. A job that fails twice and then succeeds. It may be retried twice, after 0.4 s and 0.8 s.")
    story.schedule("flaky", "demo:flaky_later", failures=2, max_attempts=2, base_ms=400)
    story.follow("flaky", until="succeeded")

    say("\n3. A job for tomorrow, cancelled today.")
    story.schedule("tomorrow", "demo:hello_later", name="Bob", delay_ms=24 * 60 * 60 * 1000)
    say(f"   cancel tomorrow: {api.post('/_lunora/admin/v1/scheduled/cancel', {'id': 'tomorrow'})}")
    story.follow("tomorrow", until="canceled")

    say("\n4. A job that dies: one retry, and it fails both times.")
    story.schedule("unlucky", "demo:flaky_later", failures=2, max_attempts=1, base_ms=300)
    story.follow("unlucky", until="dead")
    letters = api.get("/_lunora/admin/v1/scheduled/dead")["records"]
    say(f"   the dead letters: {', '.join(letter['id'] for letter in letters)}")
    say("   nothing is lost: somebody looks at it, and retries it by hand")
    say(f"   retry unlucky: {api.post('/_lunora/admin/v1/scheduled/dead/retry', {'id': 'unlucky'})}")
    story.follow("unlucky", until="succeeded")

    status = api.get("/_lunora/admin/v1/scheduled/status")
    say(f"\nAt the end: {status['backlog']} waiting, {status['in_flight']} running, {status['dead']} dead.")
    return {name: status[name] for name in ("backlog", "in_flight", "dead")}


class _Story:
    """Follows jobs and says each change as it is seen."""

    def __init__(self, api: Api, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._begin = time.monotonic()
        self._told: set[str] = set()

    def schedule(self, job_id: str, mutation: str, **args: Any) -> None:
        """Call a mutation that schedules a job, and say so."""
        self._api.post("/api/mutation", {"path": mutation, "args": {**args, "job_id": job_id}})
        told = ", ".join(f"{name}={value!r}" for name, value in args.items())
        self._line(job_id, f"scheduled by {mutation}({told})")

    def follow(self, job_id: str, *, until: str) -> None:
        """Say what becomes of a job until it has come to rest in the state it should."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            job = self._api.get("/_lunora/admin/v1/scheduled/get", id=job_id)["record"]
            self._tell_changes(job)
            if job["ended"] is not None:
                if job["state"] != until:
                    raise LunoraError("DEMO_FAILED", f"{job_id} is {job['state']}; it should be {until}")
                return
            time.sleep(_POLL_S)
        raise LunoraError("DEMO_FAILED", f"{job_id} is not {until} after {_PATIENCE_S} s")

    def _tell_changes(self, job: dict[str, Any]) -> None:
        failures = sorted(job["failures"], key=lambda failure: failure["number"])
        for failure in failures:
            self._once(job, f"attempt {failure['number']} failed: {failure['code']}, {failure['message']}")
        if job["state"] == "pending":
            wait = max(0, job["due"] - time.time() * 1000) / 1000
            again = f"again in {wait:.1f} s" if failures and not job["redrives"] else f"due in {wait:.1f} s"
            self._once(job, "pending", f", {again}", after=len(failures))
        elif job["state"] == "running":
            self._once(job, f"running, attempt {job['attempts']}")
        elif job["state"] == "succeeded":
            self._once(job, f"succeeded at attempt {job['attempts']}")
        else:
            self._once(job, job["state"])

    def _once(self, job: dict[str, Any], change: str, more: str = "", *, after: int = 0) -> None:
        key = f"{job['id']} {job['redrives']} {change} {after}"
        if change.startswith("attempt"):
            key = f"{job['id']} {change}"
        if key not in self._told:
            self._told.add(key)
            self._line(job["id"], change + more)

    def _line(self, job_id: str, text: str) -> None:
        self._say(f"   {time.monotonic() - self._begin:6.2f} s  {job_id:<9} {text}")
