from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from lunorash.scheduler import dispatching
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.batching import BatchSizes
from lunorash.scheduler.dispatching import Answer, Dispatcher, Undelivered
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.job import Dispatch, NewJob, Result
from lunorash.scheduler.protocol import END, HEARTBEAT, encode_results
from lunorash.scheduler.retry import RetryPolicy
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.store import Row, SqliteStore

from .fake_time import in_fake_time

_HEARTBEAT = HEARTBEAT.decode().rstrip("\n")
_END = END.decode().rstrip("\n")


def _ok(job: str, attempt: int = 1) -> str:
    return encode_results([Result(job=job, attempt=attempt, outcome="ok")]).decode().rstrip("\n")


Script = Callable[["_Wire", Dispatch], AsyncIterator[str]]


class _Body:
    """An answer that says its lines and then ends."""

    def __init__(self, lines: AsyncIterator[str]) -> None:
        self._lines = lines
        self.closed = 0

    async def lines(self) -> AsyncGenerator[list[str]]:
        async for line in self._lines:
            yield [line]

    async def close(self) -> None:
        self.closed += 1


class _Wire:
    """A network of which every move is written in advance, with a scheduler at its end."""

    def __init__(self, script: Script | None = None, *, batch: int = 6) -> None:
        self.store = SqliteStore()
        migrate(self.store)
        self._minted = 0
        self.alarms: list[int | None] = []
        self.alarm = Alarm(self.alarms.append, lambda: self.alarms.append(None))
        self.engine = Engine(
            self.store,
            self.alarm,
            origin="https://app.example.com",
            room=lambda: self.dispatcher.room(),  # noqa: PLW0108 - the dispatcher comes after the engine
            random=lambda: 0.0,
            mint_id=self._mint,
            sizes=BatchSizes(actions=batch),
        )
        self.log: list[str] = []
        self.dispatcher = Dispatcher(self.engine, self, clock=self.now, log=self.log.append)
        self.script = script
        self.headers: Callable[[Dispatch], Any] = lambda _dispatch: None
        self.opened: list[str] = []
        self.bodies: list[_Body] = []
        self.awaiting = 0
        self.most_awaiting = 0

    def _mint(self) -> str:
        self._minted += 1
        return f"d{self._minted}"

    def now(self) -> int:
        return round(asyncio.get_running_loop().time() * 1000)

    async def open(self, dispatch: Dispatch) -> Answer:
        self.opened.append(dispatch.id)
        self.awaiting += 1
        self.most_awaiting = max(self.most_awaiting, self.awaiting)
        try:
            waited = self.headers(dispatch)
            if waited is not None:
                await waited
        finally:
            self.awaiting -= 1
        assert self.script is not None
        body = _Body(self.script(self, dispatch))
        self.bodies.append(body)
        return body

    def schedule(self, *jobs: str, timeout_ms: int = 600_000, retries: int = 5) -> None:
        self.engine.schedule(
            [
                NewJob(
                    id=job,
                    incarnation=f"{job}-call",
                    target="m:f",
                    args="{}",
                    due=self.now(),
                    retry=RetryPolicy(max_attempts=retries, base_ms=10_000).to_dict(),
                    timeout_ms=timeout_ms,
                )
                for job in jobs
            ],
            self.now(),
        )

    async def pass_and_join(self) -> None:
        self.dispatcher.run_pass()
        await self.dispatcher.join()

    def job(self, job: str = "j") -> Row:
        return self.store.execute("SELECT * FROM jobs WHERE id = ?", job)[0]

    def states(self, jobs: Iterable[str]) -> set[str]:
        return {self.job(job)["state"] for job in jobs}

    @property
    def open_dispatches(self) -> list[Row]:
        return self.store.execute("SELECT * FROM dispatches")


def _saying(*lines: str | float, begin: bool = True) -> Script:
    """A receiver that begins, then says its lines; a number is a pause in seconds."""

    async def script(wire: _Wire, dispatch: Dispatch) -> AsyncIterator[str]:
        if begin:
            assert wire.engine.begin(dispatch.id, wire.now())
        for line in lines:
            if isinstance(line, float):
                await asyncio.sleep(line)
            else:
                yield line

    return script


