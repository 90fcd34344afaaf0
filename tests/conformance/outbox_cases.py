"""What shards hand over: in order, once, and nothing that cannot be taken holds up the rest."""

from __future__ import annotations

from lunorash.errors import LunoraError
from lunorash.scheduler.job import NewJob, OutboxRow
from lunorash.scheduler.retry import DEFAULT_RETRY
from lunorash.scheduler.store import Store

from .rig import DAY, START, Rig


def _job(job_id: str, incarnation: str = "i", due: int = 5_000) -> NewJob:
    return NewJob(
        id=job_id,
        incarnation=incarnation,
        target="billing:end_trial",
        args="{}",
        due=START + due,
        retry=DEFAULT_RETRY.to_dict(),
        timeout_ms=600_000,
    )


def _schedule(number: int, job_id: str, *, called: int = 0, incarnation: str = "i") -> OutboxRow:
    return OutboxRow(number=number, id=job_id, called=START + called, job=_job(job_id, incarnation))


def _cancel(number: int, job_id: str, *, called: int = 0) -> OutboxRow:
    return OutboxRow(number=number, id=job_id, called=START + called)


def _accept(rig: Rig, *rows: OutboxRow, shard: str = "s1") -> int:
    return rig.engine.accept(shard, rows, START + rig.now)


def _states(rig: Rig) -> dict[str, str]:
    return {row["id"]: row["state"] for row in rig.store.execute("SELECT id, state FROM jobs ORDER BY id")}


def case_rows_are_accepted_in_order_and_the_alarm_is_armed(store: Store) -> None:
    rig = Rig(store)
    assert _accept(rig, _schedule(1, "a"), _schedule(2, "b")) == 2
    assert _states(rig) == {"a": "pending", "b": "pending"}
    assert rig.alarm_calls[-1].at == 5_000


def case_rows_that_are_sent_again_change_nothing_however_late(store: Store) -> None:
    rig = Rig(store)
    rows = (_schedule(1, "a"), _cancel(2, "a"), _schedule(3, "b"))
    assert _accept(rig, *rows) == 3
    rig.at(8 * DAY).prune()
    assert _states(rig) == {"b": "pending"}, "a is not even history any more"
    assert _accept(rig, *rows) == 3
    assert _states(rig) == {"b": "pending"}
    assert _accept(rig, *rows, _schedule(4, "c")) == 4
    assert _states(rig) == {"b": "pending", "c": "pending"}


def case_each_shard_is_numbered_by_itself(store: Store) -> None:
    rig = Rig(store)
    assert _accept(rig, _schedule(7, "a"), shard="s1") == 7
    assert _accept(rig, _schedule(1, "b"), shard="s2") == 1
    assert _states(rig) == {"a": "pending", "b": "pending"}


def case_a_row_that_cannot_be_taken_is_a_dead_letter_and_the_next_goes_on(store: Store) -> None:
    rig = Rig(store)
    _accept(rig, _schedule(1, "a"))
    assert _accept(rig, _schedule(2, "a", incarnation="other"), _schedule(3, "b"), shard="s1") == 3
    states = _states(rig)
    assert sorted(states.values()) == ["dead", "pending", "pending"]
    (dead,) = store.execute("SELECT * FROM jobs WHERE state = 'dead'")
    assert dead["error_code"] == "DUPLICATE_SCHEDULE_ID"
    assert "'a'" in dead["error_message"]
    assert dead["id"] not in ("a", "b")


def case_a_cancel_that_overtakes_its_job_wins(store: Store) -> None:
    rig = Rig(store)
    _accept(rig, _cancel(1, "a", called=100), shard="s2")
    _accept(rig, _schedule(1, "a", called=50), shard="s1")
    assert _states(rig) == {"a": "canceled"}


def case_a_cancel_does_not_reach_a_job_that_was_scheduled_after_it(store: Store) -> None:
    rig = Rig(store)
    assert rig.engine.cancel("a", START) is False
    rig.at(1)
    rig.engine.schedule([_job("a")], START + 1)
    assert _states(rig) == {"a": "pending"}
    _accept(rig, _cancel(1, "b", called=100), _schedule(2, "b", called=100))
    assert _states(rig)["b"] == "pending", "the same mutation cancelled first and scheduled then"


def case_a_cancel_is_remembered_for_a_day(store: Store) -> None:
    rig = Rig(store)
    _accept(rig, _cancel(1, "a", called=100), _cancel(2, "a", called=50))
    assert store.execute("SELECT called FROM tombstones") == [{"called": START + 100}]
    rig.at(DAY + 99).prune()
    assert store.execute("SELECT 1 FROM tombstones")
    rig.at(DAY + 100).prune()
    assert not store.execute("SELECT 1 FROM tombstones")
    assert rig.alarm_calls[-1].at is None


def case_a_cancel_of_a_job_that_has_ended_is_not_remembered(store: Store) -> None:
    rig = Rig(store)
    _accept(rig, _schedule(1, "a"), _cancel(2, "a"), _cancel(3, "a"))
    assert _states(rig) == {"a": "canceled"}
    assert not store.execute("SELECT 1 FROM tombstones")


def case_rows_are_accepted_all_or_none(store: Store) -> None:
    rig = Rig(store)
    broken = OutboxRow(number=2, id="b", called=START, job=_job(None))  # type: ignore[arg-type]
    try:
        _accept(rig, _schedule(1, "a"), broken)
    except LunoraError:
        raise AssertionError("a broken row is no refusal") from None
    except Exception:  # noqa: BLE001 - each store has its own
        assert _states(rig) == {}
        assert not store.execute("SELECT 1 FROM shards")
    else:
        raise AssertionError("a job without an id was taken")
