from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lunorash
from lunorash.errors import STATUS_BY_CODE, LunoraError, shown
from lunorash.http import HttpAnswer
from lunorash.incident import report


@pytest.mark.parametrize(("code", "status"), STATUS_BY_CODE.items())
def test_a_code_brings_its_status(code: str, status: int) -> None:
    assert LunoraError(code, "why").status == status
    assert 400 <= status < 600


def test_a_code_of_the_apps_own_is_a_500_unless_it_says_otherwise() -> None:
    assert LunoraError("CARD_DECLINED", "no").status == 500
    assert LunoraError("CARD_DECLINED", "no", status=402).status == 402
    assert LunoraError("NOT_FOUND", "gone", status=410).status == 410


def test_an_error_reads_as_code_and_message() -> None:
    error = LunoraError("NOT_FOUND", "there is nothing")
    assert str(error) == "NOT_FOUND: there is nothing"
    assert error.to_dict() == {"code": "NOT_FOUND", "message": "there is nothing"}


@pytest.mark.parametrize("data", [0, "", [], {}, False, {"field": "delay"}])
def test_data_travels_with_the_error_even_if_it_is_empty(data: object) -> None:
    assert LunoraError("X", "y", data=data).to_dict() == {"code": "X", "message": "y", "data": data}


def test_an_error_survives_a_copy_between_processes() -> None:
    copied = pickle.loads(pickle.dumps(LunoraError("NOT_FOUND", "gone", status=410, data={"a": 1})))  # noqa: S301
    assert (copied.code, copied.message, copied.status, copied.data) == ("NOT_FOUND", "gone", 410, {"a": 1})


def test_the_table_of_codes_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        STATUS_BY_CODE["X"] = 200  # type: ignore[index]


def test_every_code_raised_inside_a_worker_is_in_the_table() -> None:
    """An unlisted code would answer 500 whatever it means."""
    root = Path(lunorash.__file__).parent
    raised = {
        node.args[0].value
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0]
        not in {"cli", "codegen", "config", "doctor", "registry", "template", "testing"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "LunoraError"
        if isinstance(node.args[0], ast.Constant)
    }
    assert "INVALID_INPUT" in raised
    assert raised <= set(STATUS_BY_CODE)


def test_an_error_is_answered_as_json_with_its_status() -> None:
    answer = HttpAnswer.of_error(LunoraError("DUPLICATE_SCHEDULE_ID", "taken"))
    assert answer.status == 409
    assert answer.text == '{"error": {"code": "DUPLICATE_SCHEDULE_ID", "message": "taken"}}'


# -- what nobody expected ------------------------------------------------------------------------------------


def _incident(capsys: pytest.CaptureFixture[str]) -> tuple[LunoraError, str]:
    secret = "hunter2"
    try:
        raise ValueError(secret)
    except ValueError as error:
        told = report("the test", error)
    return told, capsys.readouterr().out


def test_an_unexpected_error_is_told_without_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    told, logged = _incident(capsys)
    assert told.code == "INTERNAL"
    assert told.status == 500
    assert "hunter2" not in str(told) + logged
    assert "ValueError at _incident line" in logged


def test_its_answer_and_its_log_line_share_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    told, logged = _incident(capsys)
    number = told.message.rsplit(" ", 1)[1]
    assert len(number) == 12
    assert f"incident {number} in the test" in logged
    assert logged.count("\n") == 1


def test_an_error_that_was_never_raised_can_be_reported_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert report("the test", ValueError()).code == "INTERNAL"
    assert "ValueError at unknown place" in capsys.readouterr().out


# -- values in messages --------------------------------------------------------------------------------------


class _Unshowable:
    def __repr__(self) -> str:
        raise ValueError


@given(st.one_of(st.text(), st.integers(), st.lists(st.text()), st.binary(max_size=500)), st.integers(10, 100))
def test_a_refused_value_is_shown_up_to_a_limit(value: object, limit: int) -> None:
    assert 0 < len(shown(value, limit)) <= limit
    if len(repr(value)) <= limit:
        assert shown(value, limit) == repr(value)


@pytest.mark.parametrize("value", [pytest.param(10**5000, id="an integer of 5,001 digits"), _Unshowable()])
def test_a_value_that_cannot_be_shown_is_named_by_its_type(value: object) -> None:
    assert type(value).__name__ in shown(value)
