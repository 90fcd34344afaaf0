"""Workpools: their caps hold whatever happens, and nobody waits because of a pool that is full or paused."""

from __future__ import annotations

from collections.abc import Callable

from lunorash.scheduler.pool import AGEING_MS
from lunorash.scheduler.store import Store

from .rig import DAY, ONE_BY_ONE, SECOND, START, Rig, pooled

# -- caps ----------------------------------------------------------------------------------------------------


def case_no_more_jobs_of_a_pool_run_than_its_cap(store: Store) -> None:
    rig = pooled(store, 2, "abcde")
    assert rig.claimed() == ["a", "b"]
    assert rig.claimed() == []
    rig.settle("d1", job="a")
    assert rig.claimed() == ["c"]
    assert rig.running("imports") == {"b", "c"}


def case_what_waits_for_room_does_not_wake_and_starts_at_once_when_there_is_some(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    assert rig.alarm_set_by(rig.claimed) == 30_000  # as it is while anything runs
    assert rig.alarm_set_by(lambda: rig.at(5_000).schedule("c", due=6_000)) == 35_000
    assert rig.alarm_set_by(lambda: rig.settle("d1", job="a")) == 5_001
    assert rig.claimed() == ["b"]


def case_every_way_out_of_a_slot_frees_it(store: Store) -> None:
    ways: dict[str, Callable[[Rig], object]] = {
        "it succeeds": lambda rig: rig.settle("d1", job="a"),
        "it fails and is tried again": lambda rig: rig.fail("d1", job="a"),
        "it fails for good": lambda rig: rig.fail("d1", job="a", retryable=False),
        "its function is unknown": lambda rig: rig.settle("d1", "unavailable", job="a"),
        "its receiver ends without a word": lambda rig: rig.complete("d1"),
        "its lease ends": lambda rig: rig.at(60_000).rescue(),
    }
    Rig(store)
    for name, leaves in ways.items():
        for table in ("jobs", "pools", "dispatches", "attempts"):
            store.execute(f"DELETE FROM {table}")
        rig = pooled(store, 1, "ab")
        assert rig.claimed() == ["a"], name
        assert rig.alarm_set_by(lambda rig=rig, leaves=leaves: leaves(rig)) == rig.now + 1, name  # type: ignore[misc]
        assert rig.claimed() == ["b"], name
        assert rig.running("imports") == {"b"}, name


def case_what_never_began_gives_its_slot_back(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    rig.claim_one()
    rig.resume()
    assert rig.running("imports") == set()
    assert rig.claimed() == ["b"]  # the other one was cut off, and pauses for a second
    rig.settle("d2", job="b")
    rig.at(1_000).claim_one()
    rig.sever("d3")
    assert rig.running("imports") == set()
    assert rig.pools()[0]["ready_at"] == 1_000


def case_a_canceled_job_keeps_its_slot_until_its_attempt_is_settled(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    assert rig.claimed() == ["a"]
    assert rig.cancel("a")
    assert rig.claimed() == []
    rig.settle("d1", job="a")
    assert rig.state("a") == "canceled"
    assert rig.claimed() == ["b"]


def case_a_canceled_job_keeps_its_slot_until_its_lease_ends(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    assert rig.claimed() == ["a"]
    assert rig.cancel("a")
    rig.sever("d1")
    rig.at(34_999).rescue()
    assert rig.claimed() == []
    rig.at(35_000).rescue()
    assert rig.claimed() == ["b"]


def case_a_restart_of_the_object_frees_no_slot(store: Store) -> None:
    rig = pooled(store, 2, "abc")
    assert rig.claimed() == ["a", "b"]
    rig.restart()
    rig.resume()
    assert rig.claimed() == []
    rig.at(34_000).rescue()
    assert rig.claimed() == []
    assert len(rig.at(35_000).run_pass()) == 1
    assert rig.running("imports") == {"c"}


def case_a_slot_that_points_to_nothing_ends_with_its_lease(store: Store) -> None:
    """A8: a completion that was lost does not lock a pool for good."""
    rig = pooled(store, 1, "ab")
    assert rig.claimed() == ["a"]
    for restart in range(1, 4):
        rig.at(restart * SECOND).restart()
        rig.resume()
    assert [attempt.job for dispatch in rig.at(36_000).run_pass() for attempt in dispatch.attempts] == ["b"]


def case_a_retry_by_hand_waits_for_room(store: Store) -> None:
    rig = pooled(store, 1, "a")
    assert rig.claimed() == ["a"]
    rig.fail("d1", job="a", retryable=False)
    rig.schedule("b")
    assert rig.claimed() == ["b"]
    assert rig.redrive("a")
    assert rig.claimed() == []
    assert rig.alarm_set_by(lambda: rig.settle("d2", job="b")) == 1
    assert rig.claimed() == ["a"]


def case_a_job_that_waits_for_its_retry_takes_no_room(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    assert rig.claimed() == ["a"]
    rig.fail("d1", job="a")
    assert rig.claimed() == ["b"]
    assert rig.at(10_000).claim() == []  # its time has come, but now there is no room
    rig.settle("d2", job="b")
    assert rig.claimed() == ["a"]


def case_a_late_success_leaves_nothing_to_wake_for(store: Store) -> None:
    rig = pooled(store, 1, "a")
    assert rig.claimed() == ["a"]
    rig.at(60_000).rescue()
    assert rig.pools()[0]["ready_at"] == 70_000
    rig.at(61_000).settle("d1", job="a")
    assert rig.state("a") == "succeeded"
    assert rig.pools()[0]["ready_at"] is None


def case_no_room_for_dispatches_is_no_room_for_pools(store: Store) -> None:
    rig = pooled(store, 5, "abc")
    rig.room = 2
    assert len(rig.claim()) == 2
    rig.room = 0
    assert rig.claim() == []
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START)) == 30_000


# -- its neighbours ------------------------------------------------------------------------------------------


def case_a_full_pool_holds_nobody_else_back(store: Store) -> None:
    rig = pooled(store, 1, "abcdefghij")
    assert rig.claimed() == ["a"]
    rig.schedule("elsewhere", pool="exports")
    rig.pool = None
    rig.schedule("alone")
    assert rig.claimed() == ["alone", "elsewhere"]


def case_a_paused_pool_holds_nobody_back_and_does_not_wake(store: Store) -> None:
    rig = pooled(store, 1)
    rig.set_pool("imports", paused=True)
    assert rig.alarm_set_by(lambda: rig.schedule("a")) is None
    assert rig.alarm_set_by(lambda: rig.schedule("later", due=1_000)) is None
    assert rig.claimed() == []
    rig.pool = None
    assert rig.alarm_set_by(lambda: rig.schedule("alone", due=500)) == 500
    assert rig.at(2_000).claim_one().attempts[0].job == "alone"


def case_whoever_has_waited_longest_goes_first_with_a_pool_or_without(store: Store) -> None:
    rig = Rig(store, sizes=ONE_BY_ONE)
    for job_id, due, pool in (
        ("c", 2, "imports"),
        ("e", 4, "imports"),
        ("b", 1, None),
        ("d", 3, "exports"),
        ("a", 0, "exports"),
        ("f", 5, None),
    ):
        rig.schedule(job_id, due, pool=pool)
    for pool in ("imports", "exports"):
        rig.set_pool(pool, max_concurrency=5)
    rig.room = 4
    assert rig.at(10).claimed() == ["a", "b", "c", "d"]
    assert rig.claimed() == ["e", "f"]


def case_many_pools_that_are_ready_all_get_their_turn(store: Store) -> None:
    rig = Rig(store)
    for number in range(30):
        for job in range(2):
            rig.schedule(f"j{number:02}-{job}", due=number, pool=f"p{number:02}")
    rig.at(100).room = 6
    started: list[str] = []
    while jobs := rig.claimed():
        started += jobs
    assert started == [f"j{number:02}-0" for number in range(30)]


# -- order ---------------------------------------------------------------------------------------------------


def case_a_pool_is_first_in_first_out_by_due_time_then_by_id(store: Store) -> None:
    rig = pooled(store, 1)
    for job_id, due in (("late", 30), ("b", 10), ("a", 10), ("first", 0), ("future", 31)):
        rig.schedule(job_id, due)
    order = []
    rig.at(30)
    while jobs := rig.claimed():
        order += jobs
        rig.settle(f"d{len(order)}", job=jobs[0])
        rig.complete(f"d{len(order)}")
    assert order == ["first", "a", "b", "late"]
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + 30)) == 31


def case_a_priority_is_a_head_start_in_time(store: Store) -> None:
    """So the lowest one is late, but its turn comes however many others keep coming."""
    rig = pooled(store, 1)
    rig.schedule("low", due=0, priority=-10)
    rig.schedule("just behind", due=20 * AGEING_MS + 1, priority=10)
    for job_id, due, priority in (
        ("normal", 0, 0),
        ("high", 5, 1),
        ("too late to pass", AGEING_MS + 1, 1),
        ("passes", AGEING_MS - 1, 1),
        ("highest", 15 * AGEING_MS, 10),
        ("old and low", -AGEING_MS, -1),
    ):
        rig.schedule(job_id, due, priority=priority)
    order = []
    rig.at(DAY)
    while jobs := rig.claimed():
        order += jobs
        rig.settle(f"d{len(order)}", job=jobs[0])
    assert order == ["high", "passes", "old and low", "normal", "too late to pass", "highest", "low", "just behind"]


def case_a_high_priority_does_not_make_early(store: Store) -> None:
    rig = pooled(store, 1)
    rig.schedule("high", due=1_000, priority=10)
    rig.schedule("low", due=500, priority=-10)
    assert rig.alarm_calls[-1].at == 500
    assert rig.at(499).claim() == []
    assert rig.at(500).claimed() == ["low"]


def case_priorities_do_not_move_a_pool_before_others(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("alone", due=0)
    rig.schedule("urgent", due=5, pool="imports", priority=10)
    rig.schedule("older", due=3, pool="imports")
    rig.set_pool("imports", max_concurrency=2)
    assert rig.at(5).claimed() == ["alone", "urgent", "older"]
