"""Jobs that have come to rest: how long they are kept, and what goes with them."""

from __future__ import annotations

from lunorash.scheduler.store import Store

from .rig import DAY, SECOND, START, Rig, new_job


def case_a_pass_prunes_a_hundred_jobs_and_the_next_one_goes_on(store: Store) -> None:
    rig = Rig(store)
    rig.engine.schedule([new_job(f"j{number:03}", DAY) for number in range(103)], START)
    for number in range(103):
        assert rig.cancel(f"j{number:03}")
    assert rig.at(7 * DAY).prune() == 100
    assert rig.prune() == 3
    assert rig.prune() == 0


def case_history_goes_with_its_job(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.start("fails-first")
    rig.fail(dispatch, job="fails-first")
    rig.complete(dispatch)
    rig.at(10 * SECOND)
    dispatch = rig.claim_and_begin()
    rig.settle(dispatch, job="fails-first", attempt=2)
    rig.complete(dispatch)
    rig.bury("dead")
    assert rig.at(8 * DAY).prune() == 1
    assert rig.attempts("fails-first") == []
    assert len(rig.attempts("dead")) == 1
    assert rig.drop_dead("dead")
    assert rig.rows("SELECT * FROM attempts") == []


def case_what_waits_or_runs_is_never_pruned(store: Store) -> None:
    rig = Rig(store)
    rig.start("runs")
    rig.schedule("waits", due=1_000 * DAY)
    assert rig.at(500 * DAY).prune() == 0
    assert (rig.state("runs"), rig.state("waits")) == ("running", "pending")


def case_a_pruned_id_may_be_used_again(store: Store) -> None:
    rig = Rig(store)
    rig.finish()
    rig.at(7 * DAY).prune()
    assert rig.schedule(incarnation="another") == ["j"]
    assert rig.state() == "pending"
