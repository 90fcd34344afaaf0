from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.scheduler.job import OutboxRow
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.outbox import PAGE, Outbox
from lunorash.shard.schema import migrate_shard


def _outbox() -> tuple[Outbox, SqliteStore]:
    store = SqliteStore()
    migrate_shard(store, [])
    return Outbox(store), store


def _ids(outbox: Outbox) -> list[tuple[str, str]]:
    return [(row["kind"], row["id"]) for row in outbox.page()]


def _numbers(outbox: Outbox) -> list[int]:
    return [row["number"] for row in outbox.page()]


def test_a_new_outbox_is_empty() -> None:
    outbox, _ = _outbox()
    assert outbox.is_empty()
    assert outbox.last_number() == 0
    assert outbox.page() == []
    assert outbox.find("a") is None
    assert outbox.take_back("a", 0) is False


def test_rows_come_in_the_order_in_which_they_were_added() -> None:
    outbox, _ = _outbox()
    for kind, job_id in (("schedule", "b"), ("cancel", "a"), ("schedule", "a")):
        outbox.add(kind, job_id, {"called": 5})
    assert not outbox.is_empty()
    assert _ids(outbox) == [("schedule", "b"), ("cancel", "a"), ("schedule", "a")]
    assert _numbers(outbox) == [1, 2, 3]
    assert outbox.last_number() == 3


def test_a_row_is_what_the_scheduler_object_reads() -> None:
    outbox, _ = _outbox()
    job = {
        "id": "a",
        "incarnation": "i",
        "target": "m:f",
        "args": '{"n":9007199254740993,"x":1.0,"t":"\\u2028"}',
        "due": 5,
        "retry": {},
        "timeout_ms": 1,
        "shard_key": None,
    }
    outbox.add("schedule", "a", {"job": job, "called": 7})
    outbox.add("cancel", "b", {"id": "b", "called": 8})
    schedule, cancel = (OutboxRow.from_dict(row) for row in outbox.page())
    assert (schedule.number, schedule.id, schedule.called) == (1, "a", 7)
    assert schedule.job is not None
    assert schedule.job.args == job["args"]
    assert (cancel.number, cancel.id, cancel.called, cancel.job) == (2, "b", 8, None)


def test_a_page_is_bounded_and_what_was_accepted_is_forgotten() -> None:
    outbox, _ = _outbox()
    for number in range(PAGE + 5):
        outbox.add("schedule", f"j{number}", {"called": 0})
    assert _numbers(outbox) == list(range(1, PAGE + 1))
    outbox.forget(PAGE - 1)
    assert _numbers(outbox) == list(range(PAGE, PAGE + 6))
    outbox.forget(PAGE + 5)
    assert outbox.is_empty()


def test_a_number_never_comes_again() -> None:
    outbox, _ = _outbox()
    outbox.add("schedule", "a", {})
    outbox.forget(1)
    assert outbox.last_number() == 1
    outbox.add("schedule", "b", {})
    assert outbox.take_back("b", 1)
    outbox.add("schedule", "c", {})
    assert _numbers(outbox) == [3]
    assert outbox.last_number() == 3


def test_what_is_rolled_back_was_never_there() -> None:
    outbox, store = _outbox()
    outbox.add("schedule", "a", {})

    def work() -> None:
        outbox.add("schedule", "b", {})
        outbox.take_back("a", 0)
        raise LookupError

    with pytest.raises(LookupError):
        store.transaction(work)
    assert _ids(outbox) == [("schedule", "a")]
    assert outbox.last_number() == 1


def test_the_newest_unsent_job_of_an_id_is_found() -> None:
    outbox, _ = _outbox()
    outbox.add("schedule", "a", {"n": 1})
    outbox.add("schedule", "a", {"n": 2})
    outbox.add("cancel", "a", {"n": 3})
    outbox.add("cancel", "b", {"n": 4})
    assert outbox.find("a") == {"n": 2}
    assert outbox.find("b") is None, "a cancel is no job"
    assert outbox.find("A") is None


def test_only_jobs_behind_a_number_are_taken_back() -> None:
    outbox, _ = _outbox()
    for job_id in ("a", "b"):
        outbox.add("schedule", job_id, {})
    outbox.add("cancel", "c", {})
    assert outbox.take_back("a", 1) is False
    assert outbox.take_back("b", 1) is True
    assert outbox.take_back("b", 1) is False
    assert outbox.take_back("c", 0) is False, "a cancel is no job"
    assert _ids(outbox) == [("schedule", "a"), ("cancel", "c")]


def test_a_row_of_an_unknown_kind_cannot_be_added() -> None:
    outbox, _ = _outbox()
    with pytest.raises(sqlite3.IntegrityError):
        outbox.add("drop", "a", {})


def _add_and_fail(outbox: Outbox) -> None:
    outbox.add("schedule", "never", {})
    raise LookupError


@given(st.lists(st.sampled_from(["add", "forget", "take back", "roll back"]), max_size=30), st.randoms())
def test_whatever_happens_numbers_grow_and_order_stays(steps: list[str], random: Any) -> None:
    outbox, store = _outbox()
    expected: list[str] = []
    numbers: set[int] = set()
    for step, name in enumerate(steps):
        if name == "add":
            outbox.add("schedule", f"j{step}", {})
            assert outbox.last_number() not in numbers
            numbers.add(outbox.last_number())
            expected.append(f"j{step}")
        elif name == "forget" and expected:
            sent = random.randint(1, len(expected))
            outbox.forget(_numbers(outbox)[sent - 1])
            expected = expected[sent:]
        elif name == "take back" and expected:
            assert outbox.take_back(expected.pop(random.randrange(len(expected))), 0)
        elif name == "roll back":
            with pytest.raises(LookupError):
                store.transaction(lambda: _add_and_fail(outbox))
        assert [row["id"] for row in outbox.page()] == expected
        assert outbox.is_empty() == (not expected)
