"""Workpools: their caps hold whatever happens, and nobody waits because of a pool that is full or paused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lunorash.scheduler import listing
from lunorash.scheduler.job import OutboxRow
from lunorash.scheduler.pool import AGEING_MS
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import DAY, SECOND, START, Rig, new_job, refused

# -- caps ----------------------------------------------------------------------------------------------------


def _pool(store: Store, cap: int, jobs: str = "") -> Rig:
    """A rig with a pool of a cap, and jobs in it, each named by a letter and due now."""
    rig = Rig(store)
    rig.pool = "imports"
    rig.set_pool("imports", declared=cap)
    for job_id in jobs:
        rig.schedule(job_id)
    return rig


def _claimed(rig: Rig) -> list[str]:
    """Claim what may start, and begin it; returns the jobs."""
    dispatches = rig.claim()
    assert all(rig.begin(dispatch.id) for dispatch in dispatches)
    return [attempt.job for dispatch in dispatches for attempt in dispatch.attempts]


def case_no_more_jobs_of_a_pool_run_than_its_cap(store: Store) -> None:
    rig = _pool(store, 2, "abcde")
    assert _claimed(rig) == ["a", "b"]
    assert _claimed(rig) == []
    rig.settle("d1", job="a")
    assert _claimed(rig) == ["c"]
    assert rig.running("imports") == {"b", "c"}


def case_what_waits_for_room_does_not_wake_and_starts_at_once_when_there_is_some(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    assert rig.alarm_set_by(lambda: _claimed(rig)) == 30_000  # as it is while anything runs
    assert rig.alarm_set_by(lambda: rig.at(5_000).schedule("c", due=6_000)) == 35_000
    assert rig.alarm_set_by(lambda: rig.settle("d1", job="a")) == 5_001
    assert _claimed(rig) == ["b"]


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
        rig = _pool(store, 1, "ab")
        assert _claimed(rig) == ["a"], name
        assert rig.alarm_set_by(lambda rig=rig, leaves=leaves: leaves(rig)) == rig.now + 1, name  # type: ignore[misc]
        assert _claimed(rig) == ["b"], name
        assert rig.running("imports") == {"b"}, name


def case_what_never_began_gives_its_slot_back(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    rig.claim_one()
    rig.resume()
    assert rig.running("imports") == set()
    assert _claimed(rig) == ["b"]  # the other one was cut off, and pauses for a second
    rig.settle("d2", job="b")
    rig.at(1_000).claim_one()
    rig.sever("d3")
    assert rig.running("imports") == set()
    assert rig.pools()[0]["ready_at"] == 1_000


def case_a_canceled_job_keeps_its_slot_until_its_attempt_is_settled(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    assert _claimed(rig) == ["a"]
    assert rig.cancel("a")
    assert _claimed(rig) == []
    rig.settle("d1", job="a")
    assert rig.state("a") == "canceled"
    assert _claimed(rig) == ["b"]


def case_a_canceled_job_keeps_its_slot_until_its_lease_ends(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    assert _claimed(rig) == ["a"]
    assert rig.cancel("a")
    rig.sever("d1")
    rig.at(34_999).rescue()
    assert _claimed(rig) == []
    rig.at(35_000).rescue()
    assert _claimed(rig) == ["b"]


def case_a_restart_of_the_object_frees_no_slot(store: Store) -> None:
    rig = _pool(store, 2, "abc")
    assert _claimed(rig) == ["a", "b"]
    rig.restart()
    rig.resume()
    assert _claimed(rig) == []
    rig.at(34_000).rescue()
    assert _claimed(rig) == []
    assert len(rig.at(35_000).run_pass()) == 1
    assert rig.running("imports") == {"c"}


def case_a_slot_that_points_to_nothing_ends_with_its_lease(store: Store) -> None:
    """A8: a completion that was lost does not lock a pool for good."""
    rig = _pool(store, 1, "ab")
    assert _claimed(rig) == ["a"]
    for restart in range(1, 4):
        rig.at(restart * SECOND).restart()
        rig.resume()
    assert [attempt.job for dispatch in rig.at(36_000).run_pass() for attempt in dispatch.attempts] == ["b"]


def case_a_retry_by_hand_waits_for_room(store: Store) -> None:
    rig = _pool(store, 1, "a")
    assert _claimed(rig) == ["a"]
    rig.fail("d1", job="a", retryable=False)
    rig.schedule("b")
    assert _claimed(rig) == ["b"]
    assert rig.redrive("a")
    assert _claimed(rig) == []
    assert rig.alarm_set_by(lambda: rig.settle("d2", job="b")) == 1
    assert _claimed(rig) == ["a"]


def case_a_job_that_waits_for_its_retry_takes_no_room(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    assert _claimed(rig) == ["a"]
    rig.fail("d1", job="a")
    assert _claimed(rig) == ["b"]
    assert rig.at(10_000).claim() == []  # its time has come, but now there is no room
    rig.settle("d2", job="b")
    assert _claimed(rig) == ["a"]


def case_a_late_success_leaves_nothing_to_wake_for(store: Store) -> None:
    rig = _pool(store, 1, "a")
    assert _claimed(rig) == ["a"]
    rig.at(60_000).rescue()
    assert rig.pools()[0]["ready_at"] == 70_000
    rig.at(61_000).settle("d1", job="a")
    assert rig.state("a") == "succeeded"
    assert rig.pools()[0]["ready_at"] is None


def case_no_room_for_dispatches_is_no_room_for_pools(store: Store) -> None:
    rig = _pool(store, 5, "abc")
    rig.room = 2
    assert len(rig.claim()) == 2
    rig.room = 0
    assert rig.claim() == []
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START)) == 30_000


# -- its neighbours ------------------------------------------------------------------------------------------


def case_a_full_pool_holds_nobody_else_back(store: Store) -> None:
    rig = _pool(store, 1, "abcdefghij")
    assert _claimed(rig) == ["a"]
    rig.schedule("elsewhere", pool="exports")
    rig.pool = None
    rig.schedule("alone")
    assert _claimed(rig) == ["alone", "elsewhere"]


def case_a_paused_pool_holds_nobody_back_and_does_not_wake(store: Store) -> None:
    rig = _pool(store, 1)
    rig.set_pool("imports", paused=True)
    assert rig.alarm_set_by(lambda: rig.schedule("a")) is None
    assert rig.alarm_set_by(lambda: rig.schedule("later", due=1_000)) is None
    assert _claimed(rig) == []
    rig.pool = None
    assert rig.alarm_set_by(lambda: rig.schedule("alone", due=500)) == 500
    assert rig.at(2_000).claim_one().attempts[0].job == "alone"


def case_whoever_has_waited_longest_goes_first_with_a_pool_or_without(store: Store) -> None:
    rig = Rig(store)
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
    assert _claimed(rig.at(10)) == ["a", "b", "c", "d"]
    assert _claimed(rig) == ["e", "f"]


def case_many_pools_that_are_ready_all_get_their_turn(store: Store) -> None:
    rig = Rig(store)
    for number in range(30):
        for job in range(2):
            rig.schedule(f"j{number:02}-{job}", due=number, pool=f"p{number:02}")
    rig.at(100).room = 6
    started: list[str] = []
    while jobs := _claimed(rig):
        started += jobs
    assert started == [f"j{number:02}-0" for number in range(30)]


# -- order ---------------------------------------------------------------------------------------------------


def case_a_pool_is_first_in_first_out_by_due_time_then_by_id(store: Store) -> None:
    rig = _pool(store, 1)
    for job_id, due in (("late", 30), ("b", 10), ("a", 10), ("first", 0), ("future", 31)):
        rig.schedule(job_id, due)
    order = []
    rig.at(30)
    while jobs := _claimed(rig):
        order += jobs
        rig.settle(f"d{len(order)}", job=jobs[0])
        rig.complete(f"d{len(order)}")
    assert order == ["first", "a", "b", "late"]
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + 30)) == 31


def case_a_priority_is_a_head_start_in_time(store: Store) -> None:
    """So the lowest one is late, but its turn comes however many others keep coming."""
    rig = _pool(store, 1)
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
    while jobs := _claimed(rig):
        order += jobs
        rig.settle(f"d{len(order)}", job=jobs[0])
    assert order == ["high", "passes", "old and low", "normal", "too late to pass", "highest", "low", "just behind"]


def case_a_high_priority_does_not_make_early(store: Store) -> None:
    rig = _pool(store, 1)
    rig.schedule("high", due=1_000, priority=10)
    rig.schedule("low", due=500, priority=-10)
    assert rig.alarm_calls[-1].at == 500
    assert rig.at(499).claim() == []
    assert _claimed(rig.at(500)) == ["low"]


def case_priorities_do_not_move_a_pool_before_others(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("alone", due=0)
    rig.schedule("urgent", due=5, pool="imports", priority=10)
    rig.schedule("older", due=3, pool="imports")
    rig.set_pool("imports", max_concurrency=2)
    assert _claimed(rig.at(5)) == ["alone", "urgent", "older"]


# -- caps that change ----------------------------------------------------------------------------------------


def case_a_lowered_cap_stops_nothing_and_starts_nothing_until_there_is_room(store: Store) -> None:
    rig = _pool(store, 3, "abcd")
    assert _claimed(rig) == ["a", "b", "c"]
    rig.set_pool("imports", max_concurrency=1)
    for number, job_id in enumerate("abc", start=1):
        assert _claimed(rig) == [], job_id
        rig.settle(f"d{number}", job=job_id)
    assert _claimed(rig) == ["d"]


def case_a_raised_cap_starts_more_at_once(store: Store) -> None:
    rig = _pool(store, 1, "abcd")
    assert _claimed(rig) == ["a"]
    assert rig.alarm_set_by(lambda: rig.at(1_000).set_pool("imports", max_concurrency=3)) == 1_001
    assert _claimed(rig) == ["b", "c"]


def case_a_pool_that_is_resumed_starts_at_once(store: Store) -> None:
    rig = _pool(store, 1, "a")
    rig.set_pool("imports", paused=True)
    assert _claimed(rig) == []
    assert rig.alarm_set_by(lambda: rig.at(1_000).set_pool("imports", paused=False)) == 1_001
    assert _claimed(rig) == ["a"]


def case_a_pause_stops_nothing_that_runs_and_outlasts_a_restart(store: Store) -> None:
    rig = _pool(store, 1, "ab")
    assert _claimed(rig) == ["a"]
    rig.set_pool("imports", paused=True)
    rig.settle("d1", job="a")
    rig.complete("d1")
    rig.restart()
    rig.resume()
    assert (rig.state("a"), rig.state("b")) == ("succeeded", "pending")
    assert _claimed(rig) == []
    assert rig.alarm_calls[-1].at == 7 * DAY, "the alarm stands for history only"


def case_a_cap_that_was_set_by_hand_holds_until_code_asks_for_another(store: Store) -> None:
    rig = Rig(store)

    def caps() -> tuple[int, int]:
        (pool,) = rig.pools()
        return pool["max_concurrency"], pool["declared"]

    rig.engine.enqueue("imports", 3, [replace(new_job("a", 0), pool="imports")], START)
    assert caps() == (3, 3)
    rig.set_pool("imports", max_concurrency=1)
    rig.engine.enqueue("imports", 3, [replace(new_job("b", 0), pool="imports")], START)
    assert caps() == (1, 3)
    rig.engine.enqueue("imports", 5, [replace(new_job("c", 0), pool="imports")], START)
    assert caps() == (5, 5)
    assert _claimed(rig) == ["a", "b", "c"]


def case_a_pool_that_nobody_gave_a_cap_runs_one_job_at_a_time(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a", pool="anything")
    rig.schedule("b", pool="anything")
    assert _claimed(rig) == ["a"]
    rig.set_pool("anything", declared=2)
    assert _claimed(rig) == ["b"]


def case_a_pool_that_is_not_there_cannot_be_changed(store: Store) -> None:
    rig = Rig(store)
    with refused(code="POOL_NOT_FOUND"):
        rig.set_pool("nobody", paused=True)
    assert rig.pools() == []


# -- the ways in ---------------------------------------------------------------------------------------------


def case_jobs_are_enqueued_all_or_none_and_the_cap_with_them(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("taken")
    jobs = [replace(new_job(name, 0), pool="imports") for name in ("fresh", "taken")]
    jobs[1] = replace(jobs[1], incarnation="another")
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.enqueue("imports", 3, jobs, START)
    assert rig.state("fresh") is None
    assert rig.pools() == []


def case_a_pool_that_was_undone_comes_to_be_with_the_next_job(store: Store) -> None:
    """What an operation that failed had changed is forgotten with it."""
    rig = Rig(store)
    with refused(TypeError):
        rig.engine.schedule(
            [replace(new_job("a", 0), pool="imports"), replace(new_job("b", 0), retry={"x": object()})], START
        )
    assert rig.pools() == []
    rig.schedule("a", pool="imports")
    assert _claimed(rig) == ["a"]


def case_a_mutation_puts_jobs_into_a_pool(store: Store) -> None:
    rig = Rig(store)
    rows = [
        OutboxRow(number=number, id=name, called=START, job=replace(new_job(name, 0), pool="imports"))
        for number, name in enumerate("abc", start=1)
    ]
    assert rig.engine.accept("shard", rows, START) == 3
    assert _claimed(rig) == ["a"]
    rig.engine.accept("shard", [OutboxRow(number=4, id="b", called=START)], START)
    rig.settle("d1", job="a")
    assert _claimed(rig) == ["c"]


def case_a_job_of_a_pool_that_was_canceled_before_it_came_leaves_nothing(store: Store) -> None:
    rig = Rig(store)
    assert not rig.at(10).cancel("a")
    row = OutboxRow(number=1, id="a", called=START, job=replace(new_job("a", 0), pool="imports"))
    rig.engine.accept("shard", [row], START + 10)
    assert rig.state("a") == "canceled"
    assert rig.pools()[0]["ready_at"] is None


def case_a_waiting_job_is_canceled_and_the_pool_waits_for_the_next(store: Store) -> None:
    rig = _pool(store, 1)
    rig.schedule("a", due=1_000)
    rig.schedule("b", due=2_000)
    assert rig.cancel("a")
    assert rig.pools()[0]["ready_at"] == 2_000
    assert rig.cancel("b")
    assert rig.pools()[0]["ready_at"] is None


def case_the_breaker_holds_pools_as_well(store: Store) -> None:
    rig = _pool(store, 2, "a")
    rig.claim_one()
    rig.sever("d1")
    probe = rig.claim_one()
    assert probe.attempts == ()
    assert rig.running("imports") == set()
    assert rig.begin(probe.id)
    rig.complete(probe.id)
    assert _claimed(rig) == ["a"]


# -- what is shown -------------------------------------------------------------------------------------------


def case_pools_are_shown_with_what_runs_and_waits(store: Store) -> None:
    rig = _pool(store, 2, "abc")
    rig.schedule("later", due=DAY)
    assert _claimed(rig) == ["a", "b"]
    rig.schedule("x", pool="exports")
    rig.set_pool("exports", paused=True)
    imports = {"name": "imports", "max_concurrency": 2, "paused": False, "in_flight": 2, "queued": 2}
    exports = {"name": "exports", "max_concurrency": 1, "paused": True, "in_flight": 0, "queued": 1}
    assert listing.pool(store, "imports") == imports
    assert listing.pool(store, "nobody") is None
    assert listing.pools(store) == {"pools": [exports, imports], "cursor": None}
    status = listing.status(store, rig.engine.breaker, "o", now=START, alarm=None)
    assert status["pools"] == [exports, imports]
    assert (status["backlog"], status["due"], status["in_flight"]) == (3, 2, 2)
    assert status["next_due"] == START


def case_pools_are_shown_page_by_page(store: Store) -> None:
    rig = Rig(store)
    names = [f"pool-{number:02}" for number in range(25)]
    for name in reversed(names):
        rig.set_pool(name, declared=1)
    found: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        page = listing.pools(store, cursor, 10)
        found += [pool["name"] for pool in page["pools"]]
        cursor = page["cursor"]
    assert found == names
    assert cursor is None
    assert len(listing.status(store, rig.engine.breaker, "o", now=START, alarm=None)["pools"]) == 25


def case_bad_questions_about_pools_are_refused(store: Store) -> None:
    Rig(store)
    for cursor, limit in (("", 1), ("-a", 1), ("a b", 1), (5, 1), (None, 0), (None, 101), (None, True), (None, "5")):
        with refused(code="INVALID_INPUT"):
            listing.pools(store, cursor, limit)  # type: ignore[arg-type]


def case_what_waits_is_listed_by_its_time_with_a_pool_or_without(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("b", due=20)
    rig.schedule("a", due=20, pool="imports", priority=5)
    rig.schedule("c", due=30, pool="exports")
    rig.schedule("first", due=10)
    found: list[str] = []
    cursor: str | None = None
    for _ in range(4):
        page = listing.page(store, ["pending"], cursor, 1)
        found += [job["id"] for job in page["jobs"]]
        cursor = page["cursor"]
    assert found == ["first", "a", "b", "c"]
    assert cursor is None
    (job,) = listing.page(store, ["pending"], None, 2)["jobs"][1:]
    assert (job["id"], job["pool"], job["priority"]) == ("a", "imports", 5)


def case_a_charged_refusal_leaves_the_pool_as_its_rows_say(store: Store) -> None:
    """A job that its origin refuses between two good probes is charged where it waits, in its pool."""
    rig = _pool(store, 1)
    rig.schedule("a", retry=RetryPolicy(max_attempts=1, base_ms=50_000))
    for _ in range(2):
        rig.at(rig.now + 100)
        dispatch = rig.claim_one()
        rig.sever(dispatch.id)
        rig.at(rig.now + 100)
        probe = rig.claim_one()
        assert probe.attempts == ()
        assert rig.begin(probe.id)
        rig.complete(probe.id)
    assert rig.at(rig.now + 100).claim() == []
    job = rig.job("a")
    assert (job["state"], job["charged"], job["due"]) == ("pending", 1, rig.now + 50_000)
    assert rig.pools()[0]["ready_at"] == job["due"]
