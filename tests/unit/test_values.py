from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from lunorash.codec import MAX_DEPTH, decode_json
from lunorash.errors import LunoraError
from lunorash.signature import Signature
from lunorash.values import encode_value


class Plan(Enum):
    PRO = "pro"
    TEAM = "team"


class Level(IntEnum):
    LOW = 1
    HIGH = 2**60


@dataclass
class Price:
    amount: Decimal
    since: date
    share: float = 1.0


class Address(BaseModel):
    street: str
    moved: datetime | None = None


class Customer(BaseModel):
    id: UUID
    address: Address
    notes: dict[str, list[int]]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# ISO 8601 cannot say which of two hours is meant, and without a zone nothing can
_DATETIMES = st.datetimes(timezones=st.none() | st.just(UTC)).map(lambda value: value.replace(fold=0))
_TIMES = st.times().map(lambda value: value.replace(fold=0))
# Rust's calendar has what Python's has; a duration is read back to the microsecond up to a few thousand years
_TIMEDELTAS = st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000))
_DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)
_ADDRESSES = st.builds(Address, street=_TEXT, moved=st.none() | _DATETIMES)
_CUSTOMERS = st.builds(
    Customer,
    id=st.uuids(),
    address=_ADDRESSES,
    notes=st.dictionaries(_TEXT, st.lists(st.integers(), max_size=3), max_size=3),
)
_PRICES = st.builds(Price, amount=_DECIMALS, since=st.dates(), share=_FLOATS)

_KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "datetime": (datetime, _DATETIMES),
    "date": (date, st.dates()),
    "time": (time, _TIMES),
    "timedelta": (timedelta, _TIMEDELTAS),
    "Decimal": (Decimal, _DECIMALS),
    "UUID": (UUID, st.uuids()),
    "bytes": (bytes, st.binary(max_size=50)),
    "Enum": (Plan, st.sampled_from(Plan)),
    "IntEnum": (Level, st.sampled_from(Level)),
    "dataclass": (Price, _PRICES),
    "model": (Customer, _CUSTOMERS),
    "int": (int, st.integers() | st.integers(2**53 - 2, 2**70) | st.integers(-(2**70), -(2**53))),
    "float": (float, _FLOATS | st.just(1.0)),
    "str": (str, _TEXT),
    "bool": (bool, st.booleans()),
    "None": (None, st.none()),
    "optional": (date | None, st.none() | st.dates()),
    "list": (list[datetime], st.lists(_DATETIMES, max_size=3)),
    "dict": (dict[str, list[Price]], st.dictionaries(_TEXT, st.lists(_PRICES, max_size=2), max_size=2)),
    "nested": (
        list[dict[str, list[Decimal | None]]],
        st.lists(st.dictionaries(_TEXT, st.lists(_DECIMALS | st.none(), max_size=2), max_size=2), max_size=2),
    ),
}


def _function(annotation: Any) -> Callable[..., Any]:
    """A function that takes and returns a value of a type."""

    def function(ctx: Any, value: Any, more: None = None) -> Any:
        return value

    function.__annotations__ = {"value": annotation, "return": annotation}
    return function


_SIGNATURES = {name: Signature(_function(annotation), "m:f") for name, (annotation, _) in _KINDS.items()}


def _same(one: Any, two: Any) -> bool:
    """Equal, of one type, and written alike: 1, 1.0 and True are three things, and -0.0 is not 0.0."""
    return type(one) is type(two) and bool(one == two) and encode_value(one, what="") == encode_value(two, what="")


def _refusal(value: Any) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        encode_value(value, what="the result")
    assert len(raised.value.message) < 600
    return raised.value


# -- what goes in comes out ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", _KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_value_comes_back_through_an_annotated_function(kind: str, data: st.DataObject) -> None:
    value = data.draw(_KINDS[kind][1])
    sent = encode_value({"value": value}, what="args")
    assert _same(_SIGNATURES[kind].parse(sent)["value"], value)


@pytest.mark.parametrize("kind", _KINDS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_result_is_encoded_as_an_argument_is(kind: str, data: st.DataObject) -> None:
    value = data.draw(_KINDS[kind][1])
    text = _SIGNATURES[kind].encode(value)
    assert decode_json(text) == decode_json(encode_value(value, what="the result"))
    assert _same(_SIGNATURES[kind].parse(f'{{"value": {text}}}')["value"], value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 12, 1, 9, 30, tzinfo=UTC), '"2026-12-01T09:30:00Z"'),
        (datetime(2026, 12, 1, 9, 30, 0, 5), '"2026-12-01T09:30:00.000005"'),  # noqa: DTZ001
        (date(2026, 12, 1), '"2026-12-01"'),
        (time(9, 30), '"09:30:00"'),
        (timedelta(days=14, seconds=1.5), '"P14DT1.5S"'),
        (Decimal("9.90"), '"9.90"'),
        (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (b"\xff\xfe?", '"__4_"'),
        (Plan.PRO, '"pro"'),
        (Level.HIGH, str(2**60)),
        (Price(Decimal("1.0"), date(2026, 1, 2)), '{"amount":"1.0","since":"2026-01-02","share":1.0}'),
        (Address(street="Main"), '{"street":"Main","moved":null}'),
        (2**53 + 1, "9007199254740993"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (None, "null"),
        ([{"a": [Plan.TEAM, None, {"b": b""}]}], '[{"a":["team",null,{"b":""}]}]'),
        ("ü\u2028", '"ü\u2028"'),
    ],
)
def test_a_value_is_written_in_the_usual_way(value: Any, text: str) -> None:
    assert encode_value(value, what="the result") == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | _FLOATS | _TEXT,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
        max_leaves=15,
    )
)
def test_what_json_has_already_stays_as_it_is(value: Any) -> None:
    assert _same(decode_json(encode_value(value, what="x")), value)


