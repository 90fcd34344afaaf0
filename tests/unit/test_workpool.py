from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.functions import FunctionTable
from lunorash.scheduler import (
    JobRecord,
    PoolPage,
    PoolStatus,
    RetryPolicy,
    RunOptions,
    Scheduler,
    Workpool,
    create_workpool,
)
from lunorash.scheduler.pool import check_max_concurrency, check_pool_name, check_priority

from .fake_time import in_fake_time
from .scheduler_object import NOW, Namespace, SchedulerObject, environment

TARGET = "imports:process_row"


class _App:
    """Workpools, and the object they call."""

    def __init__(self, **variables: Any) -> None:
        self.namespace = Namespace(environment(**variables))
        self._numbers = count(1)
        self.scheduler = Scheduler(lambda: self.namespace.default)

    def pool(self, cap: int = 3, name: str = "imports", catalog: FunctionTable | None = None) -> Workpool:
        return Workpool(
            lambda: self.namespace.default,
            name,
            cap,
            catalog=catalog,
            now=lambda: NOW,
            mint=lambda: f"m{next(self._numbers)}",
        )

    @property
    def object(self) -> SchedulerObject:
        return self.namespace.default

    async def job(self, job_id: str) -> JobRecord:
        job = await self.scheduler.get(job_id)
        assert job is not None
        return job


