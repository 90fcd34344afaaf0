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


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("trials:trail", "; did you mean 'trials:trial'?"),
        ("trials:trial ", "; did you mean 'trials:trial'?"),
        ("", ""),
        ("nothing:like_it", ""),
        ("workflows.x", ""),
    ],
)
def test_a_path_that_is_not_there_is_refused_with_the_nearest_one(path: str, hint: str) -> None:
    """Not with all there are: a client may get to read it, and some are internal."""
    error = _refused("FUNCTION_NOT_FOUND", lambda: _table().find(path))
    assert error.status == 404
    assert error.message == f"there is no function {path!r}{hint}"


@pytest.mark.parametrize(
    ("path", "kind"), [("trials:trial", "mutation"), ("trials:end_trial", "query"), ("plain:hello", "mutation")]
)
def test_a_function_of_another_kind_is_not_there(path: str, kind: Kind) -> None:
    assert f"no {kind} {path!r}" in _refused("FUNCTION_NOT_FOUND", lambda: _table().find(path, kind)).message


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
