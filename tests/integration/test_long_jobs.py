"""Jobs that take longer than a lease: their heartbeats keep it alive, and others come and go beside them."""

from __future__ import annotations

import time

from tests.integration.client import Client


def test_three_jobs_that_run_for_90_s_while_others_come_and_go(shared: Client, long_jobs: list[str]) -> None:
    """They were started with the Worker, so that most of the 90 s pass during other tests."""
    others: set[str] = set()
    deadline = time.monotonic() + 120
    while not set(long_jobs) <= shared.ids("succeeded"):
        assert time.monotonic() < deadline, [shared.get(job_id) for job_id in long_jobs]
        wave = {shared.schedule("probes:note") for _ in range(10)}
        others |= wave
        shared.wait_all(wave)
    for job_id in long_jobs:
        done = shared.get(job_id)
        assert (done["attempts"], done["charged"]) == (1, 1)
        assert done["ended"] - done["started"] >= 90_000
        assert [entry["event"] for entry in shared.journal(job_id)] == ["start", "end"]
    events = [entry["event"] for entry in shared.journal() if entry["job"] in others]
    assert events.count("start") == events.count("end") == len(others)
