"""Jobs found by what they are: in one line by their instants, page by page, counted, and dead letters in groups."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from lunorash.scheduler import finding
from lunorash.scheduler.finding import MAX_COUNTED, MAX_GROUPS, MAX_LOOKED_AT
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.store import Store

from .rig import START, Rig, new_job, pooled, refused

ALL: Final = JobFilter()
ORDERS: Final = ("newest", "soonest")


def _pages(store: Store, wanted: JobFilter = ALL, order: Any = "newest", limit: int = 100) -> list[list[str]]:
    """The ids on all pages."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = finding.jobs(store, wanted, order, cursor, limit)
        pages.append([job["id"] for job in page["jobs"]])
        assert page["scanned"] <= MAX_LOOKED_AT
        cursor = page["cursor"]
        if cursor is None:
            return pages
        assert len(pages) < 1_000, "it does not end"


def _ids(store: Store, wanted: JobFilter = ALL, order: Any = "newest", limit: int = 100) -> str:
    return " ".join(job_id for page in _pages(store, wanted, order, limit) for job_id in page)


def _one_of_each(store: Store) -> Rig:
    """Jobs named by their instants, in ms: of every state, in pools and without."""
    rig = Rig(store)
    rig.finish("a-1")
    for second, job_id in ((2, "b-2"), (4, "d-4")):
        rig.at(second * 1_000).bury(job_id)
    rig.at(3_000).schedule("c-3", due=9_000)
    rig.cancel("c-3")
    rig.at(5_000).start("e-5")
    rig.schedule("f-6", due=6_000)
    rig.schedule("g-7", due=7_000, pool="imports")
    rig.schedule("h-7", due=7_000)
    store.execute("UPDATE jobs SET ended = ? WHERE id = 'a-1'", START + 1_000)
    return rig


def case_all_states_are_in_one_line_by_when_they_ended_or_else_are_due(store: Store) -> None:
    _one_of_each(store)
    line = "a-1 b-2 c-3 d-4 e-5 f-6 g-7 h-7"
    for limit in range(1, 10):
        assert _ids(store, order="soonest", limit=limit) == line
        assert _ids(store, order="newest", limit=limit) == " ".join(reversed(line.split()))
        assert all(len(page) <= limit for page in _pages(store, limit=limit))


def case_a_filter_chooses_within_the_line(store: Store) -> None:
    _one_of_each(store)
    store.execute("UPDATE jobs SET tags = ? WHERE id IN ('b-2', 'g-7')", json.dumps(["eu", "vip"]))
    store.execute("UPDATE jobs SET tags = ? WHERE id = 'f-6'", json.dumps(["eu-west"]))
    store.execute("UPDATE jobs SET target = 'email:send' WHERE id IN ('d-4', 'e-5')")

    def chosen(order: str = "soonest", **conditions: Any) -> str:
        wanted = JobFilter(**conditions)
        told = _ids(store, wanted, order)
        assert finding.count(store, wanted) == {"count": len(told.split()), "exact": True}
        return told

    assert chosen(state="dead") == "b-2 d-4"
    assert chosen(state=["pending", "dead"]) == "b-2 d-4 f-6 g-7 h-7"
    assert chosen("newest", state=("pending", "dead")) == "h-7 g-7 f-6 d-4 b-2"
    assert chosen(tag="eu") == "b-2 g-7"
    assert chosen(tag="vip", state="pending") == "g-7"
    assert chosen(tag="e") == ""
    assert chosen(target="email") == "d-4 e-5"
    assert chosen(pool="imports") == "g-7"
    assert chosen(error="BOOM") == "b-2 d-4"
    assert chosen(id_prefix="c") == "c-3"
    assert chosen(created_from=START + 4_000) == "d-4 e-5 f-6 g-7 h-7"
    assert chosen(ended_from=START + 2_000) == "b-2 c-3 d-4"
    assert chosen("newest", ended_from=START + 2_000, ended_before=START + 4_000) == "c-3 b-2"
    assert chosen(due_from=START + 6_000) == "c-3 f-6 g-7 h-7"
    assert chosen("newest", due_from=START + 6_000, due_before=START + 9_000) == "h-7 g-7 f-6"
    assert chosen(state="pending", due_before=START + 7_000) == "f-6"
    assert chosen(state="pending", ended_from=0) == ""
    assert chosen(state="running", due_from=START + 5_000, due_before=START + 5_001) == "e-5"


