"""Looking at jobs: one, pages of them, the whole scheduler's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lunorash.errors import LunoraError
from lunorash.scheduler import listing
from lunorash.scheduler.job import State
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.store import Ran, Row, Store, Value

from .rig import DAY, ORIGIN, SECOND, START, Rig, new_job, refused

T = TypeVar("T")


class _Bounded:
    """A store that allows so many statements: what would never end fails instead."""

    def __init__(self, store: Store, statements: int) -> None:
        self._store = store
        self._left = statements

    def run(self, sql: str, /, *params: Value) -> Ran:
        assert self._left > 0, "too many statements"
        self._left -= 1
        return self._store.run(sql, *params)

    def execute(self, sql: str, /, *params: Value) -> list[Row]:
        return self.run(sql, *params).rows

    def transaction(self, work: Callable[[], T], /) -> T:
        return self._store.transaction(work)


def _pages(store: Store, states: Sequence[State], limit: int) -> list[list[str]]:
    """The ids on all pages."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = listing.page(_Bounded(store, len(states) + 1), states, cursor, limit)
        pages.append([job["id"] for job in page["jobs"]])
        cursor = page["cursor"]
        if cursor is None:
            return pages
        assert len(pages) < 1_000, "the list does not end"


def case_a_job_is_found_by_its_id_with_its_failures_newest_first(store: Store) -> None:
    rig = Rig(store)
    dispatch = rig.at(5).start(retry=RetryPolicy(max_attempts=30, base_ms=1, max_ms=1))
    for attempt in range(1, 24):
        rig.fail(dispatch, attempt=attempt)
        rig.complete(dispatch)
        rig.at(rig.now + 1)
        dispatch = rig.claim_and_begin()
    found = listing.find(store, "j")
    assert found is not None
    assert [failure["number"] for failure in found.pop("failures")] == list(range(23, 3, -1))
    assert found == {
        "id": "j",
        "incarnation": "j-call",
        "target": "billing:end_trial",
        "args": "{}",
        "state": "running",
        "due": START + rig.now,
        "scheduled_for": START + 5,
        "created": START + 5,
        "retry": {"max_attempts": 30, "backoff": "exponential", "base_ms": 1, "max_ms": 1, "jitter": 0.0},
        "timeout_ms": 600_000,
        "shard_key": None,
        "pool": None,
        "priority": 0,
        "expires_at": None,
        "tags": [],
        "on_complete": None,
        "attempts": 24,
        "charged": 24,
        "redrives": 0,
        "cancel_requested": False,
        "started": START + rig.now,
        "ended": None,
        "error_code": "BOOM",
        "error_message": "it broke",
    }


def case_a_failure_is_shown_with_its_times(store: Store) -> None:
    rig = Rig(store)
    rig.at(1_000)
    dispatch = rig.start()
    rig.at(3_000).fail(dispatch)
    found = listing.find(store, "j")
    assert found is not None
    assert found["failures"] == [
        {
            "number": 1,
            "incarnation": "j-call",
            "dispatch": "d1",
            "started": START + 1_000,
            "ended": START + 3_000,
            "outcome": "failed",
            "code": "BOOM",
            "message": "it broke",
            "traceback": None,
        }
    ]


def case_nobody_is_found_by_an_unknown_id(store: Store) -> None:
    Rig(store)
    assert listing.find(store, "nobody") is None


def case_pending_jobs_are_listed_by_due_time_then_id(store: Store) -> None:
    rig = Rig(store)
    for job_id, due in (("z", 1), ("b", 5), ("a", 5), ("c", 5), ("first", 0), ("last", 9)):
        rig.schedule(job_id, due)
    wanted = ["first", "z", "a", "b", "c", "last"]
    for limit in range(1, 8):
        pages = _pages(store, ["pending"], limit)
        assert [job_id for page in pages for job_id in page] == wanted
        assert all(len(page) <= limit for page in pages)


def case_running_jobs_are_listed_by_due_time_then_id(store: Store) -> None:
    rig = Rig(store)
    for job_id in ("c", "a", "d", "b"):
        rig.schedule(job_id, due=-1 if job_id == "d" else 0)
    assert len(rig.claim()) == 4
    rig.schedule("waits")
    assert _pages(store, ["running"], 3) == [["d", "a", "b"], ["c"]]


