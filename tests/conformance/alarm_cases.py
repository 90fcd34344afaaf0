"""Where the alarm stands: after every operation, at the earliest reason to wake."""

from __future__ import annotations

from dataclasses import replace

from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Store

from .rig import DAY, ONE_BY_ONE, SECOND, START, AlarmCall, Rig, new_job, refused


def case_a_future_job_is_waited_for(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=5_000)
    assert rig.alarm_calls == [AlarmCall(at=5_000)]


def case_an_overdue_job_wakes_at_once_but_never_in_the_present(store: Store) -> None:
    """A1: an alarm set to now inside alarm() is lost."""
    rig = Rig(store)
    rig.at(9_000).schedule(due=5_000)
    assert rig.alarm_calls == [AlarmCall(at=9_001)]


def case_an_earlier_job_moves_the_alarm_and_a_later_one_does_not(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a", due=100_000)
    rig.schedule("b", due=200_000)
    rig.schedule("c", due=20_000)
    assert rig.alarm_calls == [AlarmCall(at=100_000), AlarmCall(at=20_000)]


def case_an_alarm_a_little_early_is_left(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a", due=100_000)
    rig.schedule("b", due=130_000)
    assert rig.cancel("a")
    assert rig.alarm_calls == [AlarmCall(at=100_000)]
    rig.schedule("c", due=130_001)
    assert rig.cancel("b")
    assert rig.alarm_calls == [AlarmCall(at=100_000), AlarmCall(at=130_001)]


def case_the_alarm_is_kept_for_as_long_as_anything_is_stored(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=DAY)
    assert rig.alarm_set_by(rig.cancel) == 7 * DAY
    assert rig.alarm_set_by(rig.at(7 * DAY).prune) is None


def case_history_wakes_after_a_week_and_dead_letters_after_ninety_days(store: Store) -> None:
    rig = Rig(store)
    rig.at(1_000).bury("dead")
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + 1_000)) == 1_000 + 90 * DAY
    rig.at(2_000).finish("done")
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + 2_000)) == 2_000 + 7 * DAY