def _beats(every: float, count: int) -> list[str | float]:
    return [every, _HEARTBEAT] * count


async def _well(wire: _Wire, dispatch: Dispatch) -> AsyncIterator[str]:
    """A receiver that begins and succeeds."""
    assert wire.engine.begin(dispatch.id, wire.now())
    for attempt in dispatch.attempts:
        yield _ok(attempt.job, attempt.number)
    yield _END


# -- good answers --------------------------------------------------------------------------------------------


@in_fake_time
async def test_a_pass_sends_what_is_due_and_settles_what_is_answered() -> None:
    wire = _Wire(_well)
    wire.schedule("a", "b", "c")
    await wire.pass_and_join()
    assert wire.states("abc") == {"succeeded"}
    assert wire.open_dispatches == []
    assert [body.closed for body in wire.bodies] == [1, 1, 1]
    assert wire.log == []


@in_fake_time
async def test_a_pass_waits_for_nothing() -> None:
    """alarm() is one bounded pass: what it starts outlives it."""
    wire = _Wire(_saying(3600.0, _END))
    wire.schedule("j")
    wire.dispatcher.run_pass()
    assert wire.now() == 0
    assert wire.job()["state"] == "running"
    await wire.dispatcher.join()


@in_fake_time
async def test_a_result_counts_as_soon_as_it_is_read() -> None:
    wire = _Wire(_saying(1.0, _ok("j"), 100.0, _END))
    wire.schedule("j")
    wire.dispatcher.run_pass()
    await asyncio.sleep(2)
    assert wire.job()["state"] == "succeeded"
    await wire.dispatcher.join()
    assert wire.job()["ended"] == 1_000


@in_fake_time
async def test_heartbeats_renew_the_lease() -> None:
    wire = _Wire(_saying(*_beats(50.0, 6), _ok("j"), _END))
    wire.schedule("j")
    wire.dispatcher.run_pass()
    for _ in range(10):
        await asyncio.sleep(30)
        wire.dispatcher.run_pass()
        assert wire.job()["state"] in ("running", "succeeded")
    await wire.dispatcher.join()
    assert wire.job()["state"] == "succeeded"


# -- answers that are none -----------------------------------------------------------------------------------


@in_fake_time
async def test_an_answer_without_good_headers_refunds_and_says_why() -> None:
    async def refused() -> None:
        raise Undelivered("the origin answered 502")

    wire = _Wire()
    wire.headers = lambda _dispatch: refused()
    wire.schedule("j")
    await wire.pass_and_join()
    assert (wire.job()["state"], wire.job()["charged"]) == ("pending", 0)
    assert wire.job()["error_message"] == "the origin answered 502"
    assert wire.engine.breaker.look("https://app.example.com").reason == "the origin answered 502"


@in_fake_time
async def test_headers_are_due_in_fifteen_seconds_and_the_request_is_taken_back() -> None:
    taken_back: list[int] = []
    wire = _Wire()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            taken_back.append(wire.now())
            raise

    wire.headers = lambda _dispatch: never()
    wire.schedule("j")
    await wire.pass_and_join()
    assert taken_back == [15_000]
    assert wire.job()["state"] == "pending"
    assert wire.job()["error_message"] == "no answer within 15 s"


@in_fake_time
async def test_headers_that_never_come_after_it_began_leave_its_receiver_time_to_stop() -> None:
    wire = _Wire()

    async def begins_and_hangs() -> None:
        assert wire.engine.begin("d1", wire.now())
        await asyncio.Event().wait()

    wire.headers = lambda _dispatch: begins_and_hangs()
    wire.schedule("j")
    await wire.pass_and_join()
    assert wire.job()["state"] == "running"
    assert wire.open_dispatches[0]["lease"] == 15_000 + 35_000
    await asyncio.sleep(35)
    wire.dispatcher.run_pass()
    assert (wire.job()["state"], wire.job()["charged"], wire.job()["alone"]) == ("pending", 1, 1)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "ended without its end line"),
        ([_HEARTBEAT], "ended without its end line"),
        (["<html>"], "is not ours"),
        (['{"type":"end"'], "is not ours"),
        (["[" * 8_000], "is not ours"),
        ([""], "is not ours"),
        ([_HEARTBEAT, 60.5, _END], "fell silent"),
    ],
    ids=["nothing", "cut", "html", "half a line", "brackets", "empty line", "silence"],
)
@in_fake_time
async def test_an_answer_that_breaks_off_before_it_began_is_refunded(lines: list[str | float], reason: str) -> None:
    wire = _Wire(_saying(*lines, begin=False))
    wire.schedule("j")
    await wire.pass_and_join()
    assert (wire.job()["state"], wire.job()["charged"]) == ("pending", 0)
    assert reason in wire.job()["error_message"]
    assert wire.bodies[0].closed == 1