def case_ended_jobs_are_listed_newest_first(store: Store) -> None:
    rig = Rig(store)
    for number, job_id in enumerate(("old", "b", "a", "new")):
        rig.at(number // 2 * SECOND).bury(job_id)
    assert _pages(store, ["dead"], 1) == [["new"], ["a"], ["old"], ["b"]]
    assert _pages(store, ["dead"], 3) == [["new", "a", "old"], ["b"]]


def case_states_follow_one_another(store: Store) -> None:
    rig = Rig(store)
    rig.finish("done")
    rig.bury("dead")
    rig.schedule("gone")
    rig.cancel("gone")
    rig.start("runs")
    rig.schedule("waits")
    states: list[State] = ["running", "pending", "dead", "canceled", "succeeded"]
    for limit in (1, 2, 100):
        pages = _pages(store, states, limit)
        assert [job_id for page in pages for job_id in page] == ["runs", "waits", "dead", "gone", "done"]


def case_every_job_is_listed_once_whatever_the_limit(store: Store) -> None:
    rig = Rig(store)
    rig.engine.schedule([new_job(f"j{number:03}", number // 7) for number in range(230)], START)
    for limit in (1, 7, 99, 100):
        listed = [job_id for page in _pages(store, ["running", "pending"], limit) for job_id in page]
        assert listed == [f"j{number:03}" for number in range(230)]


def case_empty_states_are_passed_over(store: Store) -> None:
    rig = Rig(store)
    assert listing.page(store, ["running", "pending"], None, 10) == {"jobs": [], "cursor": None}
    rig.bury("dead")
    assert _pages(store, ["running", "pending", "dead"], 10) == [["dead"]]


def case_jobs_that_come_and_go_do_not_disturb_the_walk(store: Store) -> None:
    rig = Rig(store)
    for job_id in "abcdef":
        rig.schedule(job_id, due=ord(job_id))
    first = listing.page(store, ["pending"], None, 2)
    assert [job["id"] for job in first["jobs"]] == ["a", "b"]
    rig.cancel("b")
    rig.cancel("d")
    rig.schedule("ca", due=ord("c"))
    second = listing.page(store, ["pending"], first["cursor"], 10)
    assert [job["id"] for job in second["jobs"]] == ["c", "ca", "e", "f"]


def case_a_page_of_large_arguments_is_shorter_but_never_empty(store: Store) -> None:
    rig = Rig(store)
    large = '{"x":"' + "y" * 600_000 + '"}'
    for job_id in "abc":
        rig.schedule(job_id, args=large)
    assert _pages(store, ["pending"], 100) == [["a"], ["b"], ["c"]]


def case_a_bad_question_is_refused(store: Store) -> None:
    Rig(store)
    questions: list[tuple[Any, Any, Any]] = [
        (["pending"], None, 0),
        (["pending"], None, 101),
        (["pending"], None, -1),
        (["pending"], None, True),
        (["pending"], None, 1.0),
        (["pending"], None, "10"),
        (["pending"], None, None),
        (["waiting"], None, 10),
        (["pending", "waiting"], None, 10),
        ([""], None, 10),
        (["pending"], "", 10),
        (["pending"], "pending", 10),
        (["pending"], "dead.1.a", 10),
        (["pending"], "pending.-1.a", 10),
        (["pending"], "pending.1.a b", 10),
        (["pending"], "pending.12345678901234567.a", 10),
        (["pending"], "pending.1.a\n", 10),
        (["pending"], "pending.\u0661.a", 10),
        (["pending"], 1, 10),
        (["pending"], ["pending.1.a"], 10),
        (["pending"], "pending.1." + "a" * 65, 10),
    ]
    for states, cursor, limit in questions:
        with refused(code="INVALID_INPUT"):
            listing.page(store, states, cursor, limit)


def case_a_state_named_twice_is_refused_and_does_not_go_on_for_ever(store: Store) -> None:
    Rig(store)
    for states in (["pending", "pending"], ["dead", "running", "dead"]):
        with refused(code="INVALID_INPUT"):
            listing.page(_Bounded(store, 10), states, None, 10)  # type: ignore[arg-type]


def case_no_states_at_all_are_refused(store: Store) -> None:
    Rig(store)
    with refused(code="INVALID_INPUT"):
        listing.page(store, [], None, 10)


def _listed_after(store: Store, cursor: str) -> set[str] | None:
    """The jobs behind a cursor; None if it is refused."""
    try:
        return {job["id"] for job in listing.page(store, ["pending"], cursor, 10)["jobs"]}
    except LunoraError:
        return None


def case_a_forged_cursor_gives_a_page_or_a_refusal(store: Store) -> None:
    """Also with a number that JavaScript cannot count to."""
    rig = Rig(store)
    rig.schedule()
    for position in ("0", "0" * 16, "9007199254740990", "9007199254740993", "9999999999999999"):
        for last in ("", "~", "a"):
            jobs = _listed_after(store, f"pending.{position}.{last}")
            assert jobs is None or jobs <= {"j"}


def case_the_status_of_an_empty_scheduler(store: Store) -> None:
    rig = Rig(store)
    assert listing.status(store, rig.engine.breaker, ORIGIN, now=START, alarm=None) == {
        "now": START,
        "backlog": 0,
        "due": 0,
        "in_flight": 0,
        "dead": 0,
        "counted_up_to": 10_000,
        "next_due": None,
        "alarm": None,
        "origin": {
            "url": ORIGIN,
            "reachable": True,
            "reason": None,
            "unreachable_since": None,
            "next_probe": None,
            "failed_probes": 0,
        },
        "pools": [],
    }


def case_the_status_counts_what_waits_runs_and_died(store: Store) -> None:
    rig = Rig(store)
    rig.finish("done")
    rig.bury("dead")
    for job_id in ("r1", "r2"):
        rig.start(job_id)
    rig.schedule("due", due=-1)
    rig.schedule("due-now", due=0)
    rig.schedule("future", due=DAY)
    status = listing.status(store, rig.engine.breaker, ORIGIN, now=START, alarm=START + 1)
    counted = {name: status[name] for name in ("backlog", "due", "in_flight", "dead", "next_due", "alarm")}
    assert counted == {
        "backlog": 3,
        "due": 2,
        "in_flight": 2,
        "dead": 1,
        "next_due": START - 1,
        "alarm": START + 1,
    }


def case_the_status_says_that_the_origin_is_unreachable_and_why(store: Store) -> None:
    rig = Rig(store)
    rig.schedule()
    rig.at(SECOND).sever(rig.claim_one().id)
    rig.sever(rig.claim_one().id)
    status = listing.status(store, rig.engine.breaker, ORIGIN, now=START, alarm=None)
    assert status["origin"] == {
        "url": ORIGIN,
        "reachable": False,
        "reason": "connection refused",
        "unreachable_since": START + SECOND,
        "next_probe": START + 2 * SECOND,
        "failed_probes": 1,
    }
