"""Dispatches of several attempts: who travels together, what each of them costs, and that none pays for another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lunorash.refs import Kind
from lunorash.scheduler.job import Dispatch, Result
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import ONE_BY_ONE, POLICY, SECOND, START, Rig, new_mutation

T = TypeVar("T")


def _book(rig: Rig, jobs: str, kind: Kind | None = None, **more: Any) -> None:
    for job_id in jobs:
        rig.schedule(job_id, kind=kind, **more)


def _carried(dispatches: Sequence[Dispatch]) -> list[str]:
    """The jobs of each dispatch, each a word of their letters."""
    return ["".join(attempt.job for attempt in dispatch.attempts) for dispatch in dispatches]


def _together(store: Store, jobs: str = "abc", *, retry: RetryPolicy = POLICY) -> Rig:
    """A rig with one dispatch, d1, that carries actions named by letters."""
    rig = Rig(store)
    rig.room = 1
    _book(rig, jobs, retry=retry)
    assert _carried(rig.claim()) == [jobs]
    rig.room = 6
    return rig


# -- who travels together ------------------------------------------------------------------------------------


def case_while_there_is_room_every_job_has_a_dispatch_of_its_own(store: Store) -> None:
    rig = Rig(store)
    _book(rig, "abcdef")
    assert _carried(rig.claim()) == ["a", "b", "c", "d", "e", "f"]


def case_the_more_is_due_the_more_travel_together(store: Store) -> None:
    rig = Rig(store)
    _book(rig, "abcdefghijkl")
    assert _carried(rig.claim()) == ["ab", "cd", "ef", "gh", "ij", "kl"]


def case_six_actions_are_the_most_and_fifty_mutations(store: Store) -> None:
    rig = Rig(store)
    rig.room = 2
    _book(rig, "abcdefghijklmnop")
    assert _carried(rig.claim()) == ["abcdef", "ghijkl"]
    assert rig.state("m") == "pending"
    assert [len(dispatch.attempts) for dispatch in rig.claim()] == [2, 2]
    rig.engine.schedule([new_mutation(f"j{number:03}", number) for number in range(120)], START)
    rig.now = 1_000
    assert [len(dispatch.attempts) for dispatch in rig.claim()] == [50, 50]
    assert [len(dispatch.attempts) for dispatch in rig.claim()] == [10, 10]


def case_mutations_of_different_shards_and_actions_do_not_mix(store: Store) -> None:
    rig = Rig(store)
    rig.room = 4
    for job_id, kind, shard in (
        ("a", "mutation", "s1"),
        ("b", "action", "s1"),
        ("c", "mutation", "s2"),
        ("d", "mutation", "s1"),
        ("e", None, None),
        ("f", "query", "s1"),
        ("g", "mutation", None),
        ("h", "mutation", "s2"),
    ):
        rig.schedule(job_id, kind=kind, shard_key=shard)  # type: ignore[arg-type]
    assert _carried(rig.claim()) == ["ad", "bef", "ch", "g"]


def case_the_sizes_can_be_set(store: Store) -> None:
    rig = Rig(store, sizes=ONE_BY_ONE)
    rig.room = 3
    _book(rig, "ab")
    _book(rig, "cd", "mutation")
    assert _carried(rig.claim()) == ["a", "b", "c"]


def case_a_batch_goes_when_the_first_of_it_may(store: Store) -> None:
    rig = Rig(store)
    rig.room = 1
    rig.schedule("z", due=0, kind="mutation")
    _book(rig, "abc", due=1)
    rig.schedule("y", due=2, kind="mutation")
    rig.at(10)
    assert _carried(rig.claim()) == ["zy"]
    assert _carried(rig.claim()) == ["abc"]


def case_a_dispatch_carries_at_most_a_mebibyte(store: Store) -> None:
    rig = Rig(store)
    rig.room = 2
    for job_id, size in (("a", 400_000), ("b", 400_000), ("c", 400_000), ("d", 900_000)):
        rig.schedule(job_id, args='{"text":"' + "x" * size + '"}')
    assert _carried(rig.claim()) == ["ab", "c"]
    assert _carried(rig.claim()) == ["d"]


def case_a_row_of_an_older_release_travels_as_if_it_were_large(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a")
    rig.schedule("b", args='{"text":"' + "x" * 100_000 + '"}')
    store.execute("UPDATE jobs SET size = NULL, kind = NULL WHERE id = 'a'")
    rig.room = 1
    assert _carried(rig.claim()) == ["a"]


def case_a_job_of_an_unknown_outcome_travels_alone(store: Store) -> None:
    rig = _together(store)
    assert rig.begin("d1")
    rig.settle("d1", job="a")
    rig.complete("d1")
    assert (rig.job("b")["alone"], rig.job("c")["alone"]) == (1, 1)
    rig.at(10 * SECOND).room = 3
    _book(rig, "xyz")
    assert _carried(rig.claim()) == ["b", "c", "xyz"]


def case_a_job_on_its_last_attempt_travels_alone(store: Store) -> None:
    rig = _together(store, retry=RetryPolicy(max_attempts=2, base_ms=SECOND))
    assert rig.begin("d1")
    for job_id in "abc":
        rig.fail("d1", job=job_id)
    rig.at(1 * SECOND).room = 1
    assert _carried(rig.claim()) == ["abc"]
    assert rig.begin("d2")
    for job_id in "abc":
        rig.fail("d2", job=job_id, attempt=2)
    rig.at(10 * SECOND).room = 6
    rig.schedule("x")
    assert _carried(rig.claim()) == ["a", "b", "c", "x"]


def case_a_job_that_never_began_travels_alone_so_that_only_the_one_to_blame_is_suspected(store: Store) -> None:
    rig = _together(store)
    rig.sever("d1")
    assert [rig.job(job_id)["charged"] for job_id in "abc"] == [0, 0, 0]
    assert _carried(rig.claim()) == [""], "the breaker's probe"
    assert rig.begin("d2")
    rig.complete("d2")
    rig.at(1)
    assert _carried(rig.claim()) == ["a", "b", "c"]


def case_jobs_that_failed_together_travel_alone(store: Store) -> None:
    """A call to a shard that broke: it may be one of them that breaks it."""
    rig = _together(store)
    assert rig.begin("d1")
    results = [
        Result(job=job_id, attempt=1, outcome="failed", code="SHARD_UNAVAILABLE", message="", shared=job_id != "c")
        for job_id in "abc"
    ]
    rig.engine.settle("d1", results, START)
    rig.complete("d1")
    assert [rig.job(job_id)["alone"] for job_id in "abc"] == [1, 1, 0]
    rig.at(10 * SECOND).room = 3
    rig.schedule("x")
    assert _carried(rig.claim()) == ["a", "b", "cx"]
    assert rig.begin("d2")
    rig.settle("d2", job="a", attempt=2)
    assert rig.job("a")["alone"] == 0


def case_jobs_that_are_cut_off_again_travel_alone(store: Store) -> None:
    rig = _together(store, "ab")
    rig.resume()
    rig.at(1 * SECOND).room = 1
    assert _carried(rig.claim()) == ["ab"]
    rig.resume()
    rig.at(2 * SECOND).room = 6
    assert _carried(rig.claim()) == ["a", "b"]


# -- what becomes of each ------------------------------------------------------------------------------------


def case_each_attempt_of_a_dispatch_is_settled_by_itself(store: Store) -> None:
    rig = _together(store, "abcdef")
    assert rig.begin("d1")
    assert rig.cancel("e")
    results = [
        Result(job="a", attempt=1, outcome="ok"),
        Result(job="b", attempt=1, outcome="failed", code="BOOM", message="it broke"),
        Result(job="c", attempt=1, outcome="unavailable", code="FUNCTION_NOT_FOUND", message="gone"),
        Result(job="d", attempt=1, outcome="failed", code="FINAL", message="", retryable=False),
        Result(job="e", attempt=1, outcome="ok"),
        Result(job="f", attempt=2, outcome="ok"),
        Result(job="nobody", attempt=1, outcome="ok"),
    ]
    rig.engine.settle("d1", results, START)
    states = [rig.state(job_id) for job_id in "abcdef"]
    assert states == ["succeeded", "pending", "pending", "dead", "canceled", "running"]
    assert [rig.job(job_id)["charged"] for job_id in "abcdef"] == [1, 1, 0, 1, 1, 1]
    assert [len(rig.attempts(job_id)) for job_id in "abcdef"] == [0, 1, 0, 1, 0, 0]
    rig.complete("d1")
    assert (rig.state("f"), rig.job("f")["error_code"]) == ("pending", "OUTCOME_UNKNOWN")


def case_of_two_results_for_one_attempt_the_first_counts(store: Store) -> None:
    rig = _together(store)
    assert rig.begin("d1")
    results = [
        Result(job="a", attempt=1, outcome="failed", code="BOOM", message="it broke"),
        Result(job="a", attempt=1, outcome="ok"),
        Result(job="b", attempt=1, outcome="ok"),
        Result(job="b", attempt=1, outcome="failed", code="BOOM", message="it broke"),
    ]
    rig.engine.settle("d1", results, START)
    assert [rig.state(job_id) for job_id in "abc"] == ["pending", "succeeded", "running"]
    assert (len(rig.attempts("a")), len(rig.attempts("b"))) == (1, 0)


def case_one_heartbeat_renews_them_all(store: Store) -> None:
    rig = _together(store)
    assert rig.begin("d1")
    rig.at(50 * SECOND).renew("d1")
    rig.at(60 * SECOND)
    assert rig.rescue() == 0
    assert [rig.state(job_id) for job_id in "abc"] == ["running"] * 3
    rig.at(110 * SECOND)
    assert rig.rescue() == 1
    assert [rig.state(job_id) for job_id in "abc"] == ["pending"] * 3


def case_what_has_settled_is_not_touched_when_its_dispatch_breaks(store: Store) -> None:
    ends: dict[str, Callable[[Rig], object]] = {
        "it ends": lambda rig: rig.complete("d1"),
        "it breaks off": lambda rig: rig.sever("d1"),
        "the object restarts": lambda rig: rig.resume(),
        "nobody is heard of again": lambda _rig: None,
    }
    for name, end in ends.items():
        Rig(store)
        for table in ("jobs", "dispatches", "attempts"):
            store.execute(f"DELETE FROM {table}")
        rig = _together(store)
        assert rig.begin("d1")
        rig.settle("d1", job="b")
        end(rig)
        rig.at(60 * SECOND).rescue()
        assert [rig.state(job_id) for job_id in "abc"] == ["pending", "succeeded", "pending"], name
        assert [rig.job(job_id)["charged"] for job_id in "abc"] == [1, 1, 1], name
        assert rig.dispatches() == [], name


def case_all_of_a_dispatch_that_never_began_are_refunded(store: Store) -> None:
    ends: dict[str, Callable[[Rig], object]] = {
        "refused": lambda rig: rig.sever("d1"),
        "answered by a stranger": lambda rig: rig.complete("d1"),
        "the object restarts": lambda rig: rig.resume(),
        "its lease ends": lambda rig: rig.at(60 * SECOND).rescue(),
    }
    for name, end in ends.items():
        Rig(store)
        for table in ("jobs", "dispatches", "attempts", "origins"):
            store.execute(f"DELETE FROM {table}")
        rig = _together(store)
        assert rig.cancel("c")
        end(rig)
        assert [rig.state(job_id) for job_id in "abc"] == ["pending", "pending", "canceled"], name
        assert [rig.job(job_id)["charged"] for job_id in "abc"] == [0, 0, 0], name
        assert not any(rig.attempts(job_id) for job_id in "abc"), name


def case_late_successes_of_a_dispatch_settle_those_that_still_wait(store: Store) -> None:
    rig = _together(store)
    assert rig.begin("d1")
    rig.sever("d1")
    rig.at(35 * SECOND).rescue()
    assert rig.cancel("b")
    rig.at(45 * SECOND).room = 1
    assert _carried(rig.claim()) == ["a"]
    rig.engine.settle("d1", [Result(job=job_id, attempt=1, outcome="ok") for job_id in "abc"], START + rig.now)
    assert [rig.state(job_id) for job_id in "abc"] == ["running", "canceled", "succeeded"]


def case_caps_hold_across_batches(store: Store) -> None:
    rig = Rig(store)
    rig.room = 2
    rig.set_pool("imports", declared=8)
    _book(rig, "abcdefghijkl", pool="imports")
    assert _carried(rig.claim()) == ["abcd", "efgh"]
    assert rig.claim() == []
    assert rig.begin("d1")
    rig.engine.settle("d1", [Result(job=job_id, attempt=1, outcome="ok") for job_id in "abc"], START)
    assert _carried(rig.claim()) == ["ij", "k"]
    assert rig.running("imports") == set("defghijk")
