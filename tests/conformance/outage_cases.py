"""After an outage: what has become overdue starts as fast as there is room, and pools keep their caps."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lunorash.scheduler.job import Dispatch, NewJob, Result
from lunorash.scheduler.store import Store

from .rig import MINUTE, START, Rig, new_job

_CAPS: Final = {"narrow": 1, "wide": 5}
_HOUR: Final = 60 * MINUTE


def _backlog() -> list[NewJob]:
    """Jobs that fell due one after the other: 120 without a pool, and 40 of each of two pools."""
    jobs = [new_job(f"j{number:03}", number) for number in range(120)]
    for pool in _CAPS:
        jobs += [replace(new_job(f"{pool}-{number:03}", number * 3), pool=pool) for number in range(40)]
    return jobs


def _overslept(store: Store) -> Rig:
    """A rig with that backlog, an hour later."""
    rig = Rig(store)
    for pool, cap in _CAPS.items():
        rig.set_pool(pool, declared=cap)
    assert not any(rig.engine.schedule_many(_backlog(), START))
    return rig.at(_HOUR)


def _succeed(rig: Rig, dispatch: Dispatch) -> list[str]:
    """A dispatch ends well; returns its jobs."""
    results = [Result(job=attempt.job, attempt=attempt.number, outcome="ok") for attempt in dispatch.attempts]
    rig.engine.settle(dispatch.id, results, START + rig.now)
    rig.complete(dispatch.id)
    return [result.job for result in results]


def _startable(rig: Rig) -> int:
    """How many jobs may start by the rules, whatever the engine makes of them."""
    alone = _count(rig, "state = 'pending' AND pool IS NULL")
    of_pools = 0
    for pool, cap in _CAPS.items():
        waiting = _count(rig, f"state = 'pending' AND pool = '{pool}'")
        of_pools += min(waiting, cap - len(rig.running(pool)))
    return alone + of_pools


def _count(rig: Rig, condition: str) -> int:
    return int(rig.store.execute(f"SELECT count(*) AS n FROM jobs WHERE {condition}")[0]["n"])


def _drain(rig: Rig) -> int:
    """Run all that is overdue; the clock stands still, so nothing can be waited for. Returns how many jobs ran."""
    done: list[str] = []
    under_way: list[Dispatch] = []
    while True:
        started = rig.claim()
        assert all(rig.begin(dispatch.id) for dispatch in started)
        under_way += started
        rig.room = 6 - len(under_way)
        for pool, cap in _CAPS.items():
            assert len(rig.running(pool)) <= cap, pool
        assert rig.room == 0 or _startable(rig) == 0, "there is room, and something that could start did not"
        if not under_way:
            return len(done)
        done += _succeed(rig, under_way.pop(0))
        rig.room += 1
        if _startable(rig):
            rig.alarm.forget()
            rig.engine.rearm(START + rig.now)
            assert rig.alarm_calls[-1].at == rig.now + 1, "the alarm stands for what can start now"


def case_what_became_overdue_drains_at_full_speed_within_the_caps(store: Store) -> None:
    rig = _overslept(store)
    rig.restart()
    rig.resume()
    assert rig.alarm_calls[-1].at == rig.now + 1
    assert _drain(rig) == 200
    assert rig.state("narrow-039") == "succeeded"


def case_what_an_unreachable_origin_held_back_drains_as_fast(store: Store) -> None:
    rig = _overslept(store)
    for dispatch in rig.claim():
        rig.sever(dispatch.id)
    (probe,) = rig.claim()
    assert probe.attempts == ()
    assert rig.claim() == [], "one probe at a time, and no job"
    assert rig.begin(probe.id)
    rig.complete(probe.id)
    assert rig.alarm_calls[-1].at == rig.now + 1
    assert _drain(rig) == 200
    assert rig.store.execute("SELECT max(charged) AS most FROM jobs") == [{"most": 1}], "an outage costs no attempts"