def case_while_attempts_run_the_alarm_is_at_most_thirty_seconds_ahead(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    assert rig.alarm_set_by(rig.claim) == 30_000
    assert rig.alarm_set_by(lambda: rig.at(10_000).begin("d1")) == 40_000
    assert rig.alarm_set_by(lambda: rig.at(50_000).sever("d1")) == 70_000
    assert rig.alarm_set_by(lambda: rig.at(55_000).renew("d1")) == 85_000


def case_heartbeats_do_not_move_an_alarm_that_is_soon_enough(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.alarm.fired()
    rig.alarm_calls.clear()
    dispatch = rig.claim_and_begin()
    for beat in range(1, 6):
        rig.at(beat * 5 * SECOND).renew(dispatch)
    assert rig.alarm_calls == [AlarmCall(at=30_000)]


def case_without_room_what_is_due_does_not_wake(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a")
    rig.claim_one()
    rig.room = 0
    assert rig.alarm_set_by(lambda: rig.at(1_000).schedule("b")) == 31_000
    rig.room = 1
    assert rig.alarm_set_by(lambda: rig.engine.rearm(START + 1_000)) == 1_001


def case_a_retry_and_a_retry_by_hand_are_waited_for(store: Store) -> None:
    rig = Rig(store)
    policy = RetryPolicy(max_attempts=1, base_ms=20_000)
    dispatch = rig.start(retry=policy)
    rig.fail(dispatch)
    assert rig.alarm_set_by(lambda: rig.complete(dispatch)) == 20_000
    rig.at(20_000)
    dispatch = rig.claim_and_begin()
    rig.fail(dispatch, attempt=2)
    assert rig.alarm_set_by(lambda: rig.complete(dispatch)) == 20_000 + 90 * DAY
    assert rig.alarm_set_by(rig.at(30_000).redrive) == 30_001
    assert rig.alarm_set_by(rig.cancel) == 30_000 + 7 * DAY


def case_dropping_the_last_dead_letter_takes_the_alarm_away(store: Store) -> None:
    rig = Rig(store)
    rig.bury()
    assert rig.alarm_set_by(rig.drop_dead) is None


def case_what_is_refused_arms_nothing(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=50_000)
    rig.alarm_calls.clear()
    with refused(code="DUPLICATE_SCHEDULE_ID"):
        rig.engine.schedule([new_job("sooner", 10), new_job("j", 0, incarnation="another")], START)
    assert rig.alarm_calls == []
    assert rig.alarm.armed is None  # whether the old one still stands is not known for certain ...
    rig.schedule("later", due=60_000)
    assert rig.alarm_calls == [AlarmCall(at=50_000)]  # ... so the next change sets it again


def case_what_fails_inside_is_undone_and_arms_nothing(store: Store) -> None:
    """The rows and the alarm are of one transaction: neither comes without the other."""
    rig = Rig(store)
    with refused(TypeError):
        rig.engine.schedule([new_job("a", 0), replace(new_job("b", 0), retry={"max_attempts": object()})], START)
    assert rig.state("a") is None
    assert rig.alarm_calls == []


def case_a_failing_alarm_undoes_the_change(store: Store) -> None:
    rig = Rig(store)

    def broken(_at: int) -> None:
        raise OSError("storage is gone")

    rig.alarm._set = broken
    with refused(OSError):
        rig.schedule()
    assert rig.state() is None


def case_every_job_of_a_chain_runs(store: Store) -> None:
    """A1: each run schedules the next one due at once; the alarm is always set ahead, and none is forgotten."""
    rig = Rig(store)
    rig.room = 1
    ran: list[str] = []
    rig.schedule("job-0")
    for _ in range(50):
        fires = rig.alarm_calls[-1].at
        assert fires is not None
        assert fires > rig.now
        rig.at(fires).alarm.fired()
        for dispatch in rig.claim():
            job = dispatch.attempts[0].job
            ran.append(job)
            assert rig.begin(dispatch.id)
            rig.schedule(f"job-{len(ran)}")
            rig.settle(dispatch.id, job=job)
            rig.complete(dispatch.id)
    assert ran == [f"job-{number}" for number in range(50)]
    assert rig.now == 50  # one pass after the other, a millisecond apart


def case_an_object_that_starts_arms_whatever_was_armed_before(store: Store) -> None:
    """A2, A5: overdue rows, and an alarm that is nowhere to be seen."""
    rig = Rig(store)
    rig.schedule(due=1_000)
    rig.restart()
    rig.alarm_calls.clear()
    rig.at(DAY).resume()
    assert rig.alarm_calls == [AlarmCall(at=DAY + 1)]
    assert len(rig.claim()) == 1
    assert rig.claim() == []


def case_a_call_that_landed_before_still_arms(store: Store) -> None:
    """A5: restart, then the same schedule once more."""
    rig = Rig(store)
    rig.schedule(due=DAY)
    rig.restart()
    rig.alarm_calls.clear()
    assert rig.schedule(due=DAY) == ["j"]
    assert rig.alarm_calls == [AlarmCall(at=DAY)]


def case_a_lost_alarm_is_set_again_by_any_change(store: Store) -> None:
    """A4: what the platform still answers for the old alarm is not trusted."""
    rig = Rig(store)
    rig.schedule("overdue", due=1_000)
    assert not rig.alarm.lost(START + 2_000)
    assert rig.alarm.lost(START + 60_000)
    assert rig.at(60_000).schedule("newer", due=DAY) == ["newer"]
    assert rig.alarm_calls[-1] == AlarmCall(at=60_001)


def case_an_alarm_that_went_off_is_armed_again_by_the_next_change(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=1_000)
    rig.at(1_000).alarm.fired()
    rig.engine.rearm(START + 1_000)
    assert rig.alarm_calls == [AlarmCall(at=1_000), AlarmCall(at=1_001)]


def case_a_pass_rescues_prunes_and_claims_and_arms_once(store: Store) -> None:
    rig = Rig(store)
    rig.finish("old")
    rig.at(7 * DAY - 60 * SECOND).start("lost")
    rig.at(7 * DAY).schedule("due")
    rig.alarm_calls.clear()
    dispatches = rig.run_pass()
    assert (rig.state("old"), rig.state("lost")) == (None, "pending")
    assert [attempt.job for dispatch in dispatches for attempt in dispatch.attempts] == ["due"]
    assert rig.alarm_calls == [AlarmCall(at=7 * DAY + 10 * SECOND)]  # the lost one is due again


def case_a_pass_with_nothing_to_do_changes_nothing(store: Store) -> None:
    rig = Rig(store)
    rig.schedule(due=DAY)
    before = rig.job()
    rig.alarm_calls.clear()
    assert rig.at(1_000).run_pass() == []
    assert rig.job() == before
    assert rig.alarm_calls == [AlarmCall(at=DAY)]


def case_a_pass_that_fails_is_undone_altogether(store: Store) -> None:
    rig = Rig(store)
    rig.start("lost")
    rig.at(60 * SECOND).schedule("due")
    store.execute("UPDATE jobs SET retry = 'damaged' WHERE id = 'due'")
    with refused():
        rig.run_pass()
    assert (rig.state("lost"), rig.state("due")) == ("running", "pending")
    assert rig.alarm.armed is None
    store.execute("UPDATE jobs SET retry = '{\"max_attempts\": 1}' WHERE id = 'due'")
    assert len(rig.run_pass()) == 1, "it goes on as if nothing had been"
    assert (rig.state("lost"), rig.state("due")) == ("pending", "running")


def case_a_pass_claims_no_more_than_there_is_room_for(store: Store) -> None:
    rig = Rig(store, sizes=ONE_BY_ONE)
    rig.room = 2
    for job_id in "abc":
        rig.schedule(job_id)
    assert len(rig.run_pass()) == 2
    assert rig.alarm_calls[-1] == AlarmCall(at=30_000), "without room, what is due does not wake"
    rig.room = 0
    assert rig.run_pass() == []
    rig.room = 1
    assert len(rig.run_pass()) == 1


def case_an_empty_object_has_no_alarm(store: Store) -> None:
    rig = Rig(store)
    rig.resume()
    assert rig.alarm_calls == [AlarmCall(at=None)]
    rig.engine.rearm(START)
    assert rig.alarm_calls == [AlarmCall(at=None)]