@pytest.mark.parametrize("lines", [[], ["<html>"], [60.5, _END]], ids=["cut", "nonsense", "silence"])
@in_fake_time
async def test_an_answer_that_breaks_off_after_it_began_is_charged_once_its_lease_has_ended(
    lines: list[str | float],
) -> None:
    wire = _Wire(_saying(*lines))
    wire.schedule("j")
    await wire.pass_and_join()
    assert wire.job()["state"] == "running"
    assert wire.open_dispatches[0]["lease"] == min(60_000, wire.now() + 35_000)
    await asyncio.sleep(35)
    wire.dispatcher.run_pass()
    assert (wire.job()["state"], wire.job()["charged"], wire.job()["error_code"]) == ("pending", 1, "OUTCOME_UNKNOWN")


@in_fake_time
async def test_what_was_settled_before_the_answer_broke_off_stays_settled() -> None:
    wire = _Wire(_saying(_ok("j"), "<html>"))
    wire.schedule("j")
    await wire.pass_and_join()
    await asyncio.sleep(35)
    wire.dispatcher.run_pass()
    assert wire.job()["state"] == "succeeded"


@in_fake_time
async def test_a_receiver_that_will_not_end_is_given_up_a_minute_after_its_timeout() -> None:
    wire = _Wire(_saying(*_beats(5.0, 1_000)))
    wire.schedule("j", timeout_ms=120_000)
    await wire.pass_and_join()
    assert wire.now() == 180_000
    assert wire.bodies[0].closed == 1
    assert wire.job()["state"] == "running"
    await asyncio.sleep(35)
    wire.dispatcher.run_pass()
    assert wire.job()["state"] == "pending"


@pytest.mark.parametrize("error", [OSError("reset"), ValueError("a bug"), RuntimeError("closed")])
@in_fake_time
async def test_whatever_the_transport_raises_the_dispatch_does_not_stay_open(error: Exception) -> None:
    async def broken() -> None:
        raise error

    wire = _Wire()
    wire.headers = lambda _dispatch: broken()
    wire.schedule("j")
    await wire.pass_and_join()
    assert wire.open_dispatches == []
    assert (wire.job()["state"], wire.job()["charged"]) == ("pending", 0)
    assert type(error).__name__ in wire.log[0]
    assert str(error) not in wire.log[0]


@in_fake_time
async def test_whatever_the_body_raises_the_answer_is_closed_and_the_dispatch_severed() -> None:
    async def breaks(wire: _Wire, dispatch: Dispatch) -> AsyncIterator[str]:
        assert wire.engine.begin(dispatch.id, wire.now())
        yield _HEARTBEAT
        raise OSError("reset")

    wire = _Wire(breaks)
    wire.schedule("j")
    await wire.pass_and_join()
    assert wire.bodies[0].closed == 1
    assert wire.open_dispatches[0]["lease"] == 35_000


@in_fake_time
async def test_storage_that_fails_while_a_result_is_read_leaves_no_task_behind() -> None:
    wire = _Wire(_well)
    wire.schedule("j")
    wire.dispatcher.run_pass()
    wire.store.close()
    await wire.dispatcher.join()
    assert wire.log


# -- six at a time -------------------------------------------------------------------------------------------


