"""`kill -9` of everything, wrangler and workerd: jobs survive, and what was cut off is counted."""

from __future__ import annotations

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch

SHORT = {"max_attempts": 5, "base_ms": 100}


@pytest.fixture(scope="module")
def mortal(launch: Launch) -> Client:
    return launch(name="mortal")


def test_a_kill_between_schedule_and_due_loses_nothing(mortal: Client) -> None:
    soon = mortal.schedule("probes:note", delay_ms=1_500, retry=SHORT)
    later = mortal.schedule("probes:note", delay_ms=12_000, retry=SHORT)
    mortal.worker.kill()
    mortal.worker.restart()
    for job_id in (soon, later):
        record = mortal.wait(job_id, "succeeded", within=40)
        assert (record["attempts"], record["charged"]) == (1, 1)
        assert [entry["event"] for entry in mortal.journal(job_id)] == ["start", "end"]


def test_a_kill_during_an_attempt_counts_it_and_tries_again(mortal: Client) -> None:
    job_id = mortal.schedule("probes:slow", {"seconds": 4}, retry=SHORT)
    doomed = mortal.schedule("probes:slow", {"seconds": 4}, retry={"max_attempts": 1, "base_ms": 100})
    wait_for(lambda: len(mortal.journal()) >= 2 and mortal.journal(doomed), "both attempts to start", 10)
    mortal.worker.kill()
    mortal.worker.restart()
    # the lease of what was running ends 35 s after the restart
    record = mortal.wait(job_id, "succeeded", within=70)
    assert (record["attempts"], record["charged"]) == (2, 2)
    assert [failure["code"] for failure in record["failures"]] == ["OUTCOME_UNKNOWN"]
    assert [entry["event"] for entry in mortal.journal(job_id)] == ["start", "start", "end"]
    # its retry, the last attempt it has, is not lost either
    assert mortal.wait(doomed, "succeeded", within=20)["charged"] == 2


def test_the_history_survives_too(mortal: Client) -> None:
    records = mortal.call("GET", "/_lunora/admin/scheduled", state="succeeded").json()["records"]
    assert len(records) == 4
