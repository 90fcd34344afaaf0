"""The engine's operations, one promise at a time."""

from __future__ import annotations

from dataclasses import replace

from lunorash.scheduler.job import Result
from lunorash.scheduler.retry import DEFAULT_RETRY, RetryPolicy
from lunorash.scheduler.store import Store

from .rig import DAY, MINUTE, ONE_BY_ONE, SECOND, START, Rig, new_job, refused

# -- schedule ------------------------------------------------------------------------------------------------


def case_ids_come_back_in_the_order_they_were_given(store: Store) -> None:
    rig = Rig(store)
    jobs = [new_job(name, 0) for name in ("b", "c", "a")]
    assert rig.engine.schedule(jobs, START) == ["b", "c", "a"]
    assert [row["id"] for row in rig.rows("SELECT id FROM jobs ORDER BY id")] == ["a", "b", "c"]


def case_jobs_are_scheduled_all_or_none(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("taken")
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule([new_job("fresh", 0), new_job("taken", 0, incarnation="another")], START)
    assert rig.state("fresh") is None


def case_one_call_cannot_give_two_jobs_one_id(store: Store) -> None:
    rig = Rig(store)
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule([new_job("j", 0, incarnation="one"), new_job("j", 0, incarnation="two")], START)
    assert rig.state() is None


def case_a_taken_id_is_refused_with_a_way_out(store: Store) -> None:
    """R4: the id of a dead letter stays taken, and the error names the dead letter."""
    rig = Rig(store)
    rig.finish("finished")
    rig.bury("buried")
    rig.start("runs")
    rig.schedule("waits", due=DAY)
    rig.schedule("stopped", due=DAY)
    assert rig.cancel("stopped")
    for job_id, words in {
        "waits": ("pending", "cancel it"),
        "runs": ("running", "wait for it"),
        "buried": ("dead", "dead letter"),
        "finished": ("succeeded", "history"),
        "stopped": ("canceled", "history"),
    }.items():
        before = rig.job(job_id)
        with refused(code="DUPLICATE_SCHEDULE_ID") as raised:
            rig.schedule(job_id, incarnation="another")
        assert all(word in str(raised[0]) for word in (job_id, *words)), raised
        assert rig.job(job_id) == before


def case_a_repeated_call_is_recognised_even_after_a_retry_by_hand(store: Store) -> None:
    rig = Rig(store)
    rig.bury()
    assert rig.redrive()
    before = rig.job()
    assert rig.schedule(due=5 * DAY) == ["j"]
    assert rig.job() == before


def case_two_hundred_cold_starts_register_one_job(store: Store) -> None:
    """A6: one row, one run."""
    rig = Rig(store)
    for _ in range(200):
        rig.restart()
        rig.resume()
        rig.schedule("tick", due=MINUTE)
    assert rig.rows("SELECT count(*) AS n FROM jobs") == [{"n": 1}]
    assert len(rig.at(MINUTE).claim()) == 1
    assert rig.claim() == []


def case_what_was_asked_for_is_stored_and_travels(store: Store) -> None:
    rig = Rig(store)
    args = '{"name":"Zoë 🎉","n":12345678901234567890,"x":1.0}'
    rig.at(5).schedule("own-id", due=-5_000, args=args, retry=RetryPolicy(max_attempts=7))
    attempt = rig.claim_one().attempts[0]
    assert (attempt.job, attempt.incarnation, attempt.args) == ("own-id", "own-id-call", args)
    assert (attempt.number, attempt.charged, attempt.max_attempts, attempt.redrives) == (1, 1, 7, 0)
    assert attempt.scheduled_for == START - 5_000
    assert rig.job("own-id")["created"] == 5


# -- claim ---------------------------------------------------------------------------------------------------


def case_what_is_due_first_is_claimed_first_then_by_id(store: Store) -> None:
    rig = Rig(store)
    for job_id, due in (("late", 30), ("b", 10), ("a", 10), ("first", 0), ("future", 31)):
        rig.schedule(job_id, due)
    dispatches = rig.at(30).claim()
    assert [dispatch.attempts[0].job for dispatch in dispatches] == ["first", "a", "b", "late"]
    assert [len(dispatch.attempts) for dispatch in dispatches] == [1, 1, 1, 1]


def case_no_more_is_claimed_than_there_is_room_for(store: Store) -> None:
    rig = Rig(store, sizes=ONE_BY_ONE)
    for number in range(5):
        rig.schedule(f"j{number}")
    rig.room = 0
    assert rig.claim() == []
    rig.room = 2
    assert [dispatch.attempts[0].job for dispatch in rig.claim()] == ["j0", "j1"]
    assert rig.state("j2") == "pending"


def case_at_most_a_hundred_dispatches_are_open(store: Store) -> None:
    rig = Rig(store, sizes=ONE_BY_ONE)
    rig.room = 1_000
    rig.engine.schedule([new_job(f"j{number:03}", 0) for number in range(103)], START)
    assert len(rig.claim()) == 100
    assert rig.claim() == []
    assert rig.begin("d1")
    rig.complete("d1")
    assert len(rig.claim()) == 1


def case_an_attempt_is_counted_before_it_is_sent(store: Store) -> None:
    """A7: a job that kills the isolate each time, so that nobody ever says how it ended, is dead in the end."""
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=2, base_ms=SECOND))
    for attempt in (1, 2, 3):
        rig.at(rig.now + 10 * SECOND).claim_and_begin()
        assert rig.job()["charged"] == attempt
        rig.restart()  # everything in memory is gone
        rig.resume()
        assert rig.at(rig.now + 34_999).rescue() == 0
        assert rig.at(rig.now + 1).rescue() == 1
        assert rig.claim() == []  # a clean pass in between, which resets nothing
    assert rig.state() == "dead"
    assert [row["code"] for row in rig.attempts()] == ["OUTCOME_UNKNOWN"] * 3


