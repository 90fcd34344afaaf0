"""Alarms that the platform lost or kept a stale time of: the next request of any kind puts them right."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch

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
