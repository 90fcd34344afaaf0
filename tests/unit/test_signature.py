from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from lunorash.errors import LunoraError
from lunorash.signature import Signature


class Plan(Enum):
    PRO = "pro"


@dataclass
class Price:
    amount: Decimal
    secret: bytes = b"\xff"


class Import(BaseModel):
    names: list[str] = Field(min_length=1)
    strict_count: int = 0


class Row(TypedDict):
    plan: str


def _parse(function: Callable[..., Any], args: Any) -> dict[str, Any]:
    return Signature(function, "trials:start_trial").parse(json.dumps(args))


def _refusal(function: Callable[..., Any], args: Any) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        _parse(function, args)
    error = raised.value
    assert (error.code, error.status) == ("INVALID_INPUT", 400)
    assert error.message.startswith("the arguments of trials:start_trial are not what it takes: ")
    return error


def _unusable(function: Callable[..., Any]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        Signature(function, "trials:start_trial")
    assert (raised.value.code, raised.value.status) == ("FUNCTION_INVALID", 500)
    assert "trials:start_trial" in raised.value.message
    return raised.value


def _spoiled(function: Callable[..., Any], value: Any) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        Signature(function, "trials:trial").encode(value)
    assert (raised.value.code, raised.value.status) == ("RESULT_INVALID", 500)
    assert raised.value.message.startswith("trials:trial returned ")
    return raised.value


def _with_parameter(name: str) -> Callable[..., Any]:
    """A function with a parameter of any name."""
    namespace: dict[str, Any] = {}
    exec(f"def function(ctx, {name}): return {name}", namespace)  # noqa: S102
    function: Callable[..., Any] = namespace["function"]
    function.__annotations__ = {name: int}
    return function


# -- arguments -----------------------------------------------------------------------------------------------


async def start_trial(ctx: Any, plan: Literal["pro", "team"], days: int = 14) -> None: ...


def test_arguments_that_fit_are_given_with_the_defaults_of_the_rest() -> None:
    assert _parse(start_trial, {"plan": "pro"}) == {"plan": "pro", "days": 14}
    assert _parse(start_trial, {"days": 2**70, "plan": "team"}) == {"plan": "team", "days": 2**70}


def test_every_field_that_is_wrong_is_named_with_its_path_and_its_reason() -> None:
    def function(ctx: Any, plan: Literal["pro"], prices: list[Price], at: date, days: int = 14) -> None: ...

    error = _refusal(
        function, {"plan": "gold", "prices": [{"amount": "1"}, {"amount": "x", "more": 1}], "days": "5", "dayz": 5}
    )
    problems = {problem["path"]: problem["reason"] for problem in error.data}
    assert set(problems) >= {"plan", "prices.1.amount", "at", "days", "dayz"}
    assert "'pro'" in problems["plan"]
    assert "required" in problems["at"]
    assert "valid integer" in problems["days"]
    assert "not permitted" in problems["dayz"]
    for path, reason in problems.items():
        assert f"{path}: {reason}" in error.message


def test_what_was_refused_is_not_repeated() -> None:
    def function(ctx: Any, password: int, at: datetime, price: Decimal, plan: Plan) -> None: ...

    error = _refusal(function, dict.fromkeys(("password", "at", "price", "plan"), "hunter2"))
    assert len(error.data) == 4
    assert "hunter2" not in f"{error.message}{error.data}"


def test_a_refusal_stays_short_whatever_is_sent() -> None:
    error = _refusal(start_trial, {"plan": "pro", **{"x" * 10_000 + str(number): 1 for number in range(1_000)}})
    assert len(error.message) < 5_000
    assert 0 < len(error.data) <= 20


@pytest.mark.parametrize("args", [[], None, 5, "pro", [["plan", "pro"]]])
def test_arguments_are_an_object(args: Any) -> None:
    assert [problem["path"] for problem in _refusal(start_trial, args).data] == [""]
    assert "args: " in _refusal(start_trial, args).message


@pytest.mark.parametrize("text", ["", "{", '{"plan": "pro"', '{"plan": NaN}', b"\xff", '{"plan": "pro"} x'])
def test_text_that_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(LunoraError) as raised:
        Signature(start_trial, "m:f").parse(text)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("annotation", "sent", "taken"),
    [
        (int, 5, 5),
        (int, 2**63, 2**63),
        (float, 1, 1.0),
        (float, 1.5, 1.5),
        (date, "2026-12-01", date(2026, 12, 1)),
        (datetime, "2026-12-01T09:30:00Z", datetime(2026, 12, 1, 9, 30, tzinfo=UTC)),
        (timedelta, "P14D", timedelta(days=14)),
        (Decimal, "9.90", Decimal("9.90")),
        (UUID, "00000000-0000-0000-0000-000000000005", UUID(int=5)),
        (bytes, "__4=", b"\xff\xfe"),
        (Plan, "pro", Plan.PRO),
        (Price, {"amount": "1", "secret": "__4="}, Price(Decimal(1), b"\xff\xfe")),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1, 2], {1, 2}),
        (int | str, "5", "5"),
        (int | None, None, None),
        (dict[str, date], {"a": "2026-01-02"}, {"a": date(2026, 1, 2)}),
        (Annotated[int, Field(ge=1)], 1, 1),
        (Any, {"a": [1, 1.0, None]}, {"a": [1, 1.0, None]}),
    ],
)
def test_json_is_read_as_the_annotation_says(annotation: Any, sent: Any, taken: Any) -> None:
    def function(ctx: Any, value: Any) -> None: ...

    function.__annotations__ = {"value": annotation}
    value = _parse(function, {"value": sent})["value"]
    assert value == taken
    assert type(value) is type(taken)


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (int, "5"),
        (int, 5.0),
        (int, 5.5),
        (int, True),
        (int, None),
        (float, "1.5"),
        (float, True),
        (bool, 1),
        (bool, "true"),
        (str, 5),
        (str, None),
        (bytes, "no base64!"),
        (date, "tomorrow"),
        (date, "2026-02-30"),
        (date, "2026-12-01T09:30:00Z"),
        (date, 0),
        (datetime, 0),
        (timedelta, 5),
        (Decimal, "NaN"),
        (Decimal, "a"),
        (UUID, "5"),
        (Plan, "PRO"),
        (Price, ["1"]),
        (list[int], {"0": 1}),
        (list[int], "12"),
        (dict[str, int], [["a", 1]]),
        (Annotated[int, Field(ge=1)], 0),
        (Literal["1"], 1),
    ],
)
def test_what_only_looks_like_it_is_refused(annotation: Any, sent: Any) -> None:
    def function(ctx: Any, value: Any) -> None: ...

    function.__annotations__ = {"value": annotation}
    paths = [problem["path"] for problem in _refusal(function, {"value": sent}).data]
    assert all(path == "value" or path.startswith("value.") for path in paths)
    assert paths


