from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.refs import FunctionReference, WorkflowReference
from lunorash.scheduler import JobCall, JobFilter, RunOptions, Scheduler

from .fake_time import in_fake_time
from .scheduler_object import NOW, Namespace, environment

TARGET = "billing:end_trial"


def _client() -> tuple[Namespace, Scheduler]:
    namespace = Namespace(environment())
    return namespace, Scheduler(lambda: namespace.default, now=lambda: NOW)


async def _book(client: Scheduler, *ids: str) -> None:
    await client.schedule_many([JobCall(TARGET, options=RunOptions(id=job_id)) for job_id in ids])


async def test_what_was_changed_is_told() -> None:
    _, client = _client()
    await _book(client, "a", "b")
    changed = await client.cancel_many(JobFilter(target="billing"), limit=1)
    assert (changed.ids, changed.targets, changed.now) == (("a",), {TARGET: 1}, NOW)
    changed = await client.cancel_many(JobFilter(target="billing"), cursor=changed.cursor)
    assert (changed.ids, changed.cursor) == (("b",), None)
    assert (await client.dead_retry_many(JobFilter())).ids == ()
    assert (await client.dead_drop_many(JobFilter(), dry_run=True)).ids == ()


@in_fake_time
async def test_a_change_that_may_have_landed_is_not_made_again() -> None:
    """It would change twice as many as it may."""
    namespace, client = _client()
    await _book(client, "a", "b")
    namespace.default.fail_next, namespace.default.fail_after_it_landed = 1, True
    with pytest.raises(LunoraError) as raised:
        await client.cancel_many(JobFilter(), limit=1)
    assert raised.value.code == "SCHEDULER_UNAVAILABLE"
    assert namespace.default.calls["change_many"] == 1
    assert (await client.cancel_many(JobFilter(), limit=1)).ids == ("b",)


@in_fake_time
async def test_a_question_is_asked_again() -> None:
    namespace, client = _client()
    await _book(client, "a")
    namespace.default.fail_next = 2
    assert (await client.cancel_many(JobFilter(), dry_run=True)).ids == ("a",)


@pytest.mark.parametrize("wanted", [None, {}, "billing", {"target": "billing"}])
async def test_a_filter_has_to_be_one(wanted: Any) -> None:
    namespace, client = _client()
    with pytest.raises(LunoraError) as raised:
        await client.cancel_many(wanted)
    assert raised.value.code == "INVALID_INPUT"
    assert namespace.stubs == 0


def test_references_and_instants_are_kept_as_they_are_stored() -> None:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    reference: FunctionReference[Any] = FunctionReference(TARGET, kind="mutation", internal=True)
    assert JobFilter(target=reference, due_from=at) == JobFilter(target=TARGET, due_from=1_796_083_200_000)
    assert JobFilter(target=WorkflowReference("w", "W")).target == "workflows.w"
    assert JobFilter(created_from=0.5).to_dict() == {"created_from": 1}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"due_from": datetime(2026, 1, 1)}, "due_from: the datetime"),  # noqa: DTZ001
        ({"ended_before": timedelta(1)}, "ended_before: the instant is a timedelta"),
        ({"target": 5}, "the target 5"),
        ({"state": "done"}, "state is 'done'; it must be one of pending, running, succeeded, dead, canceled"),
        ({"id_prefix": "a b"}, "id_prefix is 'a b'; no id begins so"),
        ({"pool": "-"}, "the pool '-' cannot be used"),
        ({"error": ""}, "error is ''; it must be a string of 1 to 256 characters"),
    ],
)
def test_what_cannot_be_is_refused_by_name(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(LunoraError) as raised:
        JobFilter(**fields)
    assert raised.value.code == "INVALID_INPUT"
    assert told in raised.value.message


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "state": st.sampled_from(["pending", "running", "dead"]),
            "target": st.text(min_size=1, max_size=256),
            "pool": st.just("imports"),
            "error": st.text(min_size=1, max_size=256),
            "id_prefix": st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", fullmatch=True),
            "created_from": st.integers(0, 10**15 - 1),
            "due_before": st.integers(0, 10**15 - 1),
        },
    )
)
def test_a_filter_that_travels_stays_what_it_is(conditions: dict[str, Any]) -> None:
    wanted = JobFilter(**conditions)
    assert JobFilter.from_dict(wanted.to_dict()) == wanted
    assert wanted.to_dict() == conditions


@pytest.mark.parametrize("job", [{}, {"target": None}, {"target": 5, "due": "soon", "id": []}, {"due": True}])
def test_a_record_of_another_shape_is_not_meant(job: dict[str, Any]) -> None:
    for wanted in (JobFilter(target="billing"), JobFilter(due_from=0), JobFilter(id_prefix="a"), JobFilter(pool="x")):
        assert not wanted.passes(job)
    assert JobFilter().passes(job)
