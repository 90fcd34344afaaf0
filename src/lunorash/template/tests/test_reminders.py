"""What is scheduled is done, and nobody else can do it."""

from __future__ import annotations

import time
from typing import Any

import httpx
from pytest_workers.worker import Worker


def call(worker: Worker, kind: str, path: str, **args: Any) -> httpx.Response:
    return httpx.post(f"{worker.url}/api/{kind}", json={"path": path, "args": args}, timeout=30)


def test_a_reminder_is_delivered_by_its_job(worker: Worker) -> None:
    began = time.time() * 1000
    kept = call(worker, "mutation", "reminders:remind", text="water the plants", delay_ms=500)
    assert kept.status_code == 200, kept.text
    reminder_id = kept.json()["value"]

    deadline = time.monotonic() + 20
    while True:
        reminder = call(worker, "query", "reminders:reminder", reminder_id=reminder_id).json()["value"]
        if reminder["delivered_at"] is not None:
            break
        assert time.monotonic() < deadline, worker.log_lines()
        time.sleep(0.1)
    assert reminder["text"] == "water the plants"
    assert reminder["delivered_at"] >= began + 500, "a job is never early"


def test_clients_cannot_call_what_is_internal(worker: Worker) -> None:
    refused = call(worker, "mutation", "reminders:deliver", reminder_id="any")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "FUNCTION_NOT_FOUND")
