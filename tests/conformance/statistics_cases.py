"""What is counted: by pool since ever, by the minute for a day, at two rows for whatever a second brings."""

from __future__ import annotations

from typing import Any

from lunorash.scheduler.statistics import MAX_POOLS, OTHER_POOLS
from lunorash.scheduler.store import Store

from .rig import DAY, MINUTE, SECOND, START, Rig, new_job, refused


def _counts(rig: Rig, pool: str = "") -> dict[str, int]:
    counts: dict[str, int] = rig.statistics.totals(START + rig.now)[pool]["counts"]
    return counts


def _busy(rig: Rig, minutes: int = 60) -> list[dict[str, Any]]:
    """The minutes in which something happened; their starts relative to `START`."""
    answer = rig.statistics.minutes(minutes, START + rig.now)
    assert len(answer["minutes"]) == minutes
    assert [minute["minute"] for minute in answer["minutes"]][-1] == START + rig.now - rig.now % MINUTE
    return [
        {**minute, "minute": minute["minute"] - START}
        for minute in answer["minutes"]
        if minute["scheduled"] or minute["started"]
    ]


def case_every_transition_is_counted_once(store: Store) -> None:
    rig = Rig(store)
    rig.finish("good")
    rig.bury("bad")
    rig.redrive("bad")
    dispatch = rig.claim_and_begin()
    rig.fail(dispatch, job="bad", attempt=2)
    rig.cancel("bad")
    rig.schedule("refused")
    rig.sever(rig.claim_one().id)
    assert _counts(rig) == {
        "scheduled": 3,
        "started": 4,
        "succeeded": 1,
        "failed": 2,
        "retries": 1,
        "refunds": 1,
        "dead": 1,
        "canceled": 1,
        "redriven": 1,
    }


def case_pools_are_counted_apart(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("a", pool="imports")
    rig.schedule("b")
    assert (_counts(rig, "imports"), _counts(rig)) == ({"scheduled": 1}, {"scheduled": 1})


def case_there_is_an_end_to_the_pools_that_are_counted_apart(store: Store) -> None:
    rig = Rig(store)
    for number in range(MAX_POOLS + 5):
        rig.schedule(f"j{number}", pool=f"p{number:02}")
        rig.statistics.flush(START)
    totals = rig.statistics.totals(START)
    assert len(totals) == MAX_POOLS + 1
    assert totals[OTHER_POOLS]["counts"] == {"scheduled": 5}
    rig.schedule("again", pool="p00")
    assert _counts(rig, "p00") == {"scheduled": 2}


def case_lateness_and_duration_are_told_by_the_minute(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    dispatch = rig.at(200).claim_and_begin()
    rig.at(MINUTE + 3 * SECOND).settle(dispatch)
    rig.schedule("k")
    first, second = _busy(rig)
    assert (first["minute"], first["scheduled"], first["started"], first["succeeded"]) == (0, 1, 1, 0)
    assert first["lateness"] == {"p50": 150, "p99": 199, "max": 200}
    assert first["duration"] == {"p50": None, "p99": None, "max": None}
    assert (second["minute"], second["scheduled"], second["succeeded"]) == (MINUTE, 1, 1)
    assert second["duration"]["max"] == MINUTE + 3 * SECOND - 200


def case_what_was_counted_outlives_the_object(store: Store) -> None:
    rig = Rig(store)
    rig.finish()
    rig.statistics.flush(START)
    rig.schedule("lost", due=MINUTE)
    rig.restart()
    assert _counts(rig) == {"scheduled": 1, "started": 1, "succeeded": 1}
    rig.finish("k")
    assert _counts(rig) == {"scheduled": 2, "started": 2, "succeeded": 2}


def case_what_is_told_has_been_written(store: Store) -> None:
    """A total that went back would look like a start from zero, and all of it like news."""
    rig = Rig(store)
    rig.finish()
    told = _counts(rig)
    rig.restart()
    assert _counts(rig) == told


def case_minutes_go_after_a_day_and_totals_stay(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("old")
    rig.statistics.flush(START)
    rig.at(DAY - 1).schedule("newer")
    assert len(_busy(rig, 24 * 60)) == 2
    rig.at(DAY + 2 * MINUTE).schedule("newest")
    assert [minute["minute"] for minute in _busy(rig, 24 * 60)] == [DAY - MINUTE, DAY + 2 * MINUTE]
    rows = rig.rows("SELECT minute FROM statistics ORDER BY minute")
    assert [row["minute"] for row in rows] == [0, START + DAY - MINUTE, START + DAY + 2 * MINUTE]
    assert _counts(rig) == {"scheduled": 3}


def case_whatever_a_second_brings_costs_two_rows(store: Store) -> None:
    rig = Rig(store)
    before = store.run("INSERT OR REPLACE INTO statistics VALUES (1, '{}')").rows_written
    assert before == 1
    rig.engine.schedule([new_job(f"j{number:02}", 0) for number in range(50)], START)
    rig.statistics.flush(START)
    assert len(rig.rows("SELECT minute FROM statistics WHERE minute <> 1")) == 2
    rig.statistics.flush(START)  # nothing is left to be written
    assert _counts(rig) == {"scheduled": 50}


def case_a_flush_that_fails_loses_nothing_and_counts_nothing_twice(store: Store) -> None:
    rig = Rig(store)
    rig.finish()
    store.execute("ALTER TABLE statistics RENAME TO elsewhere")
    with refused():
        rig.statistics.flush(START)
    store.execute("ALTER TABLE elsewhere RENAME TO statistics")
    assert _counts(rig) == {"scheduled": 1, "started": 1, "succeeded": 1}
    assert _busy(rig)[0]["scheduled"] == 1


def case_a_number_of_minutes_that_cannot_be_is_refused(store: Store) -> None:
    rig = Rig(store)
    for minutes in (0, -1, 1441, True, "60", 1.5, None):
        with refused(code="INVALID_INPUT"):
            rig.statistics.minutes(minutes, START)  # type: ignore[arg-type]
