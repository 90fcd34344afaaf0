from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from lunorash.errors import LunoraError
from lunorash.scheduler.live import EXPIRED, PAUSE_S, Live
from lunorash.studio.live_route import LIVE_ROUTE
from tests.unit.requests import a_request
from tests.unit.scheduler_object import ADMIN_TOKEN, environment

NOW = 1_800_000_000_000


class Connection:
    def __init__(self, until: int = NOW + 1) -> None:
        self.until = until
        self.sent: list[str] = []
        self.closed: int | None = None

    def send(self, text: str) -> None:
        self.sent.append(text)

    def close(self, code: int, reason: str) -> None:
        self.closed = code


class Timers:
    """A loop's timers, which fire when they are told to."""

    def __init__(self) -> None:
        self.set: list[tuple[float, object]] = []

    def call_later(self, delay: float, work: object) -> None:
        self.set.append((delay, work))

    def fire(self) -> None:
        waiting, self.set = self.set, []
        for _, work in waiting:
            work()  # type: ignore[operator]


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Timers]:
    made = Timers()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: made)
    return made  # type: ignore[return-value]


def test_any_number_of_changes_is_told_once(timers: Timers) -> None:
    one, other = Connection(), Connection()
    live = Live(lambda: [one, other], lambda: NOW)
    live.look()
    for _ in range(1_000):
        live.changed()
    assert [delay for delay, _ in timers.set] == [PAUSE_S]
    assert one.sent == []
    timers.fire()
    assert one.sent == other.sent == [f'{{"changed": {NOW}}}']
    live.changed()
    timers.fire()
    assert len(one.sent) == 2


def test_while_nobody_watches_a_change_does_nothing_at_all(timers: Timers) -> None:
    asked = 0

    def watchers() -> list[Connection]:
        nonlocal asked
        asked += 1
        return []

    live = Live(watchers, lambda: NOW)
    live.look()
    for _ in range(10):
        live.changed()
    assert (asked, timers.set) == (1, [])


def test_the_last_who_has_gone_is_noticed_with_the_next_notice(timers: Timers) -> None:
    connections = [Connection()]
    live = Live(lambda: connections, lambda: NOW)
    live.look()
    live.changed()
    connections.clear()
    timers.fire()
    live.changed()
    assert timers.set == []


def test_who_is_signed_in_no_more_is_told_nothing_and_sent_away(timers: Timers) -> None:
    ended, good = Connection(until=NOW), Connection(until=NOW + 1)
    live = Live(lambda: [ended, good], lambda: NOW)
    live.look()
    live.changed()
    timers.fire()
    assert (ended.sent, ended.closed) == ([], EXPIRED)
    assert (len(good.sent), good.closed) == (1, None)


async def test_the_path_is_for_web_sockets() -> None:
    bearer = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    with pytest.raises(LunoraError) as raised:
        await LIVE_ROUTE.handler(a_request(env=environment(), headers=bearer))
    assert (raised.value.code, raised.value.status) == ("UPGRADE_REQUIRED", 426)


async def test_nobody_watches_who_may_not() -> None:
    with pytest.raises(LunoraError) as raised:
        await LIVE_ROUTE.handler(a_request(env=environment(), headers={"upgrade": "websocket"}))
    assert raised.value.code == "ADMIN_FORBIDDEN"
