"""LUNORA_DISPATCH=loopback: for an origin that cannot call itself."""

from __future__ import annotations

from tests.integration.client import Client
from tests.integration.conftest import Launch


def test_a_job_runs_although_its_origin_cannot_be_reached(launch: Launch) -> None:
    client: Client = launch(vars={"LUNORA_ORIGIN_URL": "https://app.invalid", "LUNORA_DISPATCH": "loopback"})
    job_id = client.schedule("probes:slow", {"seconds": 0.5})
    assert client.wait(job_id, "succeeded")["charged"] == 1
    assert [entry["event"] for entry in client.journal(job_id)] == ["start", "end"]
    client.worker.stop()