# -- retries -------------------------------------------------------------------------------------------------


def _waits(rig: Rig, policy: RetryPolicy) -> list[int]:
    """Let every attempt of a job fail; returns how long it waited before each retry."""
    rig.schedule(retry=policy)
    waits: list[int] = []
    while rig.state() == "pending":
        rig.at(rig.job()["due"])
        dispatch = rig.claim_and_begin()
        rig.fail(dispatch, attempt=rig.job()["attempt"])
        rig.complete(dispatch)
        if rig.state() == "pending":
            waits.append(rig.job()["due"] - rig.now)
    assert rig.state() == "dead"
    return waits


def case_five_retries_are_six_attempts_by_default(store: Store) -> None:
    rig = Rig(store)
    assert [wait // SECOND for wait in _waits(rig, DEFAULT_RETRY)] == [30, 60, 120, 240, 480]
    assert [row["number"] for row in rig.attempts()] == [1, 2, 3, 4, 5, 6]


def case_three_retries_are_four_attempts_and_then_the_id_is_taken(store: Store) -> None:
    """R4"""
    rig = Rig(store)
    assert _waits(rig, RetryPolicy(max_attempts=3, base_ms=1_000, backoff="linear")) == [1_000, 2_000, 3_000]
    assert len(rig.attempts()) == 4
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.schedule(incarnation="again")


def case_an_attempt_that_was_made_elsewhere_is_one_of_them(store: Store) -> None:
    """A cron's tick that failed: five retries are six attempts in all, and a redrive has six again."""
    rig = Rig(store)
    policy = RetryPolicy(max_attempts=5, base_ms=1_000)
    rig.schedule(retry=policy, due=1_000, charged=1)
    assert [wait // SECOND for wait in _waits(rig, policy)] == [2, 4, 8, 16]
    assert [row["number"] for row in rig.attempts()] == [2, 3, 4, 5, 6]
    assert (rig.job()["attempt"], rig.job()["charged"]) == (6, 6)
    assert rig.redrive()
    assert len(_waits(rig, policy)) == 5
    assert (rig.job()["attempt"], rig.job()["charged"]) == (12, 6)


def case_a_job_that_is_taken_over_still_says_when_it_was_to_run(store: Store) -> None:
    rig = Rig(store)
    rig.at(5_000).engine.schedule([replace(new_job("j", 9_000), scheduled_for=START + 42)], START + 5_000)
    assert (rig.job()["due"], rig.job()["scheduled_for"]) == (9_000, 42)
    (attempt,) = rig.at(9_000).claim_one().attempts
    assert attempt.scheduled_for == START + 42


def case_a_job_that_is_taken_over_twice_is_recognised(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=1_000, charged=1)
    rig.at(1_000).claim_and_begin()
    before = rig.job()
    rig.schedule(due=9_000, charged=1)
    assert rig.job() == before


def case_the_shortest_policy_makes_no_burst(store: Store) -> None:
    """R1, R3: even the least base leaves a moment between two attempts."""
    waits = _waits(Rig(store), RetryPolicy(max_attempts=5, base_ms=1, max_ms=1, jitter=1.0))
    assert waits == [1, 1, 1, 1, 1]


def case_a_wait_is_cut_at_the_cap_and_shortened_by_the_jitter(store: Store) -> None:
    rig = Rig(store)
    rig.random = 0.5
    policy = RetryPolicy(max_attempts=4, base_ms=1_000, max_ms=3_000, jitter=0.2)
    assert _waits(rig, policy) == [900, 1_800, 2_700, 2_700]


def case_numbers_of_attempts_are_never_used_again(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.sever(rig.claim_one().id)  # refunded
    rig.complete(_prove_origin(rig))
    dispatch = rig.claim_and_begin()
    assert (rig.job()["attempt"], rig.job()["charged"]) == (2, 1)
    rig.fail(dispatch, attempt=2, retryable=False)
    rig.complete(dispatch)
    assert rig.redrive()
    attempt = rig.claim_one().attempts[0]
    assert (attempt.number, attempt.charged, attempt.redrives) == (3, 1, 1)


def _prove_origin(rig: Rig) -> str:
    probe = rig.claim_one()
    assert probe.attempts == ()
    assert rig.begin(probe.id)
    return probe.id


# -- incarnations --------------------------------------------------------------------------------------------


def case_every_retry_by_hand_is_a_new_incarnation_with_all_attempts(store: Store) -> None:
    rig = Rig(store)
    seen = []
    rig.schedule()
    for redrives in range(3):
        dispatch = rig.claim_one()
        attempt = dispatch.attempts[0]
        seen.append(attempt.incarnation)
        assert (attempt.redrives, attempt.charged, attempt.number) == (redrives, 1, redrives + 1)
        assert rig.begin(dispatch.id)
        rig.fail(dispatch.id, attempt=attempt.number, retryable=False)
        rig.complete(dispatch.id)
        assert rig.redrive()
    assert len(set(seen)) == 3
    assert [row["incarnation"] for row in rig.attempts()] == seen


def case_a_result_of_an_earlier_incarnation_changes_nothing(store: Store) -> None:
    rig = Rig(store)
    policy = RetryPolicy(max_attempts=1, base_ms=1)
    rig.schedule(retry=policy)
    for _ in range(2):
        last = rig.at(rig.now + SECOND).claim_and_begin()
        rig.complete(last)
    assert rig.state() == "dead"
    assert rig.redrive()
    before = rig.job()
    rig.settle(last, attempt=2)
    assert rig.job() == before


# -- late results --------------------------------------------------------------------------------------------


def case_a_late_success_counts_until_a_newer_attempt_is_claimed(store: Store) -> None:
    rig = Rig(store)
    first = rig.start()
    assert rig.at(60 * SECOND).rescue() == 1
    rig.at(70 * SECOND).claim_and_begin()
    before = rig.job()
    rig.settle(first, attempt=1)
    assert rig.job() == before
    rig.settle("d2", attempt=2)
    assert rig.state() == "succeeded"


def case_a_late_success_brings_a_dead_letter_to_rest(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=1, base_ms=1))
    for _ in range(2):
        last = rig.at(rig.now + SECOND).claim_and_begin()
        rig.at(rig.now + 60 * SECOND).rescue()
    assert rig.state() == "dead"
    rig.at(rig.now + SECOND).settle(last, attempt=2)
    assert rig.state() == "succeeded"
    assert rig.job()["ended"] == rig.now
    assert not rig.redrive()


def case_a_second_result_of_one_attempt_changes_nothing(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start()
    rig.settle(dispatch)
    before = rig.job()
    rig.at(5).fail(dispatch)
    rig.settle(dispatch)
    rig.complete(dispatch)
    assert rig.job() == before


def case_results_come_together_and_strangers_among_them_are_passed_over(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start()
    results = [Result(job=job, attempt=1, outcome="ok") for job in ("nobody", "j", "j")]
    rig.engine.settle(dispatch, results, START)
    assert rig.state() == "succeeded"
    rig.engine.settle(dispatch, [], START)
    rig.engine.settle("no-such-dispatch", results, START)


# -- begin, leases -------------------------------------------------------------------------------------------


def case_a_dispatch_begins_once(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    dispatch = rig.claim_one().id
    assert rig.begin(dispatch) is True
    assert rig.begin(dispatch) is False
    rig.restart()
    rig.resume()
    assert rig.begin(dispatch) is False
    assert rig.begin("never-existed") is False


def case_a_dispatch_that_was_refunded_never_begins(store: Store) -> None:
    """What comes late, after the scheduler gave it up, is refused: the job is on its way again."""
    rig = Rig(store)
    rig.schedule()
    dispatch = rig.claim_one().id
    rig.at(15 * SECOND).sever(dispatch)
    assert rig.begin(dispatch) is False


def case_heartbeats_keep_a_dispatch_and_silence_ends_it(store: Store) -> None:
    """A8: a running entry that points to nothing expires, is charged, and is seen."""
    rig = Rig(store)
    dispatch = rig.start()
    for _ in range(100):
        rig.at(rig.now + 5 * SECOND).renew(dispatch)
        assert rig.rescue() == 0
    assert rig.at(rig.now + 59_999).rescue() == 0
    assert rig.at(rig.now + 1).rescue() == 1
    assert rig.dispatches() == []
    assert (rig.state(), rig.job()["charged"], rig.job()["alone"]) == ("pending", 1, 1)
    assert rig.job()["error_message"] == "the receiver was not heard of again"


def case_a_severed_dispatch_is_never_given_more_time(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start()
    rig.at(50 * SECOND).sever(dispatch)
    assert rig.dispatches()[0]["lease"] == 60 * SECOND


# -- cancel --------------------------------------------------------------------------------------------------


def case_what_was_canceled_before_its_claim_never_runs(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    assert rig.cancel()
    assert rig.at(DAY).claim() == []
    assert not rig.cancel()
    assert not rig.cancel("nobody")


def case_what_was_canceled_while_it_ran_is_not_tried_again(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start()
    assert rig.cancel()
    rig.fail(dispatch)
    rig.complete(dispatch)
    assert rig.state() == "canceled"
    assert rig.at(DAY).claim() == []
    assert rig.schedule() == ["j"]
    assert rig.claim() == []
