from __future__ import annotations

from typing import Any

import pytest

from .worker_app import Worker, refusal

_POOLS = "/_lunora/admin/scheduled/pools"
pytestmark = pytest.mark.usefixtures("stopped_clock")


def _pool(name: str = "imports", **fields: Any) -> dict[str, Any]:
    return {"name": name, "max_concurrency": 1, "paused": False, "in_flight": 0, "queued": 1, **fields}


async def test_pools_are_listed_with_what_runs_and_waits() -> None:
    worker = Worker()
    assert await worker.json("GET", _POOLS) == (200, {"pools": [], "truncated": False})
    await worker.schedule("a", pool="imports")
    await worker.schedule("b", pool="imports")
    await worker.schedule("c", pool="exports")
    worker.object.engine.claim(worker.object.now)
    exports, imports = _pool("exports", in_flight=1, queued=0), _pool(in_flight=1)
    assert await worker.json("GET", _POOLS) == (200, {"pools": [exports, imports], "truncated": False})
    assert await worker.json("GET", _POOLS, query="limit=1") == (
        200,
        {"pools": [exports], "truncated": True, "cursor": "exports"},
    )
    assert await worker.json("GET", _POOLS, query="cursor=exports") == (200, {"pools": [imports], "truncated": False})
    _, status = await worker.json("GET", "/_lunora/admin/scheduled/status")
    assert status["pools"] == [exports, imports]


async def test_a_pool_is_paused_resumed_and_capped() -> None:
    worker = Worker()
    await worker.schedule(pool="imports")
    for path, body, pool in (
        ("pause", {"name": "imports"}, _pool(paused=True)),
        ("cap", {"name": "imports", "max_concurrency": 9}, _pool(paused=True, max_concurrency=9)),
        ("resume", {"name": "imports"}, _pool(max_concurrency=9)),
    ):
        assert await worker.post(f"{_POOLS}/{path}", body) == (200, {"pool": pool})


async def test_a_pool_that_is_not_there_is_not_made() -> None:
    worker = Worker()
    for path, body in (
        ("pause", {"name": "typo"}),
        ("resume", {"name": "typo"}),
        ("cap", {"name": "typo", "max_concurrency": 9}),
    ):
        assert refusal(await worker.post(f"{_POOLS}/{path}", body)) == (404, "POOL_NOT_FOUND")
    assert (await worker.json("GET", _POOLS))[1]["pools"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("pause", {}),
        ("pause", {"name": None}),
        ("pause", {"name": "a b"}),
        ("pause", {"name": "imports", "paused": True}),
        ("resume", {"id": "imports"}),
        ("cap", {"name": "imports"}),
        ("cap", {"max_concurrency": 5}),
        *(
            ("cap", {"name": "imports", "max_concurrency": cap})
            for cap in (None, 0, -1, 1_001, True, 1.0, "5", [5], 10**40)
        ),
        ("cap", {"name": ["imports"], "max_concurrency": 5}),
    ],
)
async def test_a_bad_body_is_refused_before_anything_is_called(path: str, body: Any) -> None:
    worker = Worker()
    assert refusal(await worker.post(f"{_POOLS}/{path}", body)) == (400, "INVALID_INPUT")
    assert worker.namespace.stubs == 0


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=%D9%A1", "cursor=-a", "cursor=%00", "cursor=" + "a" * 65]
)
async def test_a_bad_query_is_refused(query: str) -> None:
    assert refusal(await Worker().json("GET", _POOLS, query=query)) == (400, "INVALID_INPUT")
