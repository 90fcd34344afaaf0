"""A workpool as an app uses it: many jobs, of which only so many run at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.refs import Target
from lunorash.scheduler.calls import MAX_CALLS, MAX_CALLS_BYTES, Catalog, check_options, make_job
from lunorash.scheduler.client import Scheduler, stub_of
from lunorash.scheduler.ids import mint_id
from lunorash.scheduler.options import Delay, RunOptions, delay_ms
from lunorash.scheduler.pool import PoolStatus, change_of_pool, check_max_concurrency, check_pool_name

__all__ = ["Workpool", "create_workpool"]


def create_workpool(
    *,
    namespace: Any,
    name: str = "default",
    max_concurrency: int,
    instance_name: str = "default",
    catalog: Catalog | None = None,
) -> Workpool:
    """Make a workpool: however many jobs are put into it, at most ``max_concurrency`` of them run at a time.

    The pool is kept by the SchedulerDO, and comes to be when it is used. All workpools of one name are the same pool.
    When they name another ``max_concurrency`` than the last one that was used, that is its cap from then on.

    Args:
        namespace: the Durable Object binding, ``env.SCHEDULER``.
        name: of the pool: 1 to 64 of ``A-Z a-z 0-9 _ -``, not starting with ``-``.
        max_concurrency: how many of its jobs may run at a time, 1 to 1,000.
        instance_name: which SchedulerDO; each has pools of its own.
        catalog: what can be run, to refuse an unknown function, or arguments that it does not take, at once; None to
            let any well-formed path through.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a name or a cap that cannot be, ``SCHEDULER_NOT_CONFIGURED`` without a
            namespace.

    Example:
        Imports that do not overrun whoever is asked for the rows::

            pool = create_workpool(namespace=env.SCHEDULER, name="imports", max_concurrency=3)
            job_id = await pool.enqueue("imports:process_row", {"row_id": "r1"})
            (await pool.status()).in_flight  # 3 at most
    """
    check_pool_name(name)
    check_max_concurrency(max_concurrency)
    return Workpool(stub_of(namespace, instance_name), name, max_concurrency, catalog=catalog)


class Workpool:
    """Puts jobs into a pool and looks after it. Made by `create_workpool`.

    Args:
        stub: makes a stub of the SchedulerDO.
        name: the pool's name.
        max_concurrency: its cap.
        catalog: what can be run, if that is known.
        now: the current time in epoch milliseconds.
        mint: mints ids.
    """

    def __init__(
        self,
        stub: Callable[[], Any],
        name: str,
        max_concurrency: int,
        *,
        catalog: Catalog | None = None,
        now: Callable[[], int] = lambda: int(time.time() * 1000),
        mint: Callable[[], str] = mint_id,
    ) -> None:
        self.name: Final = name
        self.max_concurrency: Final = max_concurrency
        self._scheduler = Scheduler(stub, catalog=catalog, now=now, mint=mint)
        self._catalog = catalog
        self._now = now
        self._mint = mint

    async def enqueue(
        self,
        target: Target,
        args: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
        *,
        delay: Delay = 0,
    ) -> str:
        """Put a job into the pool. It runs as soon as there is room, in the order in which jobs fell due.

        Args:
            target: a reference or a function's path; see `lunorash.scheduler.client.Scheduler.run_after`.
            args: its arguments.
            options: id, retry policy, timeout, shard and priority. While a job waits for its retry it takes no room.
            delay: milliseconds or a `timedelta` before it falls due.

        Returns:
            the job's id.

        Raises:
            LunoraError: what `lunorash.scheduler.client.Scheduler.run_after` raises. Nothing is stored then.
        """
        ids = await self._enqueue(target, [args], [check_options(options)], delay)
        return ids[0]

    async def enqueue_many(
        self,
        target: Target,
        many: Sequence[Mapping[str, Any] | None],
        options: RunOptions | None = None,
        *,
        delay: Delay = 0,
    ) -> list[str]:
        """Put a job for each of many arguments into the pool, all of them or, if one is refused, none.

        Args:
            target: see `enqueue`.
            many: the arguments of each job, at most 1,000 and 8,000,000 bytes all together.
            options: of every job; see `enqueue`. An id cannot be chosen.
            delay: before they fall due.

        Returns:
            the ids of the jobs, in the same order, which is also the order in which they start.

        Raises:
            LunoraError: what `enqueue` raises.
        """
        given: Any = many
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            raise LunoraError("INVALID_INPUT", f"many is {shown(given)}; it must be a list, of one job's args each")
        if len(many) > MAX_CALLS:
            raise LunoraError(
                "PAYLOAD_TOO_LARGE", f"there are {len(many):,} jobs; one call takes {MAX_CALLS:,}: call again"
            )
        options = check_options(options)
        if options.id is not None:
            raise LunoraError("INVALID_INPUT", "many jobs cannot share one id; use enqueue, or leave it out")
        if not many:
            return []
        # Jobs that fall due at the same time go by their ids.
        first = self._mint()
        each = [replace(options, id=f"{first}-{number:03}") for number in range(len(many))]
        return await self._enqueue(target, many, each, delay)

    async def cancel(self, job_id: str) -> bool:
        """Cancel a job; see `lunorash.scheduler.client.Scheduler.cancel`. One that runs keeps its room till it ends."""
        return await self._scheduler.cancel(job_id)

    async def status(self) -> PoolStatus:
        """How many jobs run and wait, the cap, and whether the pool is paused."""
        return await self._set()

    async def pause(self) -> PoolStatus:
        """Start no more jobs. Those that run go on; those that are put into the pool wait."""
        return await self._set(paused=True)

    async def resume(self) -> PoolStatus:
        """Start jobs again, at once."""
        return await self._set(paused=False)

    async def set_max_concurrency(self, max_concurrency: int) -> PoolStatus:
        """Change the cap. When it is lowered, what runs goes on, and nothing starts until there is room.

        It holds until a workpool is used that was made with another ``max_concurrency`` than those before it.
        """
        return await self._set(max_concurrency=check_max_concurrency(max_concurrency))

    async def _set(self, **change: Any) -> PoolStatus:
        text = change_of_pool(self.name, declared=self.max_concurrency, **change)
        return PoolStatus.from_dict(await self._scheduler.ask("pool", text))

    async def _enqueue(
        self, target: Target, many: Sequence[Mapping[str, Any] | None], options: Sequence[RunOptions], delay: Delay
    ) -> list[str]:
        now = self._now()
        due = now + delay_ms(delay, now=now)
        jobs = [
            make_job(target, args, self._here(own), due=due, mint=self._mint, catalog=self._catalog)
            for args, own in zip(many, options, strict=True)
        ]
        size = sum(len(job["args"].encode()) for job in jobs)
        if size > MAX_CALLS_BYTES:
            raise LunoraError(
                "PAYLOAD_TOO_LARGE",
                f"the arguments take {size:,} bytes as JSON; one call takes {MAX_CALLS_BYTES:,}: call several times",
            )
        text = json.dumps({"pool": self.name, "max_concurrency": self.max_concurrency, "jobs": jobs})
        ids: list[str] = await self._scheduler.ask("enqueue", text)
        return ids

    def _here(self, options: RunOptions) -> RunOptions:
        if options.pool not in (None, self.name):
            raise LunoraError(
                "INVALID_INPUT", f"options.pool is {options.pool!r}, but this is the pool {self.name!r}; leave it out"
            )
        return replace(options, pool=self.name)
