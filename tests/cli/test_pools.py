from __future__ import annotations

import pytest

from .conftest import Lunora
from .worker_server import RealWorker, Scripted

POOLS = "GET /_lunora/admin/v1/scheduled/pools"


@pytest.fixture
def worker(worker: RealWorker) -> RealWorker:
    """With a pool in which one job waits, and another that is empty."""
    worker.schedule("a")

    def fill() -> None:
        engine, now = worker.namespace.default.engine, worker.namespace.default.now
        engine.set_pool("exports", now, declared=3)
        engine.set_pool("imports", now, declared=2)
        worker.namespace.default.store.execute("UPDATE jobs SET pool = 'imports'")

    worker.inside(fill)
    return worker


def test_pools_are_listed(lunora: Lunora, worker: RealWorker) -> None:
    head, *rows = lunora("pools", "list", "--url", worker.url).out.splitlines()
    assert head.split() == ["NAME", "RUNNING", "WAITING", "CAP", "STATE"]
    assert [row.split() for row in rows] == [["exports", "0", "0", "3"], ["imports", "0", "1", "2"]]
    told = lunora("pools", "list", "--url", worker.url, "--format", "json", "--limit", "1").json
    exports = {"name": "exports", "max_concurrency": 3, "paused": False, "in_flight": 0, "queued": 0}
    assert told == {"pools": [exports], "truncated": True}
    assert "there are more than these 1" in lunora("pools", "list", "--url", worker.url, "--limit", "1").err


def test_no_pools(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[POOLS] = {"pools": [], "truncated": False}
    assert "there are no pools" in lunora("pools", "list", "--url", scripted.url).out
    assert lunora("pools", "list", "--url", scripted.url, "--format", "json").json == {"pools": [], "truncated": False}


def test_more_pools_than_a_page(lunora: Lunora, worker: RealWorker) -> None:
    def fill() -> None:
        for number in range(120):
            worker.namespace.default.engine.set_pool(f"p{number:03}", worker.namespace.default.now, declared=1)

    worker.inside(fill)
    told = lunora("pools", "list", "--url", worker.url, "--format", "json", "--limit", "1000").json
    assert [pool["name"] for pool in told["pools"]] == ["exports", "imports", *(f"p{n:03}" for n in range(120))]
    assert told["truncated"] is False


def test_a_pool_is_paused_resumed_and_capped(lunora: Lunora, worker: RealWorker) -> None:
    done = lunora("pools", "pause", "imports", "--url", worker.url)
    assert done.status == 0
    assert done.out.splitlines()[1].split() == ["imports", "0", "1", "2", "paused"]
    told = lunora("pools", "cap", "imports", "7", "--url", worker.url, "--format", "json").json["pool"]
    assert (told["max_concurrency"], told["paused"]) == (7, True)
    assert lunora("pools", "resume", "imports", "--url", worker.url, "--format", "json").json["pool"]["paused"] is False


def test_a_pool_that_is_not_there(lunora: Lunora, worker: RealWorker) -> None:
    for arguments in (["pause", "nobody"], ["resume", "nobody"], ["cap", "nobody", "5"]):
        done = lunora("pools", *arguments, "--url", worker.url, "--format", "json")
        assert (done.status, done.json["error"]["code"]) == (1, "POOL_NOT_FOUND")


@pytest.mark.parametrize(
    "arguments",
    [
        ["pause"],
        ["pause", "a b"],
        ["resume", ""],
        ["cap", "imports"],
        *(["cap", "imports", cap] for cap in ("0", "x", "1001", "-1")),
        ["cap", "a/b", "5"],
        ["list", "--limit", "0"],
    ],
)
def test_a_command_line_that_makes_no_sense_asks_for_nothing(
    lunora: Lunora, worker: RealWorker, arguments: list[str]
) -> None:
    assert lunora("pools", *arguments, "--url", worker.url).status == 2
    assert worker.asked == []


@pytest.mark.parametrize("told", [{}, {"pool": None}, {"pool": []}])
def test_an_answer_of_another_shape_is_no_traceback(lunora: Lunora, scripted: Scripted, told: object) -> None:
    scripted.answers["POST /_lunora/admin/v1/scheduled/pools/pause"] = told
    done = lunora("pools", "pause", "imports", "--url", scripted.url)
    assert done.status == 1
    assert "BAD_ANSWER" in done.err


def test_names_of_a_hostile_worker_are_shown_harmless(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[POOLS] = {"pools": [{"name": "\x1b[2Jx\n", "paused": "yes"}]}
    out = lunora("pools", "list", "--url", scripted.url).out
    assert "\\x1b[2Jx\\n" in out
    assert "\x1b" not in out
