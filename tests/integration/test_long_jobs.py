"""Jobs that take longer than a lease: their heartbeats keep it alive, and others come and go beside them."""

from __future__ import annotations

from tests.integration.client import Client


def test_three_jobs_that_run_for_90_s_while_others_come_and_go(shared: Client, long_jobs: list[str]) -> None:
    record = shared.get(long_jobs[0])
    assert record["state"] in ("running", "succeeded"), record
    for job_id in long_jobs:
        done = shared.wait(job_id, "succeeded", within=100)
        assert (done["attempts"], done["charged"]) == (1, 1)
        assert done["ended"] - done["started"] >= 90_000
        assert [entry["event"] for entry in shared.journal(job_id)] == ["start", "end"]
    others = [entry for entry in shared.journal() if entry["event"] == "end" and entry["job"] not in long_jobs]
    assert len(others) > 200
