from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from lunorash.contexts import Auth, QueryContext
from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable, RegisteredFunction, register
from lunorash.refs import Kind
from lunorash.scheduler.store import SqliteStore
from lunorash.shard.database import Database


async def end_trial(ctx: Any, user_id: str, days: int = 14) -> str:
    """End a trial."""
    return f"{user_id} after {days}"


def _refused(code: str, call: Callable[[], object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        call()
    assert raised.value.code == code
    return raised.value


# -- registering ---------------------------------------------------------------------------------------------


def test_a_registered_function_is_called_like_the_function_itself() -> None:
    def double(ctx: None, number: int) -> int:
        return 2 * number

    registered = register(double, kind="query", internal=True)
    assert registered(None, number=4) == 8
    assert registered(None, 4) == 8
    assert (registered.kind, registered.internal) == ("query", True)


async def test_an_asynchronous_one_is_awaited_like_the_function_itself() -> None:
    assert await register(end_trial, kind="mutation", internal=False)(None, "u1", days=1) == "u1 after 1"


def test_it_keeps_the_name_and_the_words_of_the_function() -> None:
    registered: Any = register(end_trial, kind="mutation", internal=False)
    assert (registered.__name__, registered.__doc__) == ("end_trial", "End a trial.")
    assert registered.__module__ == __name__


def test_annotations_are_looked_up_when_they_are_first_needed() -> None:
    def early(ctx: Any, plan: Any) -> None: ...

    early.__annotations__ = {"plan": "_Later"}
    registered = register(early, kind="mutation", internal=False)
    _refused("FUNCTION_INVALID", lambda: registered.signature)
    globals()["_Later"] = int
    try:
        assert registered.signature.parse('{"plan": 5}') == {"plan": 5}
    finally:
        del globals()["_Later"]


# -- the table -----------------------------------------------------------------------------------------------


def _table() -> FunctionTable:
    return FunctionTable(
        {
            "trials:end_trial": register(end_trial, kind="mutation", internal=True),
            "trials:trial": register(lambda _ctx: None, kind="query", internal=False),
            "plain:hello": lambda _ctx, name: f"Hello, {name}",
        }
    )


def test_functions_are_found_by_their_path_and_messages_call_them_by_it() -> None:
    table = _table()
    assert table.paths == {"trials:end_trial", "trials:trial", "plain:hello"}
    assert table.find("trials:end_trial").kind == "mutation"
    assert table.get("trials:nothing") is None
    error = _refused("INVALID_INPUT", lambda: table.find("trials:end_trial").signature.parse("{}"))
    assert "the arguments of trials:end_trial are not" in error.message


def test_a_plain_function_is_an_internal_action() -> None:
    function = _table().find("plain:hello")
    assert isinstance(function, RegisteredFunction)
    assert (function.kind, function.internal) == ("action", True)


@pytest.mark.parametrize("path", ["trials:nothing", "", "trials", "TRIALS:trial", "trials:trial ", "workflows.x"])
def test_a_path_that_is_not_there_is_refused_and_the_error_names_what_there_is(path: str) -> None:
    error = _refused("FUNCTION_NOT_FOUND", lambda: _table().find(path))
    assert error.status == 404
    assert repr(path) in error.message
    assert "plain:hello, trials:end_trial, trials:trial" in error.message


@pytest.mark.parametrize(
    ("path", "kind"), [("trials:trial", "mutation"), ("trials:end_trial", "query"), ("plain:hello", "mutation")]
)
def test_a_function_of_another_kind_is_not_there(path: str, kind: Kind) -> None:
    assert f"no {kind} {path!r}" in _refused("FUNCTION_NOT_FOUND", lambda: _table().find(path, kind)).message


def test_the_error_of_a_large_app_stays_short() -> None:
    table = FunctionTable({f"m{number:04}:f": end_trial for number in range(2_000)})
    assert len(_refused("FUNCTION_NOT_FOUND", lambda: table.find("x" * 100_000)).message) < 500


@pytest.mark.parametrize("path", ["", "trials", "trials:", "a:b:c", "trials:end trial", "../trials:x"])
def test_a_path_that_is_none_cannot_be_registered(path: str) -> None:
    _refused("INVALID_INPUT", lambda: FunctionTable({path: end_trial}))


@pytest.mark.parametrize("value", [None, 5, "trials:end_trial", {}])
def test_what_cannot_be_called_is_no_function(value: Any) -> None:
    error = _refused("INVALID_INPUT", lambda: FunctionTable({"trials:end_trial": value}))
    assert f"trials:end_trial is of type {type(value).__name__}" in error.message


def test_an_empty_table_says_that_there_is_none() -> None:
    assert "there is none" in _refused("FUNCTION_NOT_FOUND", lambda: FunctionTable({}).find("m:f")).message


def test_the_table_does_not_change_with_what_it_was_made_from() -> None:
    functions: dict[str, Callable[..., Any]] = {"m:f": end_trial}
    table = FunctionTable(functions)
    functions["m:g"] = end_trial
    assert table.paths == {"m:f"}


# -- targets of jobs -----------------------------------------------------------------------------------------


def test_a_target_and_its_arguments_are_checked() -> None:
    table = _table()
    table.check_target("trials:end_trial", {"user_id": "u1"})
    _refused("FUNCTION_NOT_FOUND", lambda: table.check_target("trials:nothing", {}))
    error = _refused("INVALID_INPUT", lambda: table.check_target("trials:end_trial", {"user": 1}))
    assert {problem["path"] for problem in error.data} == {"user", "user_id"}


@pytest.mark.parametrize("target", ["workflows.onboarding", "agents.support"])
def test_a_workflow_or_an_agent_takes_any_arguments(target: str) -> None:
    _table().check_target(target, {"anything": [1]})


def test_a_bound_function_needs_only_its_context() -> None:
    table = _table()
    assert table.bind("plain:hello", {"name": "Ada"})(None) == "Hello, Ada"
    _refused("INVALID_INPUT", lambda: table.bind("plain:hello", {}))
    _refused("FUNCTION_NOT_FOUND", lambda: table.bind("plain:gone", {}))


# -- contexts ------------------------------------------------------------------------------------------------


def test_a_query_that_reaches_for_the_scheduler_is_told_why_there_is_none() -> None:
    context: Any = QueryContext(
        db=Database(SqliteStore().run, read_only=True),
        auth=Auth(),
        now=datetime(2026, 12, 1, tzinfo=UTC),
        random=Random(0),  # noqa: S311
    )
    error = _refused("SCHEDULER_NOT_IN_QUERY", lambda: context.scheduler)
    assert "it may be run any number of times" in error.message
    assert "Make it a mutation" in error.message


def test_nobody_has_no_id_and_no_claims() -> None:
    assert (Auth().user_id, dict(Auth().claims)) == (None, {})
