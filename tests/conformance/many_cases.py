"""Many jobs that come in one call: each is stored or refused by itself, in one transaction."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from lunorash.scheduler.job import NewJob
from lunorash.scheduler.store import Store

from .rig import START, Rig, new_job, refused

_TEXTS: Final = ("é ✓ 🎉", '"\\\\"', "\x00\x1f\u2028", "'; DROP TABLE jobs; --", "$[0]", "", "x" * 100_000)


def _said(rig: Rig, jobs: list[NewJob]) -> list[str | None]:
    """The code of each refusal, None for what was stored."""
    refusals = rig.engine.schedule_many(jobs, START + rig.now)
    return [None if refusal is None else refusal.code for refusal in refusals]


def case_many_jobs_are_stored_as_one_is(store: Store) -> None:
    rig = Rig(store)
    jobs = [
        new_job("plain", 5),
        replace(new_job("odd", 999_999_999_999_999 - START, charged=3), shard_key="tenant ✓", scheduled_for=START + 1),
        replace(new_job("pooled", 0, args='{"n":1.0,"big":1180591620717411303424}'), pool="imports", priority=-10),
        *(new_job(f"t{number}", 0, args=json.dumps({"text": text})) for number, text in enumerate(_TEXTS)),
        *(new_job(f"u{n}", 0, args=json.dumps({text: 1}, ensure_ascii=False)) for n, text in enumerate(_TEXTS)),
    ]
    assert _said(rig, jobs) == [None] * len(jobs)
    for job in jobs:
        row = rig.job(job.id)
        assert rig.engine.schedule([replace(job, id=f"{job.id}-one")], START) == [f"{job.id}-one"]
        assert {**rig.job(f"{job.id}-one"), "id": job.id} == row
        assert row["args"] == job.args
    assert rig.alarm_calls[-1].at == 1


def case_those_that_can_be_are_stored_whatever_is_wrong_with_others(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("waits", due=9)
    rig.bury("died")
    jobs = [
        new_job("a", 0),
        new_job("waits", 0, incarnation="another"),
        new_job("b", 0),
        new_job("a", 0, incarnation="twice in one call"),
        new_job("died", 0, incarnation="another"),
    ]
    duplicate = "DUPLICATE_SCHEDULE_ID"
    assert _said(rig, jobs) == [None, duplicate, None, duplicate, duplicate]
    assert (rig.state("a"), rig.state("b"), rig.job("waits")["due"]) == ("pending", "pending", 9)
    assert rig.job("a")["incarnation"] == "a-call"


def case_a_refusal_among_many_says_what_one_would(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("j")
    other = new_job("j", 0, incarnation="another")
    with refused(code="DUPLICATE_SCHEDULE_ID") as raised:
        rig.engine.schedule([other], START)
    (_, refusal) = rig.engine.schedule_many([new_job("k", 0), other], START)
    assert str(refusal) == str(raised[0])


def case_many_jobs_that_come_again_are_recognised(store: Store) -> None:
    rig = Rig(store)
    jobs = [new_job(name, 0) for name in "abc"]
    assert _said(rig, jobs) == [None] * 3
    dispatches = rig.claim()
    assert dispatches
    before = rig.rows("SELECT * FROM jobs ORDER BY id")
    assert _said(rig, [*jobs, new_job("d", 0)]) == [None] * 4
    assert rig.rows("SELECT * FROM jobs WHERE id <> 'd' ORDER BY id") == before
    assert rig.state("d") == "pending"


def case_many_jobs_bring_their_pools(store: Store) -> None:
    rig = Rig(store)
    jobs = [replace(new_job(name, due), pool=pool) for name, due, pool in (("a", 5, "x"), ("b", 3, "x"), ("c", 4, "y"))]
    assert _said(rig, jobs) == [None] * 3
    assert [(pool["name"], pool["ready_at"]) for pool in rig.pools()] == [("x", 3), ("y", 4)]
    assert rig.alarm_calls[-1].at == 3
    assert _said(rig, [replace(new_job("a", 0, incarnation="another"), pool="z"), new_job("d", 0)])[0] is not None
    assert len(rig.pools()) == 2, "a job that was refused makes no pool"


def case_many_jobs_one_of_which_was_canceled_by_a_clock_that_is_ahead(store: Store) -> None:
    rig = Rig(store)
    assert not rig.at(1_000).cancel("b")
    rig.now = 0
    assert _said(rig, [new_job(name, 0) for name in "abc"]) == [None] * 3
    assert [rig.state(name) for name in "abc"] == ["pending", "canceled", "pending"]


def case_more_than_one_statement_can_carry_is_carried_by_several(store: Store) -> None:
    rig = Rig(store)
    # at its worst: every byte of these needs another one when the text is put into a text
    largest = json.dumps({"a": '"' * 499_990})
    sizes = ['{"a":"' + "é" * 120_000 + '"}'] * 5 + [largest, "{}", largest]
    jobs = [new_job(f"j{number}", number, args=args) for number, args in enumerate(sizes)]
    assert _said(rig, jobs) == [None] * len(jobs)
    assert [rig.job(job.id)["args"] for job in jobs] == sizes
    assert _said(rig, [replace(job, incarnation="another") for job in jobs]) == ["DUPLICATE_SCHEDULE_ID"] * len(jobs)


def case_texts_that_take_more_room_as_json_fit_and_stay_whole(store: Store) -> None:
    """SQLite ends a text of JSON's at a null character: a job would have run on another tenant's shard."""
    rig = Rig(store)
    keys = ["tenant\x00a", "tenant\x00b", "\x01" * 256, "🎉" * 256, "plain"] * 200
    jobs = [replace(new_job(f"j{number}", 0), shard_key=key) for number, key in enumerate(keys)]
    assert _said(rig, jobs) == [None] * 1_000
    stored = {row["id"]: row["shard_key"] for row in store.execute("SELECT id, shard_key FROM jobs")}
    assert stored == {job.id: job.shard_key for job in jobs}


def case_a_thousand_jobs_are_few_statements(store: Store) -> None:
    statements: list[str] = []

    class Counting:
        transaction = staticmethod(store.transaction)
        run = staticmethod(store.run)

        def execute(self, sql: str, /, *params: object) -> list[dict[str, object]]:
            statements.append(sql)
            return store.execute(sql, *params)  # type: ignore[arg-type]

    rig = Rig(Counting())
    statements.clear()
    jobs = [replace(new_job(f"j{number}", 0), pool="imports") for number in range(1_000)]
    assert _said(rig, jobs) == [None] * 1_000
    assert len(statements) < 30
    statements.clear()
    assert _said(rig, jobs) == [None] * 1_000
    assert len(statements) < 30
    assert store.execute("SELECT count(*) AS n FROM jobs") == [{"n": 1_000}]


def case_none_at_all_is_fine(store: Store) -> None:
    rig = Rig(store)
    assert rig.engine.schedule_many([], START) == []
    assert rig.engine.schedule([], START) == []
