from __future__ import annotations

from typing import Any

import pytest

from lunorash.scheduler import RetryPolicy

from .worker_app import TARGET, Worker, refusal

_CANCEL = "/_lunora/admin/scheduled/cancel-many"
_RETRY = "/_lunora/admin/scheduled/dead/retry-many"
_DROP = "/_lunora/admin/scheduled/dead/cancel-many"
_ROUTES = (_CANCEL, _RETRY, _DROP)
_NO_INSTANTS: tuple[Any, ...] = ("2026-01-01", True, [], {}, 10**16)
_NO_CURSORS: tuple[Any, ...] = ("x", "", 5, "pending.0.a", "dead.0.a b", [])
pytestmark = pytest.mark.usefixtures("stopped_clock")


async def _bury(worker: Worker, *ids: str) -> None:
    for job_id in ids:
        await worker.schedule(job_id, retry=RetryPolicy(max_attempts=1))
        worker.object.bury()


def _states(worker: Worker) -> dict[str, str]:
    return {row["id"]: row["state"] for row in worker.object.store.execute("SELECT id, state FROM jobs ORDER BY id")}


async def test_jobs_are_canceled_in_steps() -> None:
    worker = Worker()
    for job_id in ("a", "b", "c", "other"):
        await worker.schedule(job_id, pool="imports")
    now = worker.object.now
    status, first = await worker.post(_CANCEL, {"filter": {"pool": "imports"}, "limit": 3})
    assert status == 200
    cursor = first.pop("cursor")
    assert first == {"changed": 3, "ids": ["a", "b", "c"], "targets": {TARGET: 3}, "scanned": 3, "now": now}
    assert await worker.post(_CANCEL, {"filter": {"pool": "imports"}, "cursor": cursor}) == (
        200,
        {"changed": 1, "ids": ["other"], "targets": {TARGET: 1}, "scanned": 1, "now": now, "cursor": None},
    )
    assert set(_states(worker).values()) == {"canceled"}


async def test_letters_are_retried_and_dropped() -> None:
    worker = Worker()
    await _bury(worker, "a", "b", "c")
    _, told = await worker.post(_RETRY, {"filter": {"id_prefix": "a", "error": "OUTCOME_UNKNOWN"}})
    assert told["ids"] == ["a"]
    _, told = await worker.post(_DROP, {"filter": {}, "dry_run": True})
    assert (told["changed"], told["ids"]) == (2, ["c", "b"])
    assert _states(worker) == {"a": "pending", "b": "dead", "c": "dead"}
    _, told = await worker.post(_DROP, {"filter": {}, "limit": 1})
    assert told["ids"] == ["c"]
    assert _states(worker) == {"a": "pending", "b": "dead"}


@pytest.mark.parametrize("route", _ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"limit": 5},
        {"filter": None},
        {"filter": []},
        {"filter": "all"},
        {"filter": {}, "limits": 5},
        {"filter": {}, "id": "a"},
        *({"filter": {}, "limit": limit} for limit in (0, -1, 1_001, 1.0, "5", True, None, 10**40)),
        *({"filter": {}, "dry_run": dry_run} for dry_run in (1, "no", None)),
        *({"filter": {name: 5}} for name in ("state", "target", "pool", "error", "id_prefix")),
        *({"filter": {name: ""}} for name in ("state", "target", "pool", "error", "id_prefix")),
        {"filter": {"nobody": 1}},
        {"filter": {"target": "x" * 257}},
        {"filter": {"id_prefix": "-a"}},
        {"filter": {"id_prefix": "a%"}},
        {"filter": {"state": "succeeded"}},
        *({"filter": {"state": states}} for states in ([], ["succeeded"], ["dead", "dead"], ["dead", "pending"], [5])),
        *({"filter": {"due_before": at}} for at in _NO_INSTANTS),
    ],
)
async def test_a_bad_body_is_refused_before_anything_is_called(route: str, body: Any) -> None:
    worker = Worker()
    assert refusal(await worker.post(route, body)) == (400, "INVALID_INPUT")
    assert worker.namespace.stubs == 0


@pytest.mark.parametrize(
    ("route", "body"),
    [
        (_CANCEL, {"filter": {"state": "dead"}}),
        (_RETRY, {"filter": {"state": "pending"}}),
        (_DROP, {"filter": {"state": "running"}}),
        *((_DROP, {"filter": {}, "cursor": cursor}) for cursor in _NO_CURSORS),
    ],
)
async def test_what_makes_no_sense_together_is_refused(route: str, body: Any) -> None:
    worker = Worker()
    await _bury(worker, "a")
    await worker.schedule("b")
    assert refusal(await worker.post(route, body)) == (400, "INVALID_INPUT")
    assert _states(worker) == {"a": "dead", "b": "pending"}


@pytest.mark.parametrize("route", _ROUTES)
async def test_only_who_bears_the_token_may(route: str) -> None:
    worker = Worker()
    answer = await worker.json("POST", route, body=b'{"filter": {}}', headers={})
    assert refusal(answer) == (403, "ADMIN_FORBIDDEN")
    assert worker.namespace.stubs == 0


@pytest.mark.parametrize(
    "pattern", ["[", "[!", "[]-a]", "[z-a]", "(?", "*" * 256, "*a" * 128, "\\", "\x00*", "[\ud800]"]
)
async def test_a_hostile_pattern_chooses_nothing_and_takes_no_time(pattern: str) -> None:
    worker = Worker()
    await worker.schedule("a")
    status, told = await worker.post(_CANCEL, {"filter": {"target": pattern}, "dry_run": True})
    assert (status, told.get("changed", 0)) in ((200, 0), (200, 1), (400, 0))
    assert status == 400 or (told["changed"] == 1) == (set(pattern) == {"*"})