def test_what_is_encoded_is_not_changed() -> None:
    value = {"at": [date(2026, 1, 1)], "price": Price(Decimal(1), date(2026, 1, 1))}
    encode_value(value, what="x")
    assert value == {"at": [date(2026, 1, 1)], "price": Price(Decimal(1), date(2026, 1, 1))}


# -- what cannot be encoded ----------------------------------------------------------------------------------


@dataclass
class Reading:
    values: list[float]


class Measured(BaseModel):
    value: float


class _Plain:
    """A class that nobody has said how to encode."""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (_Plain(), "the result is of type _Plain"),
        ({"a": [1, _Plain()]}, "the result.a[1] is of type _Plain"),
        ({"a": {"b": {1, 2}}}, "the result.a.b is of type set"),
        ([(1, 2)], "the result[0] is of type tuple"),
        ([1j], "the result[0] is of type complex"),
        ({"f": len}, "the result.f is of type builtin_function_or_method"),
        ({"type": Price}, "the result.type is of type type"),
        ((number for number in [1]), "the result is of type generator"),
        ([float("nan")], "the result[0] is nan"),
        ({"x": float("-inf")}, "the result.x is -inf"),
        ({"r": Reading([1.0, float("nan")])}, "the result.r.values[1] is nan"),
        ({"m": Measured(value=float("inf"))}, "the result.m.value is inf"),
        ({"price": Price(Decimal("NaN"), date(2026, 1, 1), float("nan"))}, "the result.price.share is nan"),
        ({1: "a"}, "the result has the key 1"),
        ({"a": {None: 1}}, "the result.a has the key None"),
        ({"a": "\ud800"}, "the result.a holds half of a surrogate pair"),
        ({"\udc00": 1}, "holds half of a surrogate pair"),
        ([1 << 20_000], "the result[0] is an integer of more than"),
        ({"d": datetime(2026, 1, 1, tzinfo=UTC), "s": {"x"}}, "the result.s is of type set"),
    ],
)
def test_what_cannot_be_encoded_is_named_with_its_path(value: Any, told: str) -> None:
    error = _refusal(value)
    assert error.code == "INVALID_INPUT"
    assert told in error.message


class _Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


@dataclass
class _Holder:
    inside: Any

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [_Hostile(), [_Hostile()], {"a": _Hostile()}, _Holder(_Hostile()), _Holder(_Plain())])
def test_a_value_that_refuses_to_be_shown_is_refused_like_any_other(value: Any) -> None:
    assert _refusal(value).code == "INVALID_INPUT"


def test_a_message_does_not_show_the_whole_of_a_large_value() -> None:
    error = _refusal([_Holder({"x" * 10_000: _Plain()}), "y" * 100_000])
    assert len(error.message) < 600


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_nesting_is_taken_up_to_the_limit(wrap: Callable[[Any], Any]) -> None:
    value: Any = date(2026, 1, 1)
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert "2026-01-01" in encode_value(value, what="x")
    error = _refusal(wrap(value))
    assert f"more than {MAX_DEPTH} levels deep" in error.message


@pytest.mark.parametrize("levels", [MAX_DEPTH, 10_000])
def test_dataclasses_in_dataclasses_are_counted_too(levels: int) -> None:
    value: Any = _Deep(None)
    for _ in range(levels):
        value = _Deep(value)
    assert _refusal(value).code == "INVALID_INPUT"


@dataclass(repr=False)
class _Deep:
    inside: Any


def test_a_value_that_contains_itself_is_refused() -> None:
    round_list: list[Any] = []
    round_list.append(round_list)
    round_dataclass = _Deep(None)
    round_dataclass.inside = [round_dataclass]
    for value in (round_list, {"a": round_list}, round_dataclass):
        assert _refusal(value).code == "INVALID_INPUT"


def test_a_small_value_that_unfolds_without_end_is_refused() -> None:
    value: Any = None
    for _ in range(40):
        value = [value] * 1000
    assert _refusal(value).code == "PAYLOAD_TOO_LARGE"


def test_a_long_key_is_not_copied_for_every_value_under_it() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH - 1):
        value = {"k" * 20_000: value}
    size = len(json.dumps(value))
    tracemalloc.start()
    encode_value(value, what="x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * size
