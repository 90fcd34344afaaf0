from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.shard.driving import drive


def _line_of(function: Callable[..., Any], words: str) -> str:
    """The place of the line of a function that has these words."""
    lines, start = inspect.getsourcelines(function)
    (number,) = [start + index for index, line in enumerate(lines) if words in line]
    return f"{inspect.getsourcefile(function)}:{number}"


def _refusal(call: Callable[[], Any]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        drive(call)
    error = raised.value
    assert (error.code, error.status) == ("MUTATION_YIELDED", 500)
    assert "the mutation was rolled back" in error.message
    return error


@pytest.fixture
async def reported() -> Any:
    """What the event loop complains about: at the end of a test there is nothing."""
    complaints: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    yield complaints
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert complaints == []
    assert asyncio.all_tasks() <= {asyncio.current_task()}


@pytest.fixture(params=["inside of a loop", "outside of a loop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    """Runs something inside and outside of a running event loop."""
    if request.param == "outside of a loop":
        return lambda work: work()

    def inside(work: Callable[[], Any]) -> Any:
        async def main() -> Any:
            return work()

        return asyncio.run(main())

    return inside


# -- what comes to its end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 5, "text", {"a": 1}, [1], StopIteration])
def test_a_plain_value_is_the_result(value: Any, run: Callable[..., Any]) -> None:
    assert run(lambda: drive(lambda: value)) == value


def test_a_coroutine_that_never_yields_is_driven_to_its_result(run: Callable[..., Any]) -> None:
    async def innermost(number: int) -> int:
        return number + 1

    async def inner(number: int) -> int:
        return await innermost(number) * 2

    async def body() -> list[int]:
        return [await inner(number) async for number in _numbers()]

    assert run(lambda: drive(body)) == [2, 4]


async def _numbers() -> AsyncIterator[int]:
    yield 0
    yield 1


def test_an_awaitable_of_any_other_kind_is_driven_too(run: Callable[..., Any]) -> None:
    class Ready:
        def __await__(self) -> Generator[Any, None, str]:
            yield from ()
            return "ready"

    assert run(lambda: drive(Ready)) == "ready"


def test_a_generator_is_a_value_and_is_not_started(run: Callable[..., Any]) -> None:
    started: list[bool] = []

    def body() -> Iterator[int]:
        started.append(True)
        yield 1

    generator = body()
    assert run(lambda: drive(lambda: generator)) is generator
    assert not started


@pytest.mark.parametrize(
    "error", [ValueError("x"), LunoraError("X", "y"), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_what_the_body_raises_comes_through(error: BaseException, run: Callable[..., Any]) -> None:
    async def body() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        run(lambda: drive(body))
    assert raised.value is error


async def test_tasks_of_others_are_left_alone(reported: Any) -> None:
    other = asyncio.create_task(asyncio.sleep(0, "done"))

    async def body() -> str:
        return "fine"

    assert drive(body) == "fine"
    assert await other == "done"


# -- what yields ---------------------------------------------------------------------------------------------


async def _sleeps() -> None:
    await asyncio.sleep(0.01)  # sleeps


async def _sleeps_without_time() -> None:
    await asyncio.sleep(0)  # sleeps


async def _gathers() -> None:
    await asyncio.gather(_fine(), _fine())  # gathers


async def _gathers_what_fails() -> None:
    await asyncio.gather(_fails(), _fails(), return_exceptions=True)  # gathers


async def _groups() -> None:
    async with asyncio.TaskGroup() as group:  # groups
        group.create_task(_fine())


async def _awaits_a_task() -> None:
    await asyncio.create_task(_fine())  # awaits


async def _awaits_a_future() -> None:
    await asyncio.get_running_loop().create_future()  # awaits


async def _waits_with_a_timeout() -> None:
    await asyncio.wait_for(_Future(), 0.01)


async def _times_out() -> None:
    async with asyncio.timeout(0.01):
        await asyncio.sleep(0)  # waits


async def _waits_for_an_event() -> None:
    await asyncio.Event().wait()  # waits


async def _waits_in_a_context() -> None:
    async with _context():  # waits
        pass


@asynccontextmanager
async def _context() -> AsyncIterator[None]:
    await asyncio.sleep(0)
    yield


async def _fine() -> None:
    pass


async def _fails() -> None:
    raise ValueError("nobody looks")


class _Future:
    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.get_running_loop().create_future().__await__()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (_sleeps, "# sleeps"),
        (_sleeps_without_time, "# sleeps"),
        (_gathers, "# gathers"),
        (_gathers_what_fails, "# gathers"),
        (_groups, "# groups"),
        (_awaits_a_task, "# awaits"),
        (_awaits_a_future, "# awaits"),
        (_times_out, "# waits"),
        (_waits_for_an_event, "# waits"),
    ],
)
async def test_a_body_that_waits_is_refused_and_its_line_is_named(
    body: Callable[[], Awaitable[None]], words: str, reported: Any
) -> None:
    assert _line_of(body, words) in _refusal(body).message


async def test_a_wait_inside_the_standard_library_is_named_by_the_line_of_the_app(reported: Any) -> None:
    assert _line_of(_waits_in_a_context, "# waits") in _refusal(_waits_in_a_context).message
    assert f"{__file__}:" in _refusal(_waits_with_a_timeout).message


def test_a_wait_inside_an_installed_package_is_named_by_the_line_of_the_app(run: Callable[..., Any]) -> None:
    namespace: dict[str, Any] = {"wait": asyncio.sleep}
    source = "async def fetch():\n    await wait(0)\n"
    exec(compile(source, "/app/python_modules/workers/fetching.py", "exec"), namespace)  # noqa: S102
    fetch = namespace["fetch"]

    async def body() -> None:
        await fetch()  # fetches

    assert _line_of(body, "# fetches") in run(lambda: _refusal(body)).message


def test_the_line_is_that_of_the_innermost_function_of_the_app(run: Callable[..., Any]) -> None:
    async def innermost() -> None:
        await asyncio.sleep(0)  # waits here

    async def inner() -> None:
        await innermost()

    async def body() -> None:
        await inner()

    assert _line_of(innermost, "# waits here") in run(lambda: _refusal(body)).message


def test_a_body_that_yields_outside_of_a_loop_is_refused_likewise(run: Callable[..., Any]) -> None:
    async def body() -> None:
        await asyncio.sleep(0)

    run(lambda: _refusal(body))


# -- what swallows the refusal -------------------------------------------------------------------------------


def test_a_refusal_is_not_caught_by_an_except_for_exceptions(run: Callable[..., Any]) -> None:
    caught: list[BaseException] = []

    async def body() -> str:
        try:
            await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001
            caught.append(error)
        return "it went on"

    run(lambda: _refusal(body))
    assert caught == []


def test_a_body_that_swallows_every_refusal_is_refused_whatever_it_returns(run: Callable[..., Any]) -> None:
    went_on: list[bool] = []

    async def body() -> str:
        with suppress(BaseException):
            await asyncio.sleep(0)
        went_on.append(True)
        return "fine"

    run(lambda: _refusal(body))
    assert went_on == [True]


def test_a_body_that_raises_something_else_in_answer_is_refused_all_the_same(run: Callable[..., Any]) -> None:
    async def body() -> None:
        try:
            await asyncio.sleep(0)
        except BaseException:  # noqa: BLE001 - an app may do so
            raise LunoraError("MINE", "something else") from None

    run(lambda: _refusal(body))


def test_a_body_that_waits_again_while_it_is_refused_is_refused_again(run: Callable[..., Any]) -> None:
    ended: list[str] = []

    async def body() -> None:
        try:
            await asyncio.sleep(0)  # the first
        finally:
            try:
                await asyncio.sleep(0)
            finally:
                ended.append("both")

    assert _line_of(body, "# the first") in run(lambda: _refusal(body)).message
    assert ended == ["both"]


def test_a_body_that_yields_for_ever_is_left(run: Callable[..., Any]) -> None:
    refusals: list[BaseException] = []

    class Unending:
        def __await__(self) -> Generator[None, None, None]:
            while True:
                try:
                    yield
                except BaseException as refusal:
                    if [type(one) for one in refusals].count(GeneratorExit) == 1:
                        raise  # it is collected now
                    refusals.append(refusal)

    async def body() -> None:
        await Unending()

    run(lambda: _refusal(body))
    assert 1 <= len(refusals) < 20


# -- what starts tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [asyncio.create_task, asyncio.ensure_future])
async def test_a_task_that_is_left_behind_is_refused_cancelled_and_named(
    start: Callable[[Any], asyncio.Task[None]], reported: Any
) -> None:
    ran: list[bool] = []
    started: list[asyncio.Task[None]] = []

    async def later() -> None:
        ran.append(True)

    async def body() -> str:
        started.append(start(later()))
        return "fine"

    error = _refusal(body)
    assert "later" in error.message
    assert f"{inspect.getsourcefile(later)}" in error.message
    await asyncio.wait(started)
    assert [task.cancelled() for task in started] == [True]
    assert ran == []


async def test_a_function_that_is_not_asynchronous_may_start_no_task_either(reported: Any) -> None:
    started: list[asyncio.Task[None]] = []

    def body() -> str:
        started.append(asyncio.create_task(_fine()))
        return "fine"

    _refusal(body)
    await asyncio.wait(started)
    assert started[0].cancelled()


async def test_tasks_are_cancelled_when_the_body_raises(reported: Any) -> None:
    started: list[asyncio.Task[None]] = []

    async def body() -> None:
        started.append(asyncio.create_task(_fine()))
        raise LunoraError("MINE", "first")

    with pytest.raises(LunoraError, match="MINE"):
        drive(body)
    await asyncio.wait(started)
    assert started[0].cancelled()


async def test_all_that_gather_started_is_cancelled_and_none_of_it_runs(reported: Any) -> None:
    ran: list[int] = []

    async def part(number: int) -> None:
        ran.append(number)

    async def body() -> None:
        await asyncio.gather(*(part(number) for number in range(10)))

    before = asyncio.all_tasks()
    _refusal(body)
    started = asyncio.all_tasks() - before
    assert len(started) == 10
    await asyncio.wait(started)
    assert all(task.cancelled() for task in started)
    assert ran == []


async def test_a_task_that_will_not_be_cancelled_never_begins(reported: Any) -> None:
    ran: list[bool] = []

    async def stubborn() -> None:
        with suppress(BaseException):
            ran.append(True)
            await asyncio.sleep(3600)

    async def body() -> None:
        asyncio.create_task(stubborn())  # noqa: RUF006

    before = asyncio.all_tasks()
    _refusal(body)
    await asyncio.wait(asyncio.all_tasks() - before)
    assert ran == []


async def test_a_body_inside_a_body_is_refused_alone(reported: Any) -> None:
    """As a mutation that another one calls: the outer may go on."""

    async def inner() -> None:
        await asyncio.sleep(0)

    async def outer() -> str:
        with pytest.raises(LunoraError, match="MUTATION_YIELDED"):
            drive(inner)
        return "went on"

    assert drive(outer) == "went on"