def test_parameters_may_be_keyword_only_and_need_no_annotation() -> None:
    def function(ctx: Any, *, plan: str, more=None) -> None: ...  # type: ignore[no-untyped-def]

    assert _parse(function, {"plan": "pro", "more": [1]}) == {"plan": "pro", "more": [1]}
    assert _parse(function, {"plan": "pro"}) == {"plan": "pro", "more": None}


def test_a_default_that_is_changed_by_one_call_is_whole_again_for_the_next() -> None:
    def function(ctx: Any, names: list[str] = []) -> None: ...  # noqa: B006 - that is what is tested

    signature = Signature(function, "m:f")
    signature.parse("{}")["names"].append("changed")
    assert signature.parse("{}") == {"names": []}


def test_the_context_may_be_positional_only_and_have_any_name() -> None:
    def function(_c: Any, /, ctx: int) -> None: ...

    assert _parse(function, {"ctx": 5}) == {"ctx": 5}


def test_a_function_without_parameters_takes_no_arguments() -> None:
    def function(ctx: Any) -> None: ...

    assert _parse(function, {}) == {}
    assert [problem["path"] for problem in _refusal(function, {"ctx": 1}).data] == ["ctx"]


# -- a single model ------------------------------------------------------------------------------------------


def import_names(ctx: Any, batch: Import) -> None: ...


def test_the_fields_of_a_single_model_are_the_arguments() -> None:
    assert _parse(import_names, {"names": ["a"]}) == {"batch": Import(names=["a"])}


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({}, "names"),
        ({"names": []}, "names"),
        ({"names": ["a", 5]}, "names.1"),
        ({"names": ["a"], "strict_count": "5"}, "strict_count"),
        ({"names": ["a"], "nmaes": ["b"]}, "nmaes"),
        ({"batch": {"names": ["a"]}}, "names"),
    ],
)
def test_what_does_not_fit_a_single_model_is_refused_by_its_own_path(args: Any, path: str) -> None:
    assert path in [problem["path"] for problem in _refusal(import_names, args).data]


def test_a_model_that_says_so_takes_unknown_fields() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Loose(BaseModel):
        model_config = ConfigDict(extra="ignore")
        open: Open

    def function(ctx: Any, loose: Any) -> None: ...

    function.__annotations__ = {"loose": Loose}
    taken = _parse(function, {"open": {"a": 1}, "b": 2})["loose"]
    assert type(taken) is Loose
    assert taken.model_dump() == {"open": {"a": 1}}


def test_a_model_beside_another_parameter_is_an_argument_like_any_other() -> None:
    def function(ctx: Any, batch: Import, dry: bool = False) -> None: ...

    assert _parse(function, {"batch": {"names": ["a"]}}) == {"batch": Import(names=["a"]), "dry": False}
    assert [problem["path"] for problem in _refusal(function, {"batch": {"names": 5}}).data] == ["batch.names"]


