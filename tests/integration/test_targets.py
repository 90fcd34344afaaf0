"""Workflows and agents that jobs start: one instance for each job, and one more for each redrive."""

from __future__ import annotations

import pytest

from tests.integration.client import ADMIN, Client, wait_for
from tests.integration.origin import Origin, forward, forward_twice

KINDS = ["workflow", "agent"]


def instances(client: Client, kind: str, tag: str) -> list[str]:
    """Which instances have run with a tag, in order."""
    return [entry["job"] for entry in client.journal() if entry["event"] == f"{kind} {tag}"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_starts_one_instance_named_after_it_although_it_is_delivered_twice(
    relayed: Client, relay: Origin, cut_off: dict[str, str], kind: str
) -> None:
    relay.behaviour, relay.statuses = forward_twice, []
    job_id = relayed.mutate("errands:start", {"kind": kind, "tag": "twice"})
    assert relayed.wait(job_id, "succeeded")["charged"] == 1
    relay.behaviour = forward
    assert sorted(relay.statuses) == [200, 403]
    wait_for(lambda: instances(relayed, kind, "twice") == [job_id], "the instance to run", 10, relayed.journal)


def test_a_redrive_gets_an_instance_of_its_own(relayed: Client) -> None:
    """That an instance which exists counts as success, test_replays.py shows."""
    # both attempts time out before they hear that the instance was started
    job_id = relayed.mutate("errands:start", {"kind": "agent", "tag": "impatient", "timeout_ms": 1})
    dead = relayed.wait(job_id, "dead")
    assert [failure["code"] for failure in dead["failures"]] == ["ATTEMPT_TIMED_OUT"] * 2
    wait_for(lambda: instances(relayed, "agent", "impatient") == [job_id], "one instance", 10, relayed.journal)

    assert relayed.call("POST", f"{ADMIN}/dead/retry", {"id": job_id}).json()["retried"] is True
    names = [job_id, f"{job_id}-1"]
    wait_for(lambda: instances(relayed, "agent", "impatient") == names, "an instance more", 10, relayed.journal)
    relayed.wait(job_id, "dead")
    assert instances(relayed, "agent", "impatient") == names
