"""Alarms that the platform lost or kept a stale time of: the next request of any kind puts them right."""

from __future__ import annotations

import ast
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch

ROOT = Path(__file__).parents[2]
FAR = 4_102_444_800_000_000_000  # nanoseconds: the year 2100


def ask(client: Client) -> None:
    assert client.status()["now"] > time.time() * 1000 - 60_000


def fire_a_trigger(client: Client) -> None:
    """P2: cloudflare/cloudflare-docs#30383, the handler gets None for env and ctx."""
    assert client.worker.trigger_scheduled("*/5 * * * *")["outcome"] == "ok"
    client.worker.wait_for_log(r"the trigger \*/5 \* \* \* \* fired; no cron job is registered for it")


@pytest.mark.parametrize(
    ("tamper", "wake"),
    [
        pytest.param("DELETE FROM _cf_ALARM", fire_a_trigger, id="A2 the alarm is gone"),
        pytest.param(f"UPDATE _cf_ALARM SET scheduled_time = {FAR}", ask, id="A4 the alarm is stale"),
    ],
)
def test_an_overdue_job_runs_once_after_any_request(
    launch: Launch, tmp_path: Path, tamper: str, wake: Callable[[Client], None]
) -> None:
    """cloudflare/cloudflare-docs#18324, cloudflare/workerd#3138, cloudflare/workerd#6396."""
    client = launch(persist_to=tmp_path, name=tamper)
    job_id = client.schedule("probes:note", delay_ms=1_000)
    client.worker.kill()
    (alarms,) = tmp_path.rglob("*-SchedulerDO/metadata.sqlite")
    database = sqlite3.connect(alarms)
    with database:
        assert database.execute(tamper).rowcount == 1
    database.close()
    client.worker.restart()
    assert client.journal(job_id) == [], "nothing has woken the scheduler yet"

    wake(client)
    record = client.wait(job_id, "succeeded")
    assert (record["attempts"], record["charged"]) == (1, 1)
    wait_for(lambda: len(client.journal(job_id)) == 2, "one run", 5, lambda: client.journal(job_id))
    client.worker.stop()


_FILTER = {"filter": {"id_prefix": "nobody"}, "cursor": None, "limit": 1, "dry_run": True}
CALLS: dict[str, str | None] = {
    "accept": json.dumps({"shard": "s", "rows": []}),
    "begin": "nobody",
    "cancel": "nobody",
    "change_many": json.dumps({"change": "cancel", **_FILTER}),
    "count": json.dumps({"id_prefix": "nobody"}),
    "dead_groups": None,
    "drop_dead": "nobody",
    "enqueue": json.dumps({"pool": "p", "max_concurrency": 1, "jobs": []}),
    "get": "nobody",
    "jobs": json.dumps({"filter": {"id_prefix": "nobody"}, "order": "newest", "cursor": None, "limit": 1}),
    "list": json.dumps({"states": ["dead"], "cursor": None, "limit": 1}),
    "metrics": "{}",
    "pool": json.dumps({"name": "nobody"}),
    "pools": json.dumps({"cursor": None, "limit": 1}),
    "redrive": "nobody",
    "run_now": "nobody",
    "schedule": "[]",
    "schedule_many": "[]",
    "statistics": json.dumps({"minutes": 1}),
    "status": None,
}
"""A call of each method of the SchedulerDO that changes nothing, and what it is given."""


def test_no_method_is_left_out() -> None:
    source = (ROOT / "src" / "lunorash" / "scheduler" / "durable_object.py").read_text(encoding="utf-8")
    (scheduler,) = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    methods = {node.name for node in scheduler.body if isinstance(node, ast.AsyncFunctionDef)}
    called_by_the_platform = {"alarm", "fetch", "webSocketMessage", "webSocketClose", "webSocketError"}
    assert set(CALLS) == methods - called_by_the_platform


@pytest.mark.parametrize("method", CALLS)
def test_whoever_calls_anything_wakes_a_scheduler_that_overslept(shared: Client, method: str) -> None:
    """The object has been there all the time, and believes that its alarm still stands."""
    told = shared.call("POST", "/test/lost-alarm", {"method": method, "argument": CALLS[method]}).json()
    assert (told["stored"], told["lost"], told["armed"]) == ({"ok": [f"overslept-{method}"]}, True, True), told
    job_id = f"overslept-{method}"
    wait_for(lambda: len(shared.journal(job_id)) == 2, "the job to run", 20, lambda: shared.journal(job_id))