def test_what_a_validator_of_the_app_says_is_the_reason() -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def _even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("it must be even")
            return number

    def function(ctx: Any, even: Any) -> None: ...

    function.__annotations__ = {"even": Even}
    (problem,) = _refusal(function, {"number": 5}).data
    assert problem["path"] == "number"
    assert "it must be even" in problem["reason"]


# -- any further arguments -----------------------------------------------------------------------------------


def test_a_function_may_take_any_further_arguments() -> None:
    def function(ctx: Any, plan: str, **more: Any) -> None: ...

    args = {"plan": "pro", "a": [1.0], "argument_0": 1, "self": 2, "model_config": 3}
    assert _parse(function, args) == args
    assert [problem["path"] for problem in _refusal(function, {"a": 1}).data] == ["plan"]


def test_further_arguments_are_what_their_annotation_says() -> None:
    def function(ctx: Any, **more: date) -> None: ...

    assert _parse(function, {"a": "2026-01-02"}) == {"a": date(2026, 1, 2)}
    assert [problem["path"] for problem in _refusal(function, {"a": "2026-01-02", "b": 5}).data] == ["b"]

    def count(ctx: Any, **more: int) -> None: ...

    assert _parse(count, {"a": 5}) == {"a": 5}
    assert [problem["path"] for problem in _refusal(count, {"a": "5"}).data] == ["a"], "as strictly as the others"


def test_the_context_cannot_be_sent_as_a_further_argument() -> None:
    def function(ctx: Any, **more: Any) -> None: ...

    assert [problem["path"] for problem in _refusal(function, {"ctx": {"user_id": "admin"}}).data] == ["ctx"]


# -- names ---------------------------------------------------------------------------------------------------

_NAMES = [
    "self", "cls", "args", "kwargs", "schema", "json", "copy", "dict", "validate", "construct", "parse_obj", "fields",
    "model_config", "model_fields", "model_extra", "model_fields_set", "model_dump", "model_validate", "model_name",
    "_x", "__x", "_", "__doc__", "__config__", "__base__", "__module__", "argument_0", "field_name", "name", "größe",
]  # fmt: skip


@pytest.mark.parametrize("name", _NAMES)
def test_a_parameter_may_have_any_name(name: str) -> None:
    function = _with_parameter(name)
    taken = _parse(function, {name: 5})
    assert taken == {name: 5}
    assert function(None, **taken) == 5
    assert [problem["path"] for problem in _refusal(function, {name: "5"}).data] == [name]
    assert [problem["path"] for problem in _refusal(function, {}).data] == [name]


@given(st.from_regex(r"[a-z_][a-z_0-9]{0,12}", fullmatch=True).map(lambda name: f"{name}_"))
def test_a_parameter_may_have_any_name_that_python_takes(name: str) -> None:
    assert _parse(_with_parameter(name), {name: 5}) == {name: 5}


# -- functions that cannot be used ---------------------------------------------------------------------------


def test_a_function_without_a_context_is_refused() -> None:
    def nothing() -> None: ...
    def star(*ctx: Any) -> None: ...
    def keyword(*, ctx: Any) -> None: ...
    def keywords(**ctx: Any) -> None: ...

    for function in (nothing, star, keyword, keywords):
        assert "its first parameter is the context" in _unusable(function).message


def test_a_parameter_that_cannot_be_given_by_name_is_refused() -> None:
    def positional(ctx: Any, plan: str, /) -> None: ...
    def star(ctx: Any, *plans: str) -> None: ...

    assert "'plan'" in _unusable(positional).message
    assert "'plans'" in _unusable(star).message


@pytest.mark.parametrize("annotation", ["Missing", "datetime.Missing", "list[Missing]", "1 +", "UTC.missing", "5 / 0"])
@pytest.mark.parametrize("where", ["plan", "return"])
def test_an_annotation_that_does_not_exist_is_refused(annotation: str, where: str) -> None:
    def function(ctx: Any, plan: Any = None) -> Any: ...

    function.__annotations__ = {where: annotation}
    _unusable(function)


class _Unknown:
    pass


@pytest.mark.parametrize("annotation", [_Unknown, object(), 5, list[_Unknown]])
@pytest.mark.parametrize("where", ["plan", "return"])
def test_a_type_that_cannot_be_validated_is_refused(annotation: Any, where: str) -> None:
    def function(ctx: Any, plan: Any = None) -> Any: ...

    function.__annotations__ = {where: annotation}
    _unusable(function)


def test_what_has_no_signature_is_refused() -> None:
    _unusable(dict)


# -- results -------------------------------------------------------------------------------------------------


