from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.codec import MAX_DEPTH, encode_args
from lunorash.contexts import Auth
from lunorash.errors import LunoraError, UnavailableError
from lunorash.shard.answers import UnexpectedError
from lunorash.shard.calls import ShardCall
from lunorash.shard.client import Shards

from .shard_core import job

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


# -- how a call travels --------------------------------------------------------------------------------------


@given(
    st.dictionaries(_TEXT, _JSON, max_size=3),
    st.none() | _TEXT,
    st.dictionaries(_TEXT, _JSON, max_size=3),
    st.none() | st.builds(job, _TEXT, _TEXT, st.integers(1)),
)
def test_a_call_arrives_as_it_was_sent(args: Any, user_id: str | None, claims: Any, running: Any) -> None:
    call = ShardCall(path="m:f", args=encode_args(args), auth=Auth(user_id=user_id, claims=claims), job=running)
    arrived = ShardCall.from_text(call.to_text())
    assert arrived == call
    assert arrived.args == call.args, "to the letter: 1.0 and 2**70 are in it as text"


def test_arguments_of_the_deepest_kind_arrive() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    args = encode_args({"a": deep})
    claims = {"a": json.loads(args)["a"]}
    call = ShardCall(path="m:f", args=args, auth=Auth(claims=claims))
    assert ShardCall.from_text(call.to_text()) == call


# -- what a shard answers ------------------------------------------------------------------------------------


class _Answering:
    """A namespace whose every object answers one thing."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str, ShardCall]] = []

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        return name

    def get(self, name: str) -> _Answering._Stub:
        return _Answering._Stub(self, name)

    class _Stub:
        def __init__(self, namespace: _Answering, name: str) -> None:
            self._namespace = namespace
            self._name = name

        async def query(self, text: str) -> Any:
            return self._told("query", text)

        async def mutate(self, text: str) -> Any:
            return self._told("mutate", text)

        def _told(self, method: str, text: str) -> Any:
            self._namespace.asked.append((self._name, method, ShardCall.from_text(text)))
            if isinstance(self._namespace._answer, Exception):
                raise self._namespace._answer
            return self._namespace._answer


_CALL = ShardCall(path="m:f", args="{}", auth=Auth(user_id="u1"))


async def _error(answer: Any) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        await Shards(_Answering(answer)).mutate(_CALL)
    return raised.value


async def test_the_result_is_handed_on_as_the_text_it_is() -> None:
    namespace = _Answering('{"ok": "{\\"a\\":9007199254740993,\\"b\\":1.0}"}')
    assert await Shards(namespace).query(_CALL) == '{"a":9007199254740993,"b":1.0}'
    assert await Shards(namespace).mutate(_CALL, "tenant") == '{"a":9007199254740993,"b":1.0}'
    assert namespace.asked == [("default", "query", _CALL), ("tenant", "mutate", _CALL)]


async def test_an_error_of_a_function_keeps_its_code_message_status_and_data() -> None:
    told = {"code": "CARD_DECLINED", "message": "no funds", "data": {"limit": 5}}
    error = await _error(json.dumps({"error": told, "status": 402, "unavailable": False}))
    assert type(error) is LunoraError
    assert (error.to_dict(), error.status) == (told, 402)


async def test_what_the_shard_does_not_know_is_unavailable() -> None:
    told = {"code": "FUNCTION_NOT_FOUND", "message": "there is no function"}
    error = await _error(json.dumps({"error": told, "status": 404, "unavailable": True}))
    assert isinstance(error, UnavailableError)
    assert (error.to_dict(), error.status) == (told, 404)


async def test_the_detail_of_an_unexpected_error_is_kept_apart_from_what_is_shown() -> None:
    told = {"code": "INTERNAL", "message": "incident 12"}
    error = await _error(json.dumps({"error": told, "detail": "KeyError: 'hunter2'"}))
    assert isinstance(error, UnexpectedError)
    assert error.detail == "KeyError: 'hunter2'"
    assert "hunter2" not in f"{error}{error.to_dict()}"


async def test_a_shard_that_breaks_is_unavailable_and_what_broke_is_not_shown() -> None:
    error = await _error(OSError("hunter2"))
    assert (error.code, error.status) == ("SHARD_UNAVAILABLE", 503)
    assert "OSError" in error.message
    assert "hunter2" not in error.message


async def test_without_a_binding_the_error_says_how_to_make_one() -> None:
    with pytest.raises(LunoraError, match="bind the class as SHARD") as raised:
        await Shards(None).query(_CALL)
    assert raised.value.code == "SHARD_NOT_CONFIGURED"
