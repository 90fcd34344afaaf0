from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from itertools import count
from types import MappingProxyType
from typing import Any, Final, Literal

import pytest
from pydantic import BaseModel

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable, register
from lunorash.refs import AgentReference, FunctionReference, Kind, WorkflowReference, target_text
from lunorash.scheduler import Completion, JobRecord, RetryPolicy, RunOptions
from lunorash.scheduler.calls import make_job
from lunorash.scheduler.job import NewJob

from .scheduler_object import NOW

TARGET = "billing:end_trial"
_REFERENCE: FunctionReference[Any] = FunctionReference(TARGET, kind="mutation", internal=True)


async def end_trial(ctx: Any, user_id: str, at: date | None = None) -> None: ...


_TABLE = FunctionTable({TARGET: end_trial})


def _make(target: Any = TARGET, args: Any = None, options: Any = None, **more: Any) -> dict[str, Any]:
    numbers = count(1)
    return make_job(
        target,
        args,
        options,
        **{"due": NOW, "mint": lambda: f"m{next(numbers)}", "catalog": None, **more},
    )


def _refused(code: str, call: Callable[[], object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        call()
    assert raised.value.code == code
    return raised.value


def test_a_job_is_made_of_what_was_said_and_what_goes_without_saying() -> None:
    assert _make() == {
        "id": "m1",
        "incarnation": "m2",
        "target": TARGET,
        "args": "{}",
        "due": NOW,
        "retry": RetryPolicy().to_dict(),
        "timeout_ms": 600_000,
        "shard_key": None,
        "charged": 0,
        "scheduled_for": None,
        "pool": None,
        "priority": 0,
        "kind": None,
    }


def test_an_id_that_was_chosen_is_kept_and_the_incarnation_is_minted_all_the_same() -> None:
    options = RunOptions(id="own", retry=RetryPolicy(max_attempts=1), timeout=5, shard_key="s")
    made = _make(options=options)
    assert (made["id"], made["incarnation"], made["timeout_ms"], made["shard_key"]) == ("own", "m1", 5, "s")
    assert made["retry"]["max_attempts"] == 1


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (TARGET, TARGET),
        (_REFERENCE, TARGET),
        (WorkflowReference("onboarding", binding="W"), "workflows.onboarding"),
        (AgentReference("support", binding="A"), "agents.support"),
    ],
)
def test_a_target_is_stored_as_text(target: Any, text: str) -> None:
    assert target_text(target) == text
    assert _make(target)["target"] == text


class _Batch(BaseModel):
    names: list[str]
    at: date


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (None, "{}"),
        ({}, "{}"),
        ({"at": date(2026, 1, 2), "price": Decimal("9.90")}, '{"at":"2026-01-02","price":"9.90"}'),
        ({"n": 2**53 + 1, "x": 1.0}, '{"n":9007199254740993,"x":1.0}'),
        (_Batch(names=["a"], at=date(2026, 1, 2)), '{"names":["a"],"at":"2026-01-02"}'),
    ],
)
def test_arguments_are_stored_as_json(args: Any, text: str) -> None:
    assert _make(args=args)["args"] == text


@pytest.mark.parametrize("target", [None, 5, "", "workflows.onboarding", "agents.support", "billing", ["a:b"]])
def test_what_is_no_target_is_refused(target: Any) -> None:
    _refused("INVALID_INPUT", lambda: _make(target))


def test_a_reference_that_holds_no_path_is_refused() -> None:
    _refused("INVALID_INPUT", lambda: _make(FunctionReference("workflows.x", kind="action", internal=True)))


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ([], "is of type list"),
        ("a", "is of type str"),
        (0, "is of type int"),
        (False, "is of type bool"),
        ({"a": {1}}, "args.a is of type set"),
        ({"a": [float("nan")]}, "args.a[0] is nan"),
        ({1: 2}, "the key 1"),
        ({"a": _Batch}, "args.a is of type ModelMetaclass"),
    ],
)
def test_arguments_that_cannot_be_stored_are_named(args: Any, told: str) -> None:
    assert told in _refused("INVALID_INPUT", lambda: _make(args=args)).message


def test_arguments_may_be_any_mapping() -> None:
    assert _make(args=MappingProxyType({"a": 1}))["args"] == '{"a":1}'


def test_too_much_is_refused() -> None:
    _refused("PAYLOAD_TOO_LARGE", lambda: _make(args={"a": "x" * 1_000_000}))


@pytest.mark.parametrize("options", [{"id": "own"}, "own", 5, RetryPolicy(), RunOptions])
def test_what_is_no_options_is_refused(options: Any) -> None:
    assert "RunOptions" in _refused("INVALID_INPUT", lambda: _make(options=options)).message