def test_a_result_is_encoded_as_its_annotation_says() -> None:
    def prices(ctx: Any) -> dict[str, list[Price]]: ...  # type: ignore[empty-body]

    text = Signature(prices, "m:f").encode({"a": [Price(Decimal("1.50"), b"\xff\xfe")]})
    assert json.loads(text) == {"a": [{"amount": "1.50", "secret": "__4="}]}


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (Price, Price(Decimal(1)), '{"amount":"1","secret":"_w=="}'),
        (Price, {"amount": "1"}, '{"amount":"1","secret":"_w=="}'),
        (Import, Import(names=["a"]), '{"names":["a"],"strict_count":0}'),
        (Row, {"plan": "pro"}, '{"plan":"pro"}'),
        (Row | None, None, "null"),
        (tuple[int, ...], (1, 2), "[1,2]"),
        (list[bytes], [b"\xff\xfe"], '["__4="]'),
        (timedelta, timedelta(days=14), '"P14D"'),
        (float, 1, "1.0"),
        (int, 2**70, str(2**70)),
        (None, None, "null"),
        (Any, {"a": 1}, '{"a":1}'),
    ],
)
def test_a_result_may_be_of_any_type_that_json_can_carry(annotation: Any, value: Any, text: str) -> None:
    def function(ctx: Any) -> Any: ...

    function.__annotations__ = {"return": annotation}
    assert Signature(function, "m:f").encode(value) == text


def test_without_an_annotation_whatever_can_be_encoded_is_returned() -> None:
    def function(ctx): ...  # type: ignore[no-untyped-def]

    signature = Signature(function, "m:f")
    assert signature.encode({"at": date(2026, 1, 2)}) == '{"at":"2026-01-02"}'
    assert signature.encode(None) == "null"


def test_a_field_that_the_annotation_does_not_have_is_not_sent() -> None:
    def function(ctx: Any) -> Row: ...  # type: ignore[empty-body]

    assert "hunter2" not in Signature(function, "m:f").encode({"plan": "pro", "password": "hunter2"})


@pytest.mark.parametrize(
    ("annotation", "value", "told"),
    [
        (str, None, "valid string"),
        (str, 5, "valid string"),
        (int, "many", "valid integer"),
        (None, 5, "None"),
        (None, {"secret": "hunter2"}, "None"),
        (list[int], [1, "x"], "1: "),
        (Row, {}, "plan: "),
        (Row, None, "dictionary"),
        (Price, {"amount": "x"}, "amount: "),
        (Literal["pro"], "team", "'pro'"),
        (Annotated[int, Field(ge=1)], 0, "greater than or equal to 1"),
    ],
)
def test_a_result_that_is_something_else_than_its_annotation_is_refused(annotation: Any, value: Any, told: str) -> None:
    def function(ctx: Any) -> Any: ...

    function.__annotations__ = {"return": annotation}
    error = _spoiled(function, value)
    assert "something else than its annotation says" in error.message
    assert told in error.message
    assert "hunter2" not in error.message


class _Text(BaseModel):
    text: bytes


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Any, {1, 2}),
        (Any, [_Unknown()]),
        (Any, float("nan")),
        (float, float("nan")),
        (list[float], [1.0, float("inf")]),
        (Any, (number for number in [1])),
        (_Text, _Text(text=b"\xff")),
        (list[_Text], [_Text(text=b"\xff")]),
        (str, "\ud800"),
        (dict[int, int], 5),
    ],
)
def test_a_result_that_cannot_be_encoded_is_refused(annotation: Any, value: Any) -> None:
    def function(ctx: Any) -> Any: ...

    function.__annotations__ = {"return": annotation}
    _spoiled(function, value)


def test_a_generator_is_no_result() -> None:
    def plain(ctx: Any) -> Any:
        yield 1

    async def asynchronous(ctx: Any) -> Any:
        yield 1

    for function in (plain, asynchronous):
        assert "generator" in _spoiled(function, function(None)).message


def test_a_result_that_is_announced_as_a_stream_is_refused_in_one_way_or_the_other() -> None:
    def plain(ctx: Any) -> Iterator[int]:
        yield 1

    async def asynchronous(ctx: Any) -> AsyncIterator[int]:
        yield 1

    for function in (plain, asynchronous):
        with pytest.raises(LunoraError) as raised:
            Signature(function, "m:f").encode(function(None))
        assert raised.value.code in ("FUNCTION_INVALID", "RESULT_INVALID")


# -- the check when a job is scheduled -----------------------------------------------------------------------


def test_a_check_refuses_what_parsing_refuses() -> None:
    signature = Signature(start_trial, "trials:start_trial")
    signature.check({"plan": "pro"})
    with pytest.raises(LunoraError) as raised:
        signature.check({"plan": "gold"})
    assert raised.value.code == "INVALID_INPUT"
