"""Lines that no receiver writes for a dispatch: not JSON, not of the protocol, or about what was not sent in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from lunorash.scheduler.job import Dispatch

__all__ = ["garbage"]


def garbage(number: int, dispatch: Dispatch) -> str:
    """A line of garbage, with its line break.

    Args:
        number: which; any number will do.
        dispatch: what it pretends to answer.
    """
    return _LINES[number % len(_LINES)](dispatch) + "\n"


def _result(dispatch: Dispatch, **fields: Any) -> str:
    attempt = dispatch.attempts[0] if dispatch.attempts else None
    result = {
        "job": attempt.job if attempt else "job0",
        "attempt": attempt.number if attempt else 1,
        "outcome": "ok",
        **fields,
    }
    return json.dumps({"type": "results", "results": [result]})


def _foreign(dispatch: Dispatch, job: str) -> str:
    carried = any(attempt.job == job for attempt in dispatch.attempts)
    return _result(dispatch, job="nobody" if carried else job, attempt=1)


_LINES: Final[tuple[Callable[[Dispatch], str], ...]] = (
    lambda _: "<p>gateway</p>",
    lambda _: "",
    lambda _: '{"type": "end"',
    lambda _: '{"type": "results", "results": null}',
    lambda _: "[" * 5_000,
    lambda _: '{"type": "heartbeat", "type": "end"}',
    lambda dispatch: _result(dispatch, outcome="perhaps"),
    lambda dispatch: _result(dispatch, attempt="1"),
    lambda dispatch: _result(dispatch, attempt=0),
    lambda dispatch: _result(dispatch, attempt=10**30),
    # of the protocol, but about attempts that are not this dispatch's: nothing may come of it, and the stream goes on
    lambda dispatch: _foreign(dispatch, "job0"),
    lambda dispatch: _foreign(dispatch, "job1"),
    lambda dispatch: _foreign(dispatch, "job2"),
    lambda dispatch: _foreign(dispatch, "job3"),
    lambda dispatch: _result(dispatch, attempt=(dispatch.attempts[0].number if dispatch.attempts else 1) + 1),
    lambda dispatch: _result(dispatch, job="nobody"),
)
