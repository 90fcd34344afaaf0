"""The origin's breaker: what never began is refunded, and while nobody answers nothing is charged."""

from __future__ import annotations

from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import DAY, MINUTE, ORIGIN, SECOND, START, Rig


def _lose(rig: Rig, *jobs: str) -> None:
    """Jobs whose dispatches never begin."""
    for job in jobs:
        rig.schedule(job)
    for dispatch in rig.claim():
        rig.sever(dispatch.id)


def _probe(rig: Rig) -> str:
    probe = rig.claim_one()
    assert probe.attempts == (), f"{probe} is not a probe"
    return probe.id


def _probe_succeeds(rig: Rig) -> None:
    probe = _probe(rig)
    assert rig.begin(probe)
    rig.complete(probe)


def case_an_origin_that_answers_leaves_no_row(store: Store) -> None:
    rig = Rig(store)
    rig.finish()
    rig.bury("b")
    assert rig.breakers() == []
    assert rig.engine.breaker.look(ORIGIN).probe_at is None


def case_a_refund_opens_the_breaker_and_a_probe_goes_at_once(store: Store) -> None:
    rig = Rig(store)
    rig.at(5_000)
    _lose(rig, "a", "b")
    assert rig.breakers() == [
        {
            "origin": ORIGIN,
            "since": 5_000,
            "probe_at": 5_000,
            "failures": 0,
            "reason": "connection refused",
            "proved_at": None,
            "failed_at": None,
        }
    ]
    assert [(rig.state(job), rig.job(job)["charged"]) for job in "ab"] == [("pending", 0), ("pending", 0)]
    _probe(rig)