async def _refused(code: str, call: Awaitable[object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        await call
    assert raised.value.code == code
    return raised.value


def _status(**fields: Any) -> PoolStatus:
    return PoolStatus(
        **{"name": "imports", "max_concurrency": 3, "paused": False, "in_flight": 0, "queued": 0, **fields}
    )


# -- jobs ----------------------------------------------------------------------------------------------------


async def test_a_job_is_stored_in_its_pool_as_it_was_asked_for() -> None:
    app = _App()
    options = RunOptions(id="own", retry=RetryPolicy(max_attempts=2), shard_key="s", timeout=5, priority=7)
    assert await app.pool().enqueue(TARGET, {"row": 1}, options, delay=timedelta(seconds=2)) == "own"
    job = await app.job("own")
    assert (job.pool, job.priority, job.due, job.args) == ("imports", 7, NOW + 2_000, {"row": 1})
    assert (job.retry.max_attempts, job.shard_key, job.timeout_ms, job.state) == (2, "s", 5, "pending")


async def test_no_more_start_than_the_cap_allows() -> None:
    app = _App()
    for _ in range(5):
        await app.pool(2).enqueue(TARGET)
    assert len(app.object.engine.claim(NOW)) == 2
    assert await app.pool(2).status() == _status(max_concurrency=2, in_flight=2, queued=3)


async def test_many_jobs_are_one_call() -> None:
    app = _App()
    many = [{"row": number} for number in range(1_000)]
    ids = await app.pool().enqueue_many(TARGET, many, RunOptions(priority=-3), delay=1)
    assert len(set(ids)) == 1_000
    assert app.object.calls == {"enqueue": 1}
    last = await app.job(ids[-1])
    assert (last.args, last.pool, last.priority, last.due) == ({"row": 999}, "imports", -3, NOW + 1)


async def test_many_jobs_start_in_the_order_of_the_list() -> None:
    app = _App()
    ids = await app.pool(6).enqueue_many(TARGET, [{}] * 300)
    assert [dispatch.attempts[0].job for dispatch in app.object.engine.claim(NOW)] == ids[:6]
    assert ids == sorted(ids)


async def test_many_may_be_none_and_any_sequence_of_any_mappings() -> None:
    app = _App()
    assert await app.pool().enqueue_many(TARGET, []) == []
    assert app.object.calls == {}
    ids = await app.pool().enqueue_many(TARGET, (MappingProxyType({"row": 1}), None))
    assert [(await app.job(job_id)).args for job_id in ids] == [{"row": 1}, {}]


@pytest.mark.parametrize("many", [None, 5, {"row": 1}, "rows", b"rows", iter([{}])])
async def test_many_that_is_no_list_is_refused(many: Any) -> None:
    app = _App()
    error = await _refused("INVALID_INPUT", app.pool().enqueue_many(TARGET, many))
    assert "must be a list" in error.message
    assert app.namespace.objects == {}


async def test_too_many_or_too_much_is_refused_and_nothing_is_stored() -> None:
    app = _App()
    await _refused("PAYLOAD_TOO_LARGE", app.pool().enqueue_many(TARGET, [{}] * 1_001))
    error = await _refused("PAYLOAD_TOO_LARGE", app.pool().enqueue_many(TARGET, [{"a": "x" * 900_000}] * 9))
    assert "call several times" in error.message
    assert app.namespace.objects == {}
    assert len(await app.pool().enqueue_many(TARGET, [{"a": "x" * 900_000}] * 8)) == 8


async def test_one_bad_job_among_many_leaves_all_of_them_out() -> None:
    app = _App()
    await _refused("INVALID_INPUT", app.pool().enqueue_many(TARGET, [{"row": 1}, {"row": {2}}]))
    assert app.namespace.objects == {}


async def test_many_jobs_cannot_share_an_id() -> None:
    await _refused("INVALID_INPUT", _App().pool().enqueue_many(TARGET, [{}], RunOptions(id="own")))


async def test_with_a_catalog_the_function_and_its_arguments_are_checked() -> None:
    async def process_row(_ctx: Any, row: int) -> None: ...

    app = _App()
    pool = app.pool(catalog=FunctionTable({TARGET: process_row}))
    await _refused("FUNCTION_NOT_FOUND", pool.enqueue("imports:gone"))
    await _refused("INVALID_INPUT", pool.enqueue(TARGET, {"row": "x"}))
    assert (await app.job(await pool.enqueue(TARGET, {"row": 1}))).args == {"row": 1}


async def test_the_options_may_name_this_pool_and_no_other() -> None:
    app = _App()
    job_id = await app.pool().enqueue(TARGET, None, RunOptions(pool="imports"))
    assert (await app.job(job_id)).pool == "imports"
    error = await _refused("INVALID_INPUT", app.pool().enqueue(TARGET, None, RunOptions(pool="exports")))
    assert "'exports'" in error.message
    assert "'imports'" in error.message


@pytest.mark.parametrize("options", [{"id": "x"}, "x", RunOptions])
async def test_what_is_no_options_is_refused(options: Any) -> None:
    await _refused("INVALID_INPUT", _App().pool().enqueue(TARGET, None, options))
    await _refused("INVALID_INPUT", _App().pool().enqueue_many(TARGET, [{}], options))


@pytest.mark.parametrize("delay", [-1, "5", None, True, float("nan")])
async def test_a_bad_delay_is_refused(delay: Any) -> None:
    await _refused("INVALID_INPUT", _App().pool().enqueue(TARGET, delay=delay))


async def test_a_deployment_that_cannot_run_jobs_refuses_them() -> None:
    await _refused("ORIGIN_NOT_CONFIGURED", _App(LUNORA_ORIGIN_URL=None).pool().enqueue(TARGET))


@in_fake_time
async def test_a_call_that_broke_after_it_had_landed_is_recognised() -> None:
    app = _App()
    await app.pool().status()
    app.object.fail_next, app.object.fail_after_it_landed = 1, True
    await app.pool().enqueue_many(TARGET, [{}, {}])
    assert (await app.pool().status()).queued == 2


async def test_a_job_is_canceled() -> None:
    app = _App()
    job_id = await app.pool().enqueue(TARGET)
    assert await app.pool().cancel(job_id) is True
    assert await app.pool().cancel(job_id) is False
    assert (await app.pool().status()).queued == 0


async def test_a_job_of_any_scheduler_call_may_be_put_into_a_pool() -> None:
    app = _App()
    job_id = await app.scheduler.run_after(0, TARGET, None, RunOptions(pool="imports", priority=2))
    job = await app.job(job_id)
    assert (job.pool, job.priority) == ("imports", 2)
    assert await app.pool(1).status() == _status(max_concurrency=1, queued=1)


# -- the pool ------------------------------------------------------------------------------------------------


async def test_a_pool_that_was_never_used_is_empty_and_has_the_cap_that_code_gives_it() -> None:
    assert await _App().pool(7).status() == _status(max_concurrency=7)


async def test_a_pool_is_paused_and_resumed() -> None:
    app = _App()
    assert await app.pool().pause() == _status(paused=True)
    await app.pool().enqueue(TARGET)
    assert app.object.engine.claim(NOW) == []
    assert await app.pool().resume() == _status(queued=1)
    assert len(app.object.engine.claim(NOW)) == 1


async def test_a_cap_set_by_hand_holds_until_code_names_another_one() -> None:
    app = _App()
    pool = app.pool(3)
    assert (await pool.set_max_concurrency(5)).max_concurrency == 5
    await pool.enqueue(TARGET)
    assert (await app.pool(3).status()).max_concurrency == 5
    assert (await app.pool(4).status()).max_concurrency == 4


async def test_pools_are_steered_without_knowing_their_cap() -> None:
    app = _App()
    await app.pool(3).enqueue(TARGET)
    assert await app.scheduler.set_pool("imports", paused=True) == _status(paused=True, queued=1)
    assert await app.scheduler.set_pool("imports", max_concurrency=9, paused=False) == _status(
        max_concurrency=9, queued=1
    )
    assert await app.scheduler.set_pool("imports") == _status(max_concurrency=9, queued=1)
    error = await _refused("POOL_NOT_FOUND", app.scheduler.set_pool("nobody", paused=True))
    assert error.status == 404


async def test_pools_are_listed_page_by_page() -> None:
    app = _App()
    for name in ("b", "c", "a"):
        await app.pool(1, name).status()
    page = await app.scheduler.pools(limit=2)
    assert [pool.name for pool in page.pools] == ["a", "b"]
    assert await app.scheduler.pools(cursor=page.cursor) == PoolPage(
        pools=(_status(name="c", max_concurrency=1),), cursor=None
    )
    await _refused("INVALID_INPUT", app.scheduler.pools(limit=0))
    assert [pool["name"] for pool in (await app.scheduler.status())["pools"]] == ["a", "b", "c"]


async def test_a_status_of_a_newer_release_can_be_read() -> None:
    assert PoolStatus.from_dict({**_pool_dict(), "weight": 5}) == _status()


def _pool_dict() -> dict[str, Any]:
    return {"name": "imports", "max_concurrency": 3, "paused": False, "in_flight": 0, "queued": 0}


@pytest.mark.parametrize("paused", [1, 0, "yes", []])
async def test_what_is_neither_paused_nor_not_is_refused(paused: Any) -> None:
    await _refused("INVALID_INPUT", _App().scheduler.set_pool("imports", paused=paused))


# -- what is refused at the door -----------------------------------------------------------------------------

_BAD_NAMES: list[Any] = [
    *(None, 5, b"a", True, ["a"], "", "-a", "a b", "a/b", "a.b", "ä", "٣", "a\n", "a\0", "x" * 65, "\ud800"),
]
_BAD_CAPS: list[Any] = [None, True, False, 0, -1, 1_001, 10**30, 1.0, 3.5, float("nan"), float("inf"), "3", b"3", [3]]
_BAD_PRIORITIES: list[Any] = [None, True, False, 11, -11, 10**30, 0.0, 1.0, float("nan"), "1", [1]]


def _check(code: str, call: Callable[[], object]) -> LunoraError:
    with pytest.raises(LunoraError) as raised:
        call()
    assert raised.value.code == code
    assert len(raised.value.message) < 300
    return raised.value


@pytest.mark.parametrize("name", _BAD_NAMES)
def test_a_bad_name_is_refused(name: Any) -> None:
    _check("INVALID_INPUT", lambda: create_workpool(namespace=object(), name=name, max_concurrency=1))
    if name is not None:
        _check("INVALID_INPUT", lambda: RunOptions(pool=name))


@pytest.mark.parametrize("cap", _BAD_CAPS)
async def test_a_bad_cap_is_refused(cap: Any) -> None:
    app = _App()
    _check("INVALID_INPUT", lambda: create_workpool(namespace=object(), max_concurrency=cap))
    await _refused("INVALID_INPUT", app.pool().set_max_concurrency(cap))
    if cap is not None:
        await _refused("INVALID_INPUT", app.scheduler.set_pool("imports", max_concurrency=cap))
    assert app.namespace.objects == {}


@pytest.mark.parametrize("priority", _BAD_PRIORITIES)
def test_a_bad_priority_is_refused(priority: Any) -> None:
    _check("INVALID_INPUT", lambda: RunOptions(pool="imports", priority=priority))


async def test_a_priority_without_a_pool_is_refused_with_a_way_out() -> None:
    app = _App()
    error = await _refused("INVALID_INPUT", app.scheduler.run_after(0, TARGET, None, RunOptions(priority=1)))
    assert 'RunOptions(pool="imports"' in error.message
    assert app.namespace.objects == {}
    await app.scheduler.run_after(0, TARGET, None, RunOptions(priority=0))


@given(st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.none()))
def test_exactly_whole_numbers_in_range_are_caps_and_priorities(value: Any) -> None:
    for check, low, high in ((check_max_concurrency, 1, 1_000), (check_priority, -10, 10)):
        if type(value) is int and low <= value <= high:
            assert check(value) == value
        else:
            _check("INVALID_INPUT", lambda check=check: check(value))  # type: ignore[misc]


@given(st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", fullmatch=True))
def test_good_names_are_kept(name: str) -> None:
    assert check_pool_name(name) == name
    assert RunOptions(pool=name).pool == name


def test_without_a_namespace_there_is_no_pool() -> None:
    _check("SCHEDULER_NOT_CONFIGURED", lambda: create_workpool(namespace=None, name="imports", max_concurrency=1))


async def test_each_instance_has_pools_of_its_own() -> None:
    namespace = Namespace(environment())
    one, two = (
        create_workpool(namespace=namespace, max_concurrency=cap, instance_name=name)
        for name, cap in (("one", 1), ("two", 2))
    )
    await one.enqueue(TARGET)
    assert (one.name, one.max_concurrency) == ("default", 1)
    assert await one.status() == _status(name="default", max_concurrency=1, queued=1)
    assert await two.status() == _status(name="default", max_concurrency=2)