def test_with_a_catalog_the_function_and_its_arguments_are_checked() -> None:
    args = {"user_id": "u1", "at": date(2026, 1, 2)}
    assert _make(_REFERENCE, args, catalog=_TABLE)["args"] == '{"user_id":"u1","at":"2026-01-02"}'
    _refused("FUNCTION_NOT_FOUND", lambda: _make("billing:gone", catalog=_TABLE))
    for wrong in ({}, {"user_id": 1}, {"user": "u1"}, {"user_id": "u1", "at": "tomorrow"}):
        _refused("INVALID_INPUT", lambda wrong=wrong: _make(TARGET, wrong, catalog=_TABLE))  # type: ignore[misc]
    assert _make(WorkflowReference("w", "W"), {"any": 1}, catalog=_TABLE)["target"] == "workflows.w"


def test_nothing_is_minted_for_a_call_that_is_refused() -> None:
    def mint() -> str:
        raise AssertionError("minted")

    _refused("INVALID_INPUT", lambda: _make(args=[], mint=mint))
    _refused("FUNCTION_NOT_FOUND", lambda: _make("billing:gone", mint=mint, catalog=_TABLE))


@pytest.mark.parametrize("kind", ["query", "mutation", "action"])
def test_a_job_knows_the_kind_of_its_function_from_the_reference_or_from_the_catalog(kind: Kind) -> None:
    table = FunctionTable({TARGET: register(end_trial, kind=kind, internal=True)})
    args = {"user_id": "u1"}
    assert _make(FunctionReference(TARGET, kind=kind, internal=True), args)["kind"] == kind
    assert _make(TARGET, args, catalog=table)["kind"] == kind


def test_the_kind_of_a_path_without_a_catalog_is_not_known_and_a_workflow_has_none() -> None:
    assert _make(TARGET)["kind"] is None
    assert _make(WorkflowReference("w", "W"), catalog=_TABLE)["kind"] is None
    assert _make(AgentReference("a", "A"), catalog=_TABLE)["kind"] is None


# -- expiry, tags, endings -----------------------------------------------------------------------------------


def told(_ctx: Any, completion: Completion) -> None: ...


def told_by_name(_ctx: Any, id: str, outcome: str, **_more: Any) -> None: ...  # noqa: A002


def told_a_success(_ctx: Any, outcome: Literal["succeeded"], **_more: Any) -> None: ...


_TELLERS: Final = FunctionTable(
    {
        TARGET: end_trial,
        "m:told": register(told, kind="mutation", internal=True),
        "m:by_name": register(told_by_name, kind="action", internal=True),
        "m:success": register(told_a_success, kind="action", internal=True),
        "m:query": register(told, kind="query", internal=True),
    }
)


def test_what_is_new_in_a_job_travels_only_if_it_says_something() -> None:
    """A SchedulerDO of the release before takes no fields that it does not know."""
    assert {"expires_at", "tags", "on_complete"}.isdisjoint(_make())
    job = _make(options=RunOptions(expires_at=NOW + 1, tags=["b", "a", "é"], on_complete="m:told"))
    assert (job["expires_at"], job["tags"], job["on_complete"]) == (
        NOW + 1,
        '["a", "b", "é"]',
        '{"target": "m:told", "kind": null}',
    )
    assert NewJob(**json.loads(json.dumps(job))).to_dict() == job
    record = JobRecord.of_new(job, created=NOW)
    assert (record.expires_at, record.tags, record.on_complete) == (NOW + 1, ("a", "b", "é"), "m:told")


@pytest.mark.parametrize(("target", "kind"), [("m:told", "mutation"), ("m:by_name", "action")])
def test_who_is_told_is_known_by_its_kind(target: str, kind: Kind) -> None:
    args = {"user_id": "u"}
    by_path = _make(args=args, options=RunOptions(on_complete=target), catalog=_TELLERS)
    reference: FunctionReference[Any] = FunctionReference(target, kind=kind, internal=True)
    by_reference = _make(args=args, options=RunOptions(on_complete=reference), catalog=_TELLERS)
    assert (
        json.loads(by_path["on_complete"])
        == json.loads(by_reference["on_complete"])
        == {
            "target": target,
            "kind": kind,
        }
    )


@pytest.mark.parametrize(
    ("target", "code", "why"),
    [
        ("m:nothing", "FUNCTION_NOT_FOUND", "on_complete: there is no function"),
        (TARGET, "INVALID_INPUT", "lunorash.scheduler.Completion"),
        ("m:success", "INVALID_INPUT", "lunorash.scheduler.Completion"),
        ("m:query", "INVALID_INPUT", "a query; it must be a mutation or an action"),
    ],
)
def test_who_cannot_be_told_of_every_ending_is_refused_at_the_door(target: str, code: str, why: str) -> None:
    options = RunOptions(on_complete=target)
    error = _refused(code, lambda: _make(args={"user_id": "u"}, options=options, catalog=_TELLERS))
    assert why in error.message


def test_a_job_that_would_expire_before_it_is_due_is_refused() -> None:
    for expires_at in (NOW, NOW - 1, 0):
        error = _refused("INVALID_INPUT", lambda at=expires_at: _make(options=RunOptions(expires_at=at)))  # type: ignore[misc]
        assert "expires_at" in error.message
    assert _make(options=RunOptions(expires_at=NOW + 0.5))["expires_at"] == NOW + 1
