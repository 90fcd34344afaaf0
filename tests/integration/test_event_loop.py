"""What a Worker's event loop costs on workerd."""

from __future__ import annotations

from tests.integration.conftest import Launch


def test_a_task_takes_a_turn_to_start_and_one_to_be_heard_of(launch: Launch) -> None:
    """Pyodide's loop adds a third, to count it: if it has another way to do that now, `lunorash.event_loop` is void."""
    assert launch().call("GET", "/test/turns").json() == {"turns": 2}