def case_one_probe_is_under_way_at_a_time(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a", "b")
    _probe(rig)
    assert rig.claim() == []
    assert rig.at(59_999).claim() == []


def case_an_open_breaker_stays_as_it_is_when_more_is_lost(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a")
    rig.schedule("b")
    first, second = rig.claim()
    rig.at(1_000).sever(first.id)
    rig.at(2_000).sever(_probe(rig))
    before = rig.breakers()
    rig.at(2_500).sever(second.id)
    assert rig.breakers() == before
    assert (before[0]["since"], before[0]["failures"], before[0]["probe_at"]) == (1_000, 1, 3_000)
    assert (rig.state("b"), rig.job("b")["charged"]) == ("pending", 0)


def case_failed_probes_come_further_and_further_apart(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    waits = []
    for _ in range(9):
        probe = _probe(rig)
        rig.sever(probe)
        waits.append(rig.breakers()[0]["probe_at"] - rig.now)
        assert rig.at(rig.now + waits[-1] - 1).claim() == []
        rig.at(rig.now + 1)
    assert [wait // SECOND for wait in waits] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert rig.breakers()[0]["failures"] == 9
    assert rig.breakers()[0]["since"] == 0


def case_probes_have_a_jitter(store: Store) -> None:
    rig = Rig(store)
    rig.random = 0.5
    _lose(rig, "a")
    rig.sever(_probe(rig))
    assert rig.breakers()[0]["probe_at"] == 900


def case_a_probe_that_comes_back_closes_the_breaker(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a", "b")
    _probe_succeeds(rig.at(1_000))
    row = rig.breakers()[0]
    assert (row["since"], row["probe_at"], row["failures"], row["reason"]) == (None, None, 0, None)
    assert row["proved_at"] == 1_000
    assert [dispatch.attempts[0].job for dispatch in rig.claim()] == ["a", "b"]


def case_a_probe_answered_by_somebody_who_never_asked_proves_nothing(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    rig.complete(_probe(rig))
    assert rig.breakers()[0]["failures"] == 1
    assert rig.claim() == []


def case_a_probe_that_began_and_broke_off_failed(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    probe = _probe(rig)
    assert rig.begin(probe)
    rig.sever(probe)
    assert rig.claim() == []
    assert rig.at(35 * SECOND).rescue() == 1
    assert rig.breakers()[0]["failures"] == 1


def case_the_open_breaker_wakes_at_its_probe_and_not_before(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a", "b")
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START)) == 1
    probe = _probe(rig)
    assert rig.alarm_set_by(lambda: rig.at(500).sever(probe)) == 1_500


def case_without_jobs_an_open_breaker_does_not_wake(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    assert rig.alarm_set_by(lambda: rig.cancel("a")) == 7 * DAY
    assert rig.claim() == []


def case_an_origin_dead_for_a_day_charges_nothing_and_drains_when_it_returns(store: Store) -> None:
    rig = Rig(store)
    jobs = [f"j{number}" for number in range(5)]
    _lose(rig, *jobs)
    probes = 0
    while rig.now < DAY:
        rig.at(max(rig.now, rig.breakers()[0]["probe_at"]))
        rig.sever(_probe(rig))
        probes += 1
    assert 1_400 < probes < 1_500  # about one a minute
    assert [(rig.state(job), rig.job(job)["charged"]) for job in jobs] == [("pending", 0)] * 5
    assert rig.rows("SELECT * FROM attempts") == []
    _probe_succeeds(rig.at(rig.now + MINUTE))
    for dispatch in rig.claim():
        assert rig.begin(dispatch.id)
        rig.settle(dispatch.id, job=dispatch.attempts[0].job, attempt=dispatch.attempts[0].number)
        rig.complete(dispatch.id)
    assert {rig.state(job) for job in jobs} == {"succeeded"}


def case_a_job_whose_dispatch_never_begins_although_others_do_is_charged(store: Store) -> None:
    """The origin has answered a probe before and after a refusal: then it is the job, and it dies of its own poison."""
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=2, base_ms=SECOND))
    for charged in (1, 2, 3):
        for suspected in (0, 1):
            rig.at(max(rig.now + SECOND, rig.job()["due"]))
            rig.sever(rig.claim_one().id)
            assert (rig.job()["charged"], rig.job()["suspected"]) == (charged - 1, suspected)
            _probe_succeeds(rig.at(rig.now + SECOND))
        assert rig.at(rig.now + SECOND).claim() == []
        row = rig.job()
        assert (row["charged"], row["suspected"], row["error_code"]) == (charged, 0, "NEVER_BEGAN")
        assert row["alone"] == (1 if row["state"] == "pending" else 0)
    assert rig.state() == "dead"
    assert [row["code"] for row in rig.attempts()] == ["NEVER_BEGAN"] * 3


def case_an_outage_that_begins_between_a_probe_and_the_job_charges_nothing(store: Store) -> None:
    """Only the probe after a refusal tells the job's poison from an outage, and during an outage none comes back."""
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=1, base_ms=SECOND))
    rig.sever(rig.claim_one().id)
    _probe_succeeds(rig.at(SECOND))
    rig.sever(rig.at(2 * SECOND).claim_one().id)
    for _ in range(24 * 60):
        (dispatch,) = rig.at(rig.breakers()[0]["probe_at"]).claim()
        assert dispatch.attempts == ()
        rig.sever(dispatch.id)
    assert (rig.state(), rig.job()["charged"]) == ("pending", 0)


def case_a_dispatch_that_began_forgets_the_refund(store: Store) -> None:
    """A job is charged for not beginning only if it happens twice in a row."""
    rig = Rig(store)
    _lose(rig, "j")
    _probe_succeeds(rig.at(SECOND))
    dispatch = rig.claim_and_begin()
    rig.fail(dispatch, attempt=2)
    rig.complete(dispatch)
    rig.at(rig.job()["due"]).sever(rig.claim_one().id)
    assert rig.job()["charged"] == 1
    assert rig.job()["refunded_at"] == rig.now


def case_without_an_origin_nothing_is_claimed_or_charged_and_the_alarm_backs_off(store: Store) -> None:
    rig = Rig(store, origin=None)
    rig.schedule()
    for wait in (1, 2, 4, 8, 16, 32, 60, 60):
        assert rig.claim() == []
        rig.engine.rearm(START + rig.now)
        assert rig.breakers()[0]["probe_at"] == rig.now + wait * SECOND
        assert rig.breakers()[0]["reason"] == "LUNORA_ORIGIN_URL is not set"
        assert rig.alarm_set_by(lambda: rig.engine.rearm(START + rig.now)) == rig.now + wait * SECOND
        rig.at(rig.now + wait * SECOND)
    assert (rig.state(), rig.job()["attempt"], rig.job()["charged"]) == ("pending", 0, 0)
    rig.restart()  # deployed again, with an origin
    rig.resume()
    assert rig.breakers() == []
    assert rig.claim_one().attempts[0].number == 1


def case_a_new_origin_is_not_blamed_for_the_old_one(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    rig.restart(origin="https://new.example.com")
    rig.resume()
    assert rig.breakers() == []
    assert len(rig.claim_one().attempts) == 1


def case_a_restart_keeps_the_breaker_of_its_origin_open(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    rig.sever(_probe(rig))
    before = rig.breakers()
    rig.restart()
    rig.resume()
    assert rig.breakers() == before
    assert rig.claim() == []


def case_a_restart_during_a_probe_sends_another(store: Store) -> None:
    """That the scheduler restarted says nothing about the origin."""
    rig = Rig(store)
    _lose(rig, "a")
    _probe(rig)
    rig.restart()
    rig.at(SECOND).resume()
    assert rig.dispatches() == []
    assert (rig.breakers()[0]["failures"], rig.breakers()[0]["probe_at"]) == (0, SECOND)
    _probe(rig)


def case_a_restart_after_a_probe_began_waits_for_what_comes_of_it(store: Store) -> None:
    rig = Rig(store)
    _lose(rig, "a")
    probe = _probe(rig)
    assert rig.begin(probe)
    rig.restart()
    rig.at(SECOND).resume()
    assert rig.claim() == []
    assert rig.at(36 * SECOND).rescue() == 1
    assert rig.breakers()[0]["failures"] == 1


def case_a_restart_blames_no_origin_and_charges_no_job(store: Store) -> None:
    """It is tried again a second later, and has all its attempts."""
    rig = Rig(store)
    rig.schedule()
    for number in range(1, 6):
        assert rig.claim_one().attempts[0].number == number
        rig.restart()
        rig.resume()
        assert rig.breakers() == []
        assert rig.job()["due"] == rig.now + SECOND
        rig.at(rig.now + SECOND)
    assert (rig.state(), rig.job()["charged"], rig.attempts()) == ("pending", 0, [])
    dispatch = rig.claim_and_begin()
    rig.fail(dispatch, attempt=6)
    assert (rig.job()["charged"], rig.job()["cut_offs"]) == (1, 0)


def case_a_job_that_brings_the_scheduler_down_each_time_is_charged_and_dies(store: Store) -> None:
    """A7: nobody sees an exception, and it never begins; still it has an end."""
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=2, base_ms=SECOND))
    charges = []
    while rig.state() == "pending":
        rig.at(rig.job()["due"]).claim_one()
        rig.restart()
        rig.resume()
        charges.append(rig.job()["charged"])
        assert len(charges) < 100, "it goes on for ever"
    assert charges == [0, 0, 0, 0, 0, 1, 2, 3]
    assert rig.state() == "dead"
    assert [row["code"] for row in rig.attempts()] == ["NEVER_BEGAN"] * 3
    assert rig.breakers() == []


def case_a_lease_that_ends_before_the_dispatch_began_blames_nobody(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.claim_one()
    assert rig.at(60 * SECOND).rescue() == 1
    assert rig.breakers() == []
    assert (rig.state(), rig.job()["charged"], rig.job()["refunded_at"]) == ("pending", 0, None)
    assert len(rig.at(61 * SECOND).claim_one().attempts) == 1


def case_an_outage_that_ends_charges_nothing_either(store: Store) -> None:
    """The first probe after the refusal failed, so it was the outage, however many come back later."""
    rig = Rig(store)
    rig.schedule(retry=RetryPolicy(max_attempts=1, base_ms=SECOND))
    rig.sever(rig.claim_one().id)
    _probe_succeeds(rig.at(SECOND))
    rig.sever(rig.at(2 * SECOND).claim_one().id)
    rig.sever(rig.at(3 * SECOND).claim_one().id)
    _probe_succeeds(rig.at(rig.breakers()[0]["probe_at"]))
    dispatch = rig.at(rig.now + SECOND).claim_one()
    assert [attempt.charged for attempt in dispatch.attempts] == [1]
    assert rig.state() == "running"
