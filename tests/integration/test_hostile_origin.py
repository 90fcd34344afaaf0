"""Origins that refuse, lie, break off or say nothing: nothing is lost, nothing is charged that never began."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.integration.client import Client, wait_for
from tests.integration.conftest import Launch
from tests.integration.origin import (
    Behaviour,
    Origin,
    break_off,
    drop,
    end_early,
    forward,
    forward_twice,
    hang,
    reply,
)

SHORT = {"max_attempts": 5, "base_ms": 100}


@pytest.fixture(scope="module")
def behind(launch: Launch, origin: Origin) -> Client:
    """A Worker whose SchedulerDO reaches it through the origin only."""
    client = launch(vars={"LUNORA_ORIGIN_URL": origin.url}, name="behind an origin")
    origin.worker_url = client.worker.url
    return client


@pytest.fixture(autouse=True)
def honest(origin: Origin) -> Iterator[None]:
    yield
    origin.behaviour = forward


def test_a_job_runs_through_the_origin(behind: Client) -> None:
    assert behind.wait(behind.schedule("probes:note"), "succeeded")["charged"] == 1


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(reply(302, "location: /elsewhere"), "redirect", id="a redirect"),
        pytest.param(reply(200), "text/html", id="an HTML page"),
        pytest.param(reply(404), "404", id="404"),
        pytest.param(reply(503), "503", id="503"),
        pytest.param(
            reply(403, "content-type: application/json", '{"error": {"code": "ADMIN_FORBIDDEN", "message": "no"}}'),
            "ADMIN_FORBIDDEN",
            id="a refusal that says why",
        ),
        pytest.param(
            reply(200, "content-type: application/x-ndjson", '{"type": "end"}\n'),
            "had not asked",
            id="an answer by somebody who never began",
        ),
        pytest.param(
            reply(200, "content-type: application/json", "[" * 8_000 + "]" * 8_000), "200", id="8,000 nested brackets"
        ),
        pytest.param(
            reply(200, "content-type: application/x-ndjson", "[" * 8_000 + "]" * 8_000 + "\n"),
            "not ours",
            id="8,000 nested brackets as a line",
        ),
        pytest.param(drop, "cannot be reached", id="a connection that is dropped at once"),
    ],
)
def test_an_answer_that_is_no_receivers_charges_nothing(
    behind: Client, origin: Origin, behaviour: Behaviour, reason: str
) -> None:
    origin.behaviour = behaviour
    job_id = behind.schedule("probes:note", retry=SHORT)
    status = wait_for(
        lambda: (status := behind.status())["origin"]["failed_probes"] >= 1 and status,
        "the breaker to open and its probe to fail",
        10,
        behind.status,
    )
    assert status["origin"]["reachable"] is False
    assert reason in status["origin"]["reason"]
    record = behind.get(job_id)
    assert (record["state"], record["charged"]) == ("pending", 0)
    origin.behaviour = forward
    record = behind.wait(job_id, "succeeded")
    assert record["charged"] == 1
    assert behind.status()["origin"]["reachable"] is True
    assert [entry["event"] for entry in behind.journal(job_id)] == ["start", "end"]


def test_an_origin_that_is_down_for_several_retry_periods_dead_letters_nothing(behind: Client, origin: Origin) -> None:
    origin.shut()
    ids = [behind.schedule("probes:note", retry={"max_attempts": 1, "base_ms": 10}) for _ in range(20)]
    wait_for(lambda: behind.status()["origin"]["failed_probes"] >= 3, "three failed probes", 20, behind.status)
    assert behind.status()["dead"] == 0
    assert all(behind.get(job_id)["charged"] == 0 for job_id in ids)
    origin.open()
    for job_id in ids:
        assert behind.wait(job_id, "succeeded", within=40)["charged"] == 1


def test_an_answer_that_is_cut_is_unknown_charged_and_tried_again(behind: Client, origin: Origin) -> None:
    ids = []
    for behaviour in (end_early, break_off):
        origin.behaviour = behaviour
        ids.append(behind.schedule("probes:slow", {"seconds": 0.2}, retry=SHORT))
        wait_for(lambda: behind.journal(ids[-1]), "the attempt to begin", 10)
    origin.behaviour = forward
    for job_id in ids:
        # its receiver is given 35 s to notice, then the lease has ended
        record = behind.wait(job_id, "succeeded", within=50)
        assert (record["attempts"], record["charged"]) == (2, 2)
        assert [failure["code"] for failure in record["failures"]] == ["OUTCOME_UNKNOWN"]


def test_a_dispatch_that_is_delivered_twice_at_once_runs_once(behind: Client, origin: Origin) -> None:
    origin.behaviour, origin.statuses = forward_twice, []
    job_id = behind.schedule("probes:note")
    assert behind.wait(job_id, "succeeded")["charged"] == 1
    assert sorted(origin.statuses) == [200, 403]
    assert [entry["event"] for entry in behind.journal(job_id)] == ["start", "end"]


def test_at_most_six_dispatches_await_headers_and_all_recovers_when_their_15_s_are_over(
    behind: Client, origin: Origin
) -> None:
    origin.behaviour, origin.most_awaiting = hang, 0
    begin = time.monotonic()
    ids = [behind.schedule("probes:note", retry={"max_attempts": 1, "base_ms": 10}) for _ in range(20)]
    wait_for(lambda: origin.awaiting == 6, "six dispatches to wait", 10, lambda: origin.awaiting)
    wait_for(lambda: behind.status()["origin"]["reachable"] is False, "their 15 s to be over", 25, behind.status)
    assert time.monotonic() - begin >= 14
    origin.behaviour = forward
    for job_id in ids:
        assert behind.wait(job_id, "succeeded", within=40)["charged"] == 1
    assert origin.most_awaiting == 6
