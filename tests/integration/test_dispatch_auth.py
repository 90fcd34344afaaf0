"""Who may call the receiver: only the scheduler, only now, only once."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from tests.integration.client import SECRET, Client

PATH = "/_lunora/scheduler/dispatch"
OTHER_SECRET = "whsec_" + base64.b64encode(b"somebody else's key, also long enough").decode()


def body_for(client: Client, **changes: Any) -> str:
    attempt = {
        "job": "forged",
        "incarnation": "i",
        "number": 1,
        "target": "probes:note",
        "args": {},
        "scheduled_for": 0,
        "timeout_ms": 1_000,
        "shard_key": None,
        "redrives": 0,
    }
    instance = client.call("GET", "/test/instance").json()["instance"]
    body = {"version": 1, "audience": client.worker.url, "instance": instance, "attempts": [attempt], **changes}
    return json.dumps(body)


def send(
    client: Client, body: str, *, secret: str = SECRET, dispatch: str = "forged-dispatch", at: float | None = None
) -> tuple[int, str]:
    at = time.time() if at is None else at
    timestamp = str(int(at))
    # signed by the specification's own library, not by ours
    signature = Webhook(secret).sign(dispatch, _moment(at), body)
    headers = {"webhook-id": dispatch, "webhook-timestamp": timestamp, "webhook-signature": signature}
    answer = client.http.post(client.worker.url + PATH, content=body, headers=headers)
    return answer.status_code, answer.json()["error"]["code"]


def _moment(at: float) -> Any:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(int(at), UTC)


REFUSED = (403, "DISPATCH_UNAUTHENTICATED")


@pytest.fixture(autouse=True)
def nothing_runs(shared: Client) -> Any:
    yield
    assert shared.journal("forged") == []


def test_an_unsigned_dispatch_is_refused(shared: Client) -> None:
    answer = shared.http.post(shared.worker.url + PATH, content=body_for(shared))
    assert (answer.status_code, answer.json()["error"]["code"]) == REFUSED


def test_a_dispatch_signed_by_somebody_else_is_refused(shared: Client) -> None:
    assert send(shared, body_for(shared), secret=OTHER_SECRET) == REFUSED


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_stale_dispatch_is_refused(shared: Client, minutes: int) -> None:
    assert send(shared, body_for(shared), at=time.time() + minutes * 60) == REFUSED


def test_a_dispatch_for_another_audience_is_refused(shared: Client) -> None:
    assert send(shared, body_for(shared, audience="https://elsewhere.example")) == REFUSED


def test_a_well_signed_dispatch_that_the_scheduler_does_not_know_is_refused(shared: Client) -> None:
    """A replay: its dispatch is closed, so begin says no."""
    assert send(shared, body_for(shared)) == REFUSED


def test_a_dispatch_of_another_instance_is_refused(shared: Client) -> None:
    assert send(shared, body_for(shared, instance="0" * 64)) == REFUSED
    assert send(shared, body_for(shared, instance="x")) == REFUSED


@pytest.mark.parametrize(
    "changes", [{"version": 2}, {"attempts": {}}, {"attempts": [{"job": "forged"}]}, {"instance": 5}]
)
def test_a_well_signed_body_that_is_no_dispatch_is_refused(shared: Client, changes: dict[str, Any]) -> None:
    assert send(shared, body_for(shared, **changes)) == (400, "BAD_REQUEST")


def test_begin_says_no_to_an_id_it_does_not_know(shared: Client) -> None:
    assert shared.call("POST", "/test/begin", {"dispatch": "nobody"}).json() == {"begin": False}