def case_a_page_tells_what_get_tells_but_its_failures(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("j", args='{"n":9007199254740993}', due=5)
    (job,) = finding.jobs(store, ALL, "newest", None, 1)["jobs"]
    assert job["args"] == '{"n":9007199254740993}'
    assert (job["retry"]["max_attempts"], job["cancel_requested"], job["due"]) == (5, False, START + 5)


def case_a_page_of_large_arguments_is_shorter_and_goes_on_behind_its_last(store: Store) -> None:
    rig = Rig(store)
    for job_id in "abc":
        rig.schedule(job_id, args='{"x":"' + "y" * 600_000 + '"}')
    assert _pages(store, order="soonest") == [["a"], ["b"], ["c"]]
    store.execute("UPDATE jobs SET size = NULL")  # stored by a release that did not know it
    assert _pages(store) == [["c"], ["b"], ["a"]]


def case_a_page_looks_at_so_many_and_may_be_empty(store: Store) -> None:
    rig = Rig(store)
    for first in range(0, 2 * MAX_LOOKED_AT, 1_000):
        made = [new_job(f"j{number:05}", number) for number in range(first, first + 1_000)]
        rig.engine.schedule_many([replace(job, pool="imports") for job in made], START)
    rig.schedule("last", due=10**6)
    wanted = JobFilter(id_prefix="last")
    first_page = finding.jobs(store, wanted, "soonest", None, 10)
    assert (first_page["jobs"], first_page["scanned"]) == ([], MAX_LOOKED_AT)
    second = finding.jobs(store, wanted, "soonest", first_page["cursor"], 10)
    assert (second["jobs"], second["scanned"]) == ([], MAX_LOOKED_AT)
    third = finding.jobs(store, wanted, "soonest", second["cursor"], 10)
    assert ([job["id"] for job in third["jobs"]], third["scanned"], third["cursor"]) == (["last"], 1, None)
    assert finding.jobs(store, JobFilter(due_from=START + 10**6), "newest", None, 10)["scanned"] == 1


def case_a_count_says_whether_it_is_exact(store: Store) -> None:
    rig = Rig(store)
    for first in range(0, MAX_COUNTED, 1_000):
        made = [new_job(f"j{number:05}", number) for number in range(first, first + 1_000)]
        rig.engine.schedule_many(made, START)
    everything, some = {"count": MAX_COUNTED, "exact": True}, JobFilter(id_prefix="j0000")
    assert finding.count(store, ALL) == everything
    assert finding.count(store, JobFilter(state="pending", due_before=START + 70)) == {"count": 70, "exact": True}
    assert finding.count(store, some) == {"count": 10, "exact": True}
    rig.schedule("one-more", due=10**6)
    assert finding.count(store, ALL) == {"count": MAX_COUNTED, "exact": False}
    assert finding.count(store, JobFilter(state="pending")) == {"count": MAX_COUNTED, "exact": False}
    assert finding.count(store, some) == {"count": 9, "exact": False}
    assert finding.count(store, JobFilter(state="dead")) == {"count": 0, "exact": True}


def case_letters_are_grouped_by_what_they_called_and_died_of(store: Store) -> None:
    rig = Rig(store)
    assert finding.dead_groups(store) == {"groups": [], "exact": True}
    rig.finish("done")
    for number, (job_id, target, code) in enumerate(
        (("a", "m:x", "DOWN"), ("b", "m:y", "DOWN"), ("c", "m:x", "DOWN"), ("d", "m:x", None), ("e", "m:x", "DOWN"))
    ):
        rig.at(number * 1_000).bury(job_id)
        store.execute(
            "UPDATE jobs SET target = ?, error_code = ?, error_message = ? WHERE id = ?", target, code, job_id, job_id
        )

    def group(target: str, code: str | None, count: int, example: str, second: int) -> dict[str, Any]:
        return {
            "target": target,
            "error_code": code,
            "count": count,
            "newest": START + second * 1_000,
            "example_id": example,
            "example_message": example,
        }

    assert finding.dead_groups(store) == {
        "groups": [group("m:x", "DOWN", 3, "e", 4), group("m:x", None, 1, "d", 3), group("m:y", "DOWN", 1, "b", 1)],
        "exact": True,
    }


def case_the_largest_groups_are_told_and_that_there_are_more(store: Store) -> None:
    rig = Rig(store)
    jobs = MAX_GROUPS + 2
    rig.engine.schedule([new_job(f"j{number:03}", number) for number in range(jobs)], START)
    store.execute("UPDATE jobs SET state = 'dead', ended = due, error_code = id")
    store.execute("UPDATE jobs SET error_code = 'j001' WHERE id = 'j000'")
    told = finding.dead_groups(store)
    assert (len(told["groups"]), told["exact"]) == (MAX_GROUPS, False)
    assert (told["groups"][0]["error_code"], told["groups"][0]["count"]) == ("j001", 2)


def case_a_bad_search_is_refused(store: Store) -> None:
    Rig(store)
    questions: list[tuple[Any, Any, Any]] = [
        ("newest", None, 0),
        ("newest", None, 101),
        ("newest", None, True),
        ("newest", None, "5"),
        ("oldest", None, 10),
        (None, None, 10),
        (["newest"], None, 10),
        ("newest", "", 10),
        ("newest", "soonest.1.a", 10),
        ("newest", "pending.1.a", 10),
        ("newest", "newest.-1.a", 10),
        ("newest", "newest.1.a b", 10),
        ("newest", "newest.1.a\n", 10),
        ("newest", "newest.\u0661.a", 10),
        ("newest", "newest.9999999999999999.a", 10),
        ("newest", "newest.1." + "a" * 65, 10),
        ("newest", 5, 10),
    ]
    for order, cursor, limit in questions:
        with refused(code="INVALID_INPUT"):
            finding.jobs(store, ALL, order, cursor, limit)


def case_what_runs_now_is_due_and_starts(store: Store) -> None:
    rig = Rig(store)
    rig.schedule("later", due=50_000)
    rig.schedule("even-later", due=60_000)
    assert rig.alarm_set_by(lambda: rig.at(7).run_now("even-later")) == 8
    assert rig.at(8).claimed() == ["even-later"]
    assert rig.run_now("even-later") is False
    assert rig.run_now("nobody") is False
    assert rig.job("later")["due"] == 50_000


def case_what_runs_now_waits_for_room_in_its_pool(store: Store) -> None:
    rig = pooled(store, 1, "a")
    rig.schedule("b", due=50_000)
    assert rig.claimed() == ["a"]
    assert rig.run_now("b")
    assert rig.claimed() == []
    assert rig.pools()[0]["ready_at"] is None
