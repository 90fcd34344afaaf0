from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lunorash.cli.app_crons import AppCrons
from lunorash.cli.cron_firing import CronFiring
from lunorash.cli.output import Format, Output
from lunorash.codegen.crons import AppCron

from .sources import DIGEST, SWEEP, WEEKLY

EIGHT = datetime(2026, 1, 5, 8, tzinfo=UTC)  # a Monday


class Sources(AppCrons):
    """An app whose sources are what a test says."""

    def __init__(self, *crons: AppCron) -> None:
        self.crons = crons
        self.following: list[tuple[AppCron, ...]] = []

    def refresh(self) -> bool:
        if self.following:
            self.crons = self.following.pop(0)
            return True
        return False


class Rig:
    """Crons that are fired on a Worker that does as it is told, at a time that is set by hand."""

    def __init__(self, *crons: AppCron, format: Format = Format.JSON) -> None:  # noqa: A002
        self.now = EIGHT - timedelta(minutes=1)
        self.sources = Sources(*crons)
        self.fired: list[tuple[str, int]] = []
        self.outcome: Callable[[], dict[str, Any]] = lambda: {"outcome": "ok", "noRetry": False}
        self.firing = CronFiring(self.sources, self._fire, Output(format), lambda: self.now)

    def _fire(self, expression: str, at: int) -> dict[str, Any]:
        self.fired.append((expression, at))
        return self.outcome()

    def at(self, now: datetime) -> None:
        """Look at a time, and wait for what that has started."""
        self.now = now
        before = set(threading.enumerate())
        self.firing.look()
        for thread in set(threading.enumerate()) - before:
            thread.join(10)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_trigger_fires_once_for_all_its_jobs(told: Callable[[], list[dict[str, Any]]]) -> None:
    rig = Rig(DIGEST, WEEKLY, SWEEP)
    rig.at(EIGHT + timedelta(seconds=2))
    rig.at(EIGHT + timedelta(seconds=3))
    at = 1_767_600_000_000
    assert sorted(rig.fired) == [("*/5 * * * *", at), ("0 8 * * MON", at)]
    events = sorted(told(), key=lambda event: str(event["expression"]))
    assert [(event["event"], event["jobs"], event["outcome"]) for event in events] == [
        ("cron", ["digest", "sweep presence"], "ok"),
        ("cron", ["report"], "ok"),
    ]
    assert {event["scheduled_for"] for event in events} == {"2026-01-05T08:00:00Z"}
    assert all(isinstance(event["duration_ms"], int) for event in events)


def test_people_get_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(WEEKLY, format=Format.PRETTY)
    rig.at(EIGHT)
    assert capsys.readouterr().out == "==> cron 0 8 * * MON of 2026-01-05T08:00:00Z (report): ok (0.0 s)\n"
    rig.outcome = lambda: {"outcome": "exception"}
    rig.at(EIGHT + timedelta(days=7))
    assert "(report): exception; what went wrong is in the log above (0.0 s)" in capsys.readouterr().out


def test_a_worker_that_gives_no_outcome_stops_nothing(told: Callable[[], list[dict[str, Any]]]) -> None:
    rig = Rig(SWEEP)

    def broken() -> dict[str, Any]:
        raise OSError("connection reset")

    rig.outcome = broken
    rig.at(EIGHT)
    rig.outcome = dict
    rig.at(EIGHT + timedelta(minutes=5))
    assert [event["outcome"] for event in told()] == ["unknown", "unknown"]
    assert len(rig.fired) == 2


def test_a_run_that_takes_long_does_not_hold_up_the_next(told: Callable[[], list[dict[str, Any]]]) -> None:
    rig, goes_on = Rig(SWEEP), threading.Event()

    def slow() -> dict[str, Any]:
        assert goes_on.wait(30)
        return {"outcome": "ok"}

    rig.outcome = slow
    rig.now = EIGHT
    before = set(threading.enumerate())
    rig.firing.look()
    (run,) = set(threading.enumerate()) - before
    rig.outcome = lambda: {"outcome": "ok"}
    rig.at(EIGHT + timedelta(minutes=5))
    assert [event["scheduled_for"] for event in told()] == ["2026-01-05T08:05:00Z"]
    goes_on.set()
    run.join(10)  # what is written while the output is being read is lost
    assert [event["scheduled_for"] for event in told()] == ["2026-01-05T08:00:00Z"]


def test_what_was_missed_is_told_and_not_caught_up(
    told: Callable[[], list[dict[str, Any]]], capsys: pytest.CaptureFixture[str]
) -> None:
    rig = Rig(WEEKLY, SWEEP)
    rig.at(EIGHT + timedelta(minutes=12))
    assert rig.fired == []
    assert told() == [
        {
            "event": "cron_missed",
            "expression": "0 8 * * MON",
            "jobs": ["report"],
            "count": 1,
            "first": "2026-01-05T08:00:00Z",
            "last": "2026-01-05T08:00:00Z",
        },
        {
            "event": "cron_missed",
            "expression": "*/5 * * * *",
            "jobs": ["sweep presence"],
            "count": 3,
            "first": "2026-01-05T08:00:00Z",
            "last": "2026-01-05T08:10:00Z",
        },
    ]
    people = Rig(SWEEP, format=Format.PRETTY)
    people.at(EIGHT + timedelta(minutes=12))
    assert "cron */5 * * * * missed 3 from 2026-01-05T08:00:00Z to 2026-01-05T08:10:00Z" in capsys.readouterr().out


def test_changed_sources_are_told_and_fired(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(format=Format.PRETTY)
    rig.sources.following = [(SWEEP,)]
    rig.at(EIGHT + timedelta(minutes=1))
    rig.at(EIGHT + timedelta(minutes=5))
    assert [expression for expression, _ in rig.fired] == ["*/5 * * * *"]
    assert capsys.readouterr().out.splitlines()[:2] == [
        "==> crons, fired here as Cloudflare will; times are in UTC",
        "    sweep presence: Every 5 minutes, next 2026-01-05T08:05:00Z (in 4 min)",
    ]


def test_what_is_told_of_a_cron_holds_no_arguments(told: Callable[[], list[dict[str, Any]]]) -> None:
    """Events end up in log files."""
    rig = Rig()
    rig.sources.following = [(DIGEST,)]
    rig.at(EIGHT)
    crons, _ = told()
    assert [cron["name"] for cron in crons["crons"]] == ["digest"]
    assert "args" not in crons["crons"][0]


def test_it_stops_within_a_second_and_tells_nothing_more(told: Callable[[], list[dict[str, Any]]]) -> None:
    rig, goes_on = Rig(SWEEP), threading.Event()

    def slow() -> dict[str, Any]:
        goes_on.wait(30)
        return {"outcome": "ok"}

    rig.outcome = slow
    rig.firing.start()
    assert [event["event"] for event in told()] == ["crons"]
    before = set(threading.enumerate())
    rig.now = EIGHT
    rig.firing.look()
    (run,) = set(threading.enumerate()) - before
    begin = time.monotonic()
    rig.firing.stop()
    assert time.monotonic() - begin < 1
    goes_on.set()
    run.join(10)
    assert told() == []


def test_the_thread_fires_by_itself(told: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lunorash.cli.cron_firing._POLL_S", 0.01)
    rig = Rig(SWEEP)
    rig.firing.start()
    rig.now = EIGHT
    deadline = time.monotonic() + 10
    while not rig.fired and time.monotonic() < deadline:
        time.sleep(0.01)
    rig.firing.stop()
    assert rig.fired == [("*/5 * * * *", 1_767_600_000_000)]