@in_fake_time
async def test_no_more_than_six_wait_for_headers_and_more_may_be_read() -> None:
    wire = _Wire(_saying(100.0, begin=True), batch=1)
    gate = asyncio.Event()
    wire.headers = lambda _dispatch: gate.wait()
    jobs = [f"j{number:02}" for number in range(20)]
    wire.schedule(*jobs)
    for _ in range(3):
        wire.dispatcher.run_pass()
        await asyncio.sleep(1)
    assert len(wire.opened) == 6
    assert wire.dispatcher.room() == 0
    gate.set()
    for _ in range(3):
        await asyncio.sleep(1)
        assert wire.dispatcher.room() == 6
        wire.dispatcher.run_pass()
    await asyncio.sleep(1)
    assert len(wire.opened) == 20
    assert wire.most_awaiting == 6
    assert len(wire.open_dispatches) == 20
    await wire.dispatcher.join()


@in_fake_time
async def test_when_headers_came_there_is_room_and_the_alarm_says_so() -> None:
    wire = _Wire(_saying(50.0, begin=False), batch=1)  # no begin, which would arm too
    gates = {f"d{number}": asyncio.Event() for number in range(1, 7)}
    wire.headers = lambda dispatch: gates[dispatch.id].wait()
    wire.schedule(*(f"j{number}" for number in range(7)))
    for _ in range(2):  # the second time there is nothing to do but to look ahead
        wire.alarm.fired()
        wire.dispatcher.run_pass()
    await asyncio.sleep(1)
    assert wire.alarms[-1] == 30_000
    gates["d3"].set()
    await asyncio.sleep(1)
    assert wire.alarms[-1] == 1_001
    for gate in gates.values():
        gate.set()
    await wire.dispatcher.join()


@in_fake_time
async def test_withheld_headers_free_their_room_when_their_time_is_over() -> None:
    wire = _Wire(_well)
    hanging = {f"d{number}" for number in range(1, 7)}
    wire.headers = lambda dispatch: asyncio.Event().wait() if dispatch.id in hanging else None
    jobs = [f"j{number}" for number in range(12)]
    wire.schedule(*jobs)
    wire.dispatcher.run_pass()
    await asyncio.sleep(15.5)
    assert wire.dispatcher.room() == 6
    for _ in range(4):  # a probe, then all that waited
        wire.dispatcher.run_pass()
        await asyncio.sleep(1)
    assert wire.states(jobs) == {"succeeded"}
    assert wire.most_awaiting == 6


# -- the alarm's pass ----------------------------------------------------------------------------------------


@in_fake_time
async def test_a_job_that_raises_seven_times_never_makes_a_pass_raise() -> None:
    """A3: each attempt is recorded, and the next alarm stands."""

    async def fails(wire: _Wire, dispatch: Dispatch) -> AsyncIterator[str]:
        assert wire.engine.begin(dispatch.id, wire.now())
        for attempt in dispatch.attempts:
            failed = Result(job=attempt.job, attempt=attempt.number, outcome="failed", code="BOOM", message="no")
            yield encode_results([failed]).decode().rstrip("\n")
        yield _END

    wire = _Wire(fails)
    wire.schedule("j", retries=6)
    for attempt in range(1, 8):
        await wire.pass_and_join()
        assert len(wire.store.execute("SELECT * FROM attempts")) == attempt
        if attempt < 7:
            assert wire.job()["state"] == "pending"
            assert wire.engine.next_wake(wire.now()) == wire.job()["due"]
            await asyncio.sleep((wire.job()["due"] - wire.now()) / 1000)
    assert wire.job()["state"] == "dead"


@in_fake_time
async def test_a_pass_rescues_before_it_claims() -> None:
    wire = _Wire(_well)
    wire.schedule("j", retries=5)
    assert wire.engine.claim(wire.now())[0].id == "d1"  # and the object was lost
    wire.schedule("other")
    await asyncio.sleep(60)
    await wire.pass_and_join()
    assert (wire.job()["state"], wire.job("other")["state"]) == ("pending", "succeeded")
    await asyncio.sleep(1)
    await wire.pass_and_join()
    assert wire.job()["state"] == "succeeded"


def test_the_limits_are_the_platforms() -> None:
    assert dispatching.MAX_AWAITING == 6
    assert dispatching.HEADERS_TIMEOUT_S == 15
