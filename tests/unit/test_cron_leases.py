from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.scheduler.store import SqliteStore
from lunorash.shard.cron_leases import LEASE_MS, CronLeases
from lunorash.shard.schema import migrate_shard

NOW: Final = 1_800_000_000_000


@pytest.fixture
def store() -> SqliteStore:
    store = SqliteStore()
    migrate_shard(store, [])
    return store


def test_one_run_at_a_time_has_the_lease_of_a_job(store: SqliteStore) -> None:
    leases = CronLeases(store)
    assert leases.hold("sweep", "a", NOW)
    assert not leases.hold("sweep", "b", NOW)
    assert leases.hold("digest", "b", NOW), "each job has a lease of its own"
    leases.release("sweep", "a")
    assert leases.hold("sweep", "b", NOW)


def test_a_lease_is_renewed_by_its_holder_only(store: SqliteStore) -> None:
    leases = CronLeases(store)
    assert leases.hold("sweep", "a", NOW)
    assert leases.hold("sweep", "a", NOW + 20_000)
    assert not leases.hold("sweep", "b", NOW + LEASE_MS), "it would have ended, had it not been renewed"
    assert leases.hold("sweep", "b", NOW + 20_000 + LEASE_MS)
    assert not leases.hold("sweep", "a", NOW + 20_000 + LEASE_MS), "somebody else has it now"


def test_nobody_gives_back_the_lease_of_another(store: SqliteStore) -> None:
    leases = CronLeases(store)
    assert leases.hold("sweep", "a", NOW)
    leases.release("sweep", "b")
    assert not leases.hold("sweep", "c", NOW)


def test_a_lease_that_was_given_back_leaves_nothing(store: SqliteStore) -> None:
    leases = CronLeases(store)
    assert leases.hold("sweep", "a", NOW)
    leases.release("sweep", "a")
    assert store.execute("SELECT * FROM _lunora_cron_leases") == []


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["hold", "release"]), st.integers(0, LEASE_MS)), max_size=30
    )
)
def test_never_two_hold_one_lease(steps: list[tuple[str, str, int]]) -> None:
    store = SqliteStore()
    migrate_shard(store, [])
    leases, now = CronLeases(store), NOW
    until: dict[str, int] = {}
    for holder, step, pause in steps:
        now += pause
        if step == "release":
            leases.release("sweep", holder)
            until.pop(holder, None)
            continue
        others = [end for other, end in until.items() if other != holder and end > now]
        assert leases.hold("sweep", holder, now) is not bool(others)
        if not others:
            until = {holder: now + LEASE_MS}
    store.close()


def test_no_statement_goes_through_all_leases(store: SqliteStore) -> None:
    from lunorash.shard import cron_leases

    for sql, parameters in ((cron_leases._HOLD, ("a", "h", NOW, NOW)), (cron_leases._RELEASE, ("a", "h"))):
        plan = [row["detail"] for row in store.execute(f"EXPLAIN QUERY PLAN {sql}", *parameters)]
        assert not [step for step in plan if step.startswith("SCAN")], plan
