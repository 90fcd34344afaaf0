from __future__ import annotations

from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.refs import check_function_path


@pytest.mark.parametrize(
    "path", ["m:f", "billing:end_trial", "crons.jobs:run", "_a._b:_c", "A1.b2:C3", "a" * 100 + ":" + "b" * 99]
)
def test_a_function_path_is_kept_as_it_is(path: str) -> None:
    assert check_function_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        ":",
        "m",
        "m:",
        ":f",
        "m:f:g",
        "m.:f",
        ".m:f",
        "m..n:f",
        "m:f.g",
        "m: f",
        " m:f",
        "m:f\n",
        "1m:f",
        "m:1f",
        "m-n:f",
        "m/n:f",
        "ü:f",
        "m:f()",
        "../m:f",
        "a" * 100 + ":" + "b" * 100,
        "x" * 1_000_000,
        None,
        5,
        b"m:f",
        ["m:f"],
        object(),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_function_path_is_refused_with_an_example(path: Any) -> None:
    with pytest.raises(LunoraError, match='such as "billing:end_trial"') as raised:
        check_function_path(path)
    assert raised.value.code == "INVALID_INPUT"
    assert len(raised.value.message) < 300
