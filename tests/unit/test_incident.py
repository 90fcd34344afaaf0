from __future__ import annotations

import sys

from lunorash.incident import MAX_TRACE, is_library, trace_of


def _raise(error: BaseException) -> None:
    raise error


def _trace(error: BaseException) -> str | None:
    try:
        _raise(error)
    except BaseException as raised:  # noqa: BLE001
        return trace_of(raised)
    return None


def test_a_trace_has_a_line_for_each_frame_with_the_innermost_last() -> None:
    trace = _trace(ValueError("a secret"))
    assert trace is not None
    assert [line.rpartition(" in ")[2] for line in trace.splitlines()] == ["_trace", "_raise"]
    assert all(line.startswith("tests/unit/test_incident.py:") for line in trace.splitlines()), trace
    assert "secret" not in trace


def test_what_is_not_of_the_app_is_left_out() -> None:
    assert is_library("<frozen importlib._bootstrap>")
    assert is_library(sys.modules["asyncio"].__file__ or "")
    assert is_library("/session/metadata/python_modules/httpx/_client.py")
    assert not is_library("/session/metadata/lunora/billing.py")
    assert trace_of(ValueError("never raised")) is None


def test_an_endless_recursion_is_told_in_a_few_lines() -> None:
    def again(depth: int) -> int:
        return again(depth + 1)

    try:
        again(0)
    except RecursionError as error:
        trace = trace_of(error)
    assert trace is not None
    assert len(trace.splitlines()) == 10


def test_causes_that_go_round_in_a_circle_come_to_an_end() -> None:
    first, second = ValueError("a"), KeyError("b")
    first.__cause__, second.__cause__ = second, first
    assert _trace(first) is not None


def test_a_trace_is_no_longer_than_it_may_be_and_is_text() -> None:
    name = "x" * 3_000
    scope: dict[str, object] = {}
    code = compile(f"def {name}(n):\n    return {name}(n - 1) if n else 1 / 0", "half\udc80.py", "exec")
    exec(code, scope)  # noqa: S102
    try:
        scope[name](20)  # type: ignore[operator]
    except ZeroDivisionError as error:
        trace = trace_of(error)
    assert trace is not None
    assert len(trace) == MAX_TRACE
    trace.encode()
