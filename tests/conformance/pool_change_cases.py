"""Workpools: how they are changed while they run, how jobs come into them, what is shown of them."""

from __future__ import annotations

from dataclasses import replace

from lunorash.scheduler import listing
from lunorash.scheduler.job import OutboxRow
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import DAY, START, Rig, new_job, pooled, refused

# -- caps that change ----------------------------------------------------------------------------------------


def case_a_lowered_cap_stops_nothing_and_starts_nothing_until_there_is_room(store: Store) -> None:
    rig = pooled(store, 3, "abcd")
    assert rig.claimed() == ["a", "b", "c"]
    rig.set_pool("imports", max_concurrency=1)
    for number, job_id in enumerate("abc", start=1):
        assert rig.claimed() == [], job_id
        rig.settle(f"d{number}", job=job_id)
    assert rig.claimed() == ["d"]


def case_a_raised_cap_starts_more_at_once(store: Store) -> None:
    rig = pooled(store, 1, "abcd")
    assert rig.claimed() == ["a"]
    assert rig.alarm_set_by(lambda: rig.at(1_000).set_pool("imports", max_concurrency=3)) == 1_001
    assert rig.claimed() == ["b", "c"]


def case_a_pool_that_is_resumed_starts_at_once(store: Store) -> None:
    rig = pooled(store, 1, "a")
    rig.set_pool("imports", paused=True)
    assert rig.claimed() == []
    assert rig.alarm_set_by(lambda: rig.at(1_000).set_pool("imports", paused=False)) == 1_001
    assert rig.claimed() == ["a"]


def case_a_pause_stops_nothing_that_runs_and_outlasts_a_restart(store: Store) -> None:
    rig = pooled(store, 1, "ab")
    assert rig.claimed() == ["a"]
    rig.set_pool("imports", paused=True)
    rig.settle("d1", job="a")
    rig.complete("d1")
    rig.restart()
    rig.resume()
    assert (rig.state("a"), rig.state("b")) == ("succeeded", "pending")
    assert rig.claimed() == []
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
    assert rig.claimed() == ["a", "b", "c"]


def case_a_pool_that_nobody_gave_a_cap_runs_one_job_at_a_time(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a", pool="anything")
    rig.schedule("b", pool="anything")
    assert rig.claimed() == ["a"]
    rig.set_pool("anything", declared=2)
    assert rig.claimed() == ["b"]


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
    rig.schedule("taken")
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule(
            [replace(new_job("a", 0), pool="imports"), new_job("taken", 0, incarnation="another")], START
        )
    assert rig.pools() == []
    assert rig.cancel("taken")
    rig.schedule("a", pool="imports")
    assert rig.claimed() == ["a"]


def case_a_mutation_puts_jobs_into_a_pool(store: Store) -> None:
    rig = Rig(store)
    rows = [
        OutboxRow(number=number, id=name, called=START, job=replace(new_job(name, 0), pool="imports"))
        for number, name in enumerate("abc", start=1)
    ]
    assert rig.engine.accept("shard", rows, START) == 3
    assert rig.claimed() == ["a"]
    rig.engine.accept("shard", [OutboxRow(number=4, id="b", called=START)], START)
    rig.settle("d1", job="a")
    assert rig.claimed() == ["c"]


def case_a_job_of_a_pool_that_was_canceled_before_it_came_leaves_nothing(store: Store) -> None:
    rig = Rig(store)
    assert not rig.at(10).cancel("a")
    row = OutboxRow(number=1, id="a", called=START, job=replace(new_job("a", 0), pool="imports"))
    rig.engine.accept("shard", [row], START + 10)
    assert rig.state("a") == "canceled"
    assert rig.pools()[0]["ready_at"] is None


def case_a_waiting_job_is_canceled_and_the_pool_waits_for_the_next(store: Store) -> None:
    rig = pooled(store, 1)
    rig.schedule("a", due=1_000)
    rig.schedule("b", due=2_000)
    assert rig.cancel("a")
    assert rig.pools()[0]["ready_at"] == 2_000
    assert rig.cancel("b")
    assert rig.pools()[0]["ready_at"] is None


def case_the_breaker_holds_pools_as_well(store: Store) -> None:
    rig = pooled(store, 2, "a")
    rig.claim_one()
    rig.sever("d1")
    probe = rig.claim_one()
    assert probe.attempts == ()
    assert rig.running("imports") == set()
    assert rig.begin(probe.id)
    rig.complete(probe.id)
    assert rig.claimed() == ["a"]


# -- what is shown -------------------------------------------------------------------------------------------


def case_pools_are_shown_with_what_runs_and_waits(store: Store) -> None:
    rig = pooled(store, 2, "abc")
    rig.schedule("later", due=DAY)
    assert rig.claimed() == ["a", "b"]
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
    rig = pooled(store, 1)
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
