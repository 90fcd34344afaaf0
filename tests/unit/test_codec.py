from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.codec import MAX_ARGS_BYTES, MAX_DEPTH, decode_json, encode_args
from lunorash.errors import LunoraError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**53 - 2, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)


def _same(one: Any, two: Any) -> bool:
    """Equal, and of the same types all the way down: 1, 1.0 and True are three things."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return list(one) == list(two) and all(_same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two) and str(one) == str(two)  # -0.0 is not 0.0


def _nested(depth: int, inside: Any = None) -> Any:
    """Lists in lists, ``depth`` containers in all."""
    value: Any = [] if inside is None else [inside]
    for _ in range(depth - 1):
        value = [value]
    return value


# -- what goes in comes out ----------------------------------------------------------------------------------


@given(st.dictionaries(_TEXT, _JSON, max_size=5))
def test_arguments_come_back_equal_and_of_the_same_types(args: dict[str, Any]) -> None:
    assert _same(decode_json(encode_args(args)), args)


@given(st.dictionaries(_TEXT, _JSON, max_size=5))
def test_any_json_reader_understands_what_is_stored(args: dict[str, Any]) -> None:
    assert _same(json.loads(encode_args(args)), args)


@pytest.mark.parametrize(
    "value", [2**53, 2**53 + 1, -(2**63), 2**64, 10**3000, 1.0, -0.0, 1e300, 5e-324, True, "\x00", "\u2028", "🎉"]
)
def test_values_that_get_lost_elsewhere_are_kept(value: Any) -> None:
    assert _same(decode_json(encode_args({"value": value})), {"value": value})


def test_text_is_stored_as_it_is_and_without_spaces() -> None:
    assert encode_args({"name": "Zoë", "list": [1, 2]}) == '{"name":"Zoë","list":[1,2]}'


# -- what is refused, and where it is ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"a": [1, float("nan")]}, "args.a[1] is nan"),
        ({"a": {"b": float("inf")}}, "args.a.b is inf"),
        ({"a": float("-inf")}, "args.a is -inf"),
        ({"a": {1: "x"}}, "args.a has the key 1, of type int"),
        ({"a": {None: "x"}}, "args.a has the key None"),
        ({"a": {("x", "y"): 1}}, "args.a has the key"),
        ({"a": {True: 1}}, "args.a has the key True, of type bool"),
        ({"a": [0, {"b": {1, 2}}]}, "args.a[1].b is of type set"),
        ({"a": (1, 2)}, "args.a is of type tuple"),
        ({"a": b"x"}, "args.a is of type bytes"),
        ({"a": object()}, "args.a is of type object"),
        ({"a": 1j}, "args.a is of type complex"),
        ({"two words": [set()]}, "args['two words'][0] is of type set"),
        ({"a": "half \ud800 a pair"}, "args.a holds half of a surrogate pair"),
        ({"a": ["\udfff"]}, "args.a[0] holds half of a surrogate pair"),
        ({"a": {"\ud83d": 1}}, "a key of args.a holds half of a surrogate pair"),
        ({"a": 2**12_901}, "args.a is an integer of more than 12,900 bits"),
        ({"a": -(2**50_000)}, "args.a is an integer of more than 12,900 bits"),
        ({10**5000: 1}, "args has the key"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_is_not_json_is_named_by_its_path(args: Any, path: str) -> None:
    with pytest.raises(LunoraError) as raised:
        encode_args(args)
    assert raised.value.code == "INVALID_INPUT"
    assert path in raised.value.message
    assert len(raised.value.message) < 400


@pytest.mark.parametrize("args", [None, [], [1], "text", 1, True, (), object()])
def test_arguments_are_an_object(args: Any) -> None:
    with pytest.raises(LunoraError, match="a job's arguments are an object with names as keys") as raised:
        encode_args(args)
    assert raised.value.code == "INVALID_INPUT"


def test_the_whole_value_goes_by_the_name_it_is_given() -> None:
    with pytest.raises(LunoraError, match=r"^INVALID_INPUT: params\.x is of type set"):
        encode_args({"x": set()}, what="params")


# -- depth ---------------------------------------------------------------------------------------------------


def test_sixty_four_levels_are_taken() -> None:
    for inside in (None, 1):
        args = {"a": _nested(MAX_DEPTH - 1, inside)}
        assert decode_json(encode_args(args)) == args


def test_the_sixty_fifth_level_is_refused_and_named() -> None:
    for inside in (None, 1):
        with pytest.raises(LunoraError, match="is nested more than 64 levels deep, at ") as raised:
            encode_args({"first": 1, "a": _nested(MAX_DEPTH, inside)})
        assert raised.value.code == "INVALID_INPUT"
        assert "args.a[0][0][0]" in raised.value.message


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(LunoraError, match="nested more than 64 levels deep"):
        encode_args({"a": endless})


def test_a_dict_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["me"] = endless
    with pytest.raises(LunoraError, match="nested more than 64 levels deep"):
        encode_args(endless)


def test_a_small_value_that_unfolds_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    with pytest.raises(LunoraError, match="hold more than 1,000,000 values") as raised:
        encode_args({"a": value})
    assert raised.value.code == "PAYLOAD_TOO_LARGE"


# -- size ----------------------------------------------------------------------------------------------------


def test_the_size_limit_is_exact_and_counts_bytes() -> None:
    envelope = len('{"a":""}')
    assert len(encode_args({"a": "x" * (MAX_ARGS_BYTES - envelope)})) == MAX_ARGS_BYTES
    with pytest.raises(LunoraError, match="take 1,000,001 bytes as JSON; a job may carry 1,000,000") as raised:
        encode_args({"a": "x" * (MAX_ARGS_BYTES - envelope + 1)})
    assert raised.value.code == "PAYLOAD_TOO_LARGE"
    assert raised.value.status == 413
    assert len(encode_args({"a": "🎉" * ((MAX_ARGS_BYTES - envelope) // 4)}).encode()) <= MAX_ARGS_BYTES
    with pytest.raises(LunoraError, match="bytes as JSON"):
        encode_args({"a": "🎉" * (MAX_ARGS_BYTES // 4)})


def test_a_long_key_is_not_copied_for_every_value_under_it() -> None:
    args = {"k" * 100_000: [0] * 5_000}
    tracemalloc.start()
    try:
        encode_args(args)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 20_000_000  # copied, they take 500 MB


# -- text from outside ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [65, 66, 200, 8_000, 200_000])
@pytest.mark.parametrize("brackets", ["[]", '{"a":}'])
@pytest.mark.parametrize("closed", [True, False])
def test_nested_brackets_are_refused_and_harm_nobody(count: int, brackets: str, closed: bool) -> None:
    opening, closing = brackets[:-1], brackets[-1]
    text = opening * count + ("1" if opening != "[" else "") + closing * (count if closed else 0)
    for given_as in (text, text.encode()):
        with pytest.raises(LunoraError) as raised:
            decode_json(given_as)
        assert raised.value.code == "BAD_REQUEST"
        assert len(raised.value.message) < 200


def test_depth_is_counted_alike_whether_or_not_anything_is_inside() -> None:
    for inside in ("", "1", "{}"):
        deepest = MAX_DEPTH - (inside == "{}")
        decode_json("[" * deepest + inside + "]" * deepest)
        with pytest.raises(LunoraError, match="nested more than 64 levels deep"):
            decode_json("[" * (deepest + 1) + inside + "]" * (deepest + 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "}",
        "nul",
        "undefined",
        "{'a': 1}",
        '{"a": 1,}',
        "[1 2]",
        "1 1",
        "NaN",
        "[NaN]",
        "Infinity",
        "[-Infinity]",
        "[1e999]",
        "[-1e999]",
        '{"a": {"b": 1e400}}',
        '"\\ud800"',
        '"\ud800"',
        '"\x01"',
        "01",
        "+1",
        ".5",
        "9" * 5_000,
        b"\xff",
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        "// comment",
    ],
    ids=lambda text: repr(text)[:30],
)
def test_text_that_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(LunoraError) as raised:
        decode_json(text, what="the line")
    assert raised.value.code == "BAD_REQUEST"
    assert raised.value.message.startswith("the line ")


def test_a_refusal_never_repeats_what_was_sent() -> None:
    with pytest.raises(LunoraError) as raised:
        decode_json('{"password": "hunter2" "x"}')
    assert "hunter2" not in str(raised.value)


@settings(max_examples=300)
@given(st.binary(max_size=200) | st.text(max_size=200) | _JSON.map(json.dumps))
def test_whatever_comes_is_read_or_refused(text: str | bytes) -> None:
    try:
        value = decode_json(text)
    except LunoraError as error:
        code = error.code
    else:
        code = "read"
        json.dumps(value, allow_nan=False)
    assert code in {"read", "BAD_REQUEST"}
