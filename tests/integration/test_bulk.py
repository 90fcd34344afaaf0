"""Many jobs at once on real workerd: scheduled in one call, cancelled, retried and dropped by a filter."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.client import ADMIN, Client, wait_for
from tests.integration.conftest import Launch

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def bulky(launch: Launch) -> Client:
    return launch(name="bulky")


def _step(client: Client, path: str, conditions: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = client.call("POST", f"{ADMIN}/{path}", {"filter": conditions, **more})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


@pytest.mark.parametrize(("kind", "function"), [("action", "many:schedule"), ("mutation", "many:book")])
def test_each_of_many_is_answered_by_itself_and_runs(bulky: Client, kind: Any, function: str) -> None:
    ids = [f"{kind}-{number}" for number in range(30)]
    *answers, refusal = bulky.value(kind, function, {"ids": ids})
    assert answers == ids
    assert refusal["code"] == "FUNCTION_NOT_FOUND"
    bulky.wait_all(set(ids), within=60)
    assert len([entry for entry in bulky.journal() if entry["job"] in ids]) == 60


def test_ids_that_are_taken_are_refused_each_by_itself(bulky: Client) -> None:
    later = {"delay_ms": HOUR_MS}
    assert bulky.value("action", "many:schedule", {"ids": ["taken-1", "taken-2"], **later})[:2] == [
        "taken-1",
        "taken-2",
    ]
    told = bulky.value("action", "many:schedule", {"ids": ["taken-1", "free-1", "free-1"], **later})
    assert [answer if isinstance(answer, str) else answer["code"] for answer in told] == [
        "DUPLICATE_SCHEDULE_ID",
        "free-1",
        "DUPLICATE_SCHEDULE_ID",
        "FUNCTION_NOT_FOUND",
    ]


def test_a_thousand_are_cancelled_in_steps(bulky: Client) -> None:
    ids = [f"many-{number:04}" for number in range(1_000)]
    assert (
        bulky.value("action", "many:schedule", {"ids": ids[:999], "delay_ms": HOUR_MS, "pool": "p"})[:-1] == ids[:999]
    )
    assert _step(bulky, "cancel-many", {"id_prefix": "many-"}, dry_run=True)["changed"] == 999
    first = _step(bulky, "cancel-many", {"pool": "p", "id_prefix": "many-"}, limit=400)
    assert first["ids"] == ids[:400]
    rest = _step(bulky, "cancel-many", {"pool": "p", "id_prefix": "many-"}, cursor=first["cursor"])
    assert rest["ids"] == ids[400:999]
    assert bulky.get(ids[0])["state"] == bulky.get(ids[998])["state"] == "canceled"
    assert _step(bulky, "cancel-many", {"id_prefix": "many-"})["changed"] == 0


def test_letters_are_retried_and_dropped(bulky: Client) -> None:
    retry = {"max_attempts": 1, "base_ms": 50}
    for number in range(6):
        bulky.schedule("probes:fail", {}, id=f"doomed-{number}", retry=retry)
    for number in range(6):
        bulky.wait(f"doomed-{number}", "dead")
    told = _step(bulky, "dead/retry-many", {"target": "probes:fail"}, limit=2)
    assert told["changed"] == 2
    for job_id in told["ids"]:
        wait_for(
            lambda job_id=job_id: bulky.get(job_id)["attempts"] == 4 and bulky.get(job_id)["state"] == "dead",  # type: ignore[misc]
            "the second death",
            20,
            bulky.status,
        )
    assert _step(bulky, "dead/cancel-many", {"target": "probes", "error": "NO_SUCH"})["changed"] == 0
    assert set(_step(bulky, "dead/cancel-many", {"target": "probes"})["ids"]) == {f"doomed-{n}" for n in range(6)}
    assert bulky.get("doomed-0") is None
