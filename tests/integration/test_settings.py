"""What a deployment may leave out or get wrong: refused when scheduling, harmless when due."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest

from tests.integration.client import SECRET, Client, wait_for
from tests.integration.conftest import Launch


def make_secret(seed: str, length: int = 32) -> str:
    return "whsec_" + base64.b64encode((seed * length)[:length].encode()).decode()


Restart = Callable[..., Client]


@pytest.fixture(scope="module")
def restart(launch: Launch, tmp_path_factory: pytest.TempPathFactory) -> Restart:
    """Start a Worker with the given settings, on the state that the one before it left."""
    state = tmp_path_factory.mktemp("state")
    running: list[Client] = []

    def start(**settings: str) -> Client:
        for client in running:
            client.worker.stop()
        running[:] = [launch(vars=settings, persist_to=state, name=f"with {', '.join(settings) or 'all settings'}")]
        return running[0]

    return start


def test_settings_can_be_missing_or_weak_and_jobs_that_wait_are_kept(restart: Restart) -> None:
    waiting = restart().schedule("probes:note", delay_ms=4_000)
    cases = [
        ({"LUNORA_ORIGIN_URL": ""}, "ORIGIN_NOT_CONFIGURED", "LUNORA_ORIGIN_URL"),
        ({"LUNORA_ORIGIN_URL": "localhost"}, "ORIGIN_INVALID", "LUNORA_ORIGIN_URL"),
        ({"LUNORA_SCHEDULER_SECRET": ""}, "SCHEDULER_SECRET_NOT_CONFIGURED", "LUNORA_SCHEDULER_SECRET"),
        (
            {"LUNORA_SCHEDULER_SECRET": make_secret("k", 31)},
            "SCHEDULER_SECRET_INVALID",
            "at least 32 random bytes",
        ),
    ]
    for settings, code, hint in cases:
        movable = restart(**settings)
        status, given, message = movable.refusal(target="probes:note")
        assert (status, given) == (500, code)
        assert hint in message
        assert ".dev.vars" in message or "openssl" in message or "https://" in message
    # overdue by now, and there is still no secret: not charged, and the status says why
    status_now = wait_for(
        lambda: (status := movable.status())["origin"]["failed_probes"] and status, "a first try", 30, movable.status
    )
    assert "LUNORA_SCHEDULER_SECRET" in status_now["origin"]["reason"]
    assert movable.get(waiting)["charged"] == 0
    assert restart().wait(waiting, "succeeded", within=40)["charged"] == 1


def test_a_secret_is_rotated_without_losing_a_job(restart: Restart) -> None:
    old, new = SECRET, make_secret("new")
    waiting = restart().schedule("probes:note", delay_ms=1_000)
    movable = restart(LUNORA_SCHEDULER_SECRET=new, LUNORA_SCHEDULER_SECRET_PREVIOUS=old)
    assert movable.wait(waiting, "succeeded", within=40)["charged"] == 1
    assert movable.wait(movable.schedule("probes:note"), "succeeded")["charged"] == 1


@pytest.mark.parametrize("token", ["", "short-token"])
def test_without_a_strong_admin_token_everything_is_closed(restart: Restart, token: str) -> None:
    movable = restart(LUNORA_ADMIN_TOKEN=token)
    movable.http.headers["authorization"] = f"Bearer {token}".strip()
    for method, path in (("GET", "/_lunora/admin/scheduled"), ("POST", "/test/schedule")):
        answer = movable.call(method, path, {} if method == "POST" else None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
