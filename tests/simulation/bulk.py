"""Users who do much at once: they schedule many jobs in one call, and change all that a filter chooses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from lunorash.errors import LunoraError
from lunorash.scheduler.calls import JobCall
from lunorash.scheduler.client import Scheduler
from lunorash.scheduler.job_filter import Changed, JobFilter
from lunorash.scheduler.options import RunOptions
from lunorash.scheduler.store import Row
from lunorash.scheduler.workpool import Workpool

from .faults import Faults
from .journal import Journal
from .plans import Plan

__all__ = ["BulkClients", "is_meant"]

_MOST_TRIES: Final = 20
_MOST_PAGES: Final = 5


class BulkClients:
    """The users of ``schedule_many``, ``enqueue_many``, ``cancel_many`` and their like.

    Args:
        seed: decides what they want.
        faults: say for how long.
        journal: learns of answers that cannot be right.
        scheduler: makes a client that mints what it is told.
        workpool: makes one of a pool, likewise.
    """

    def __init__(
        self,
        seed: int,
        faults: Faults,
        journal: Journal,
        *,
        scheduler: Callable[[str], Scheduler],
        workpool: Callable[[str, str], Workpool],
    ) -> None:
        self._random = random.Random(f"bulk {seed}")  # noqa: S311 - it has to replay
        self._faults = faults
        self._journal = journal
        self._scheduler = scheduler
        self._workpool = workpool

    def parties(self, plans: Sequence[Plan]) -> list[list[Plan]]:
        """Put together whose jobs are scheduled in one call. Many are alone."""
        parties: list[list[Plan]] = []
        left = list(plans)
        while left:
            size = self._random.choice((1, 1, 1, 1, 1, 3, 5))
            party, left = left[:size], left[size:]
            if len(party) > 1:
                for number, plan in zip((0, *range(2, len(party) + 1)), party, strict=True):
                    plan.at = party[0].at
                    plan.incarnation = f"{_minted(party)}-{number:03}"  # as a call of many mints them, from one
            parties.append(party)
        return parties

    async def schedule(self, party: Sequence[Plan]) -> None:
        """Schedule them all in one call, which is made again until it is answered."""
        for _ in range(_MOST_TRIES):
            if await self._schedule(party):
                if self._random.random() < 0.2:
                    await self._schedule(party)  # it does not know that they have landed
                return
            await asyncio.sleep(self._faults.wait(10, party[0].id))

    async def _schedule(self, party: Sequence[Plan]) -> bool:
        now = asyncio.get_running_loop().time()
        calls = [JobCall(plan.reference, plan.args, plan.delay_at(now), options=plan.options) for plan in party]
        calls.insert(1, JobCall("app:ok", {"ms": {1, 2}}))  # number 1 is one that nobody can schedule
        try:
            answers = await self._scheduler(_minted(party)).schedule_many(calls)
        except LunoraError as error:
            if error.code not in ("SCHEDULER_UNAVAILABLE", "ORIGIN_NOT_CONFIGURED"):
                self._journal.violate("no call raises", "schedule_many: %s", error)
            return False
        self._journal.count("calls of schedule_many")
        refused = answers.pop(1)
        if not isinstance(refused, LunoraError) or refused.code != "INVALID_INPUT":
            self._journal.violate("each of many is answered by itself", "what cannot be is answered %s", refused)
        for plan, answer in zip(party, answers, strict=True):
            if answer != plan.id:
                self._journal.violate("a repeated call is recognised", "%s is answered %s", plan.id, answer)
            plan.acknowledged = True
        return True

    async def fill(self, plans: list[Plan]) -> None:
        """Put many jobs of a kind into a pool, all or none."""
        draw = self._random
        for number in range(draw.choice((0, 0, 1, 2))):
            await asyncio.sleep(draw.random() * self._faults.horizon / 2)
            name = f"bulk{number}"
            options = RunOptions(timeout=30_000, pool="wide", priority=draw.choice((0, 5)))
            fresh = [
                Plan(
                    id=f"{name}-{each:03}",
                    incarnation=name,
                    at=0,
                    delay=0,
                    target="app:ok",
                    args={"ms": 5 + each},
                    options=options,
                )
                for each in range(draw.randint(2, 4))
            ]
            plans += fresh
            for _ in range(_MOST_TRIES):
                if await self._fill(name, fresh, options):
                    break
                await asyncio.sleep(self._faults.wait(10, name))

    async def _fill(self, name: str, fresh: Sequence[Plan], options: RunOptions) -> bool:
        try:
            ids = await self._workpool("wide", name).enqueue_many("app:ok", [plan.args for plan in fresh], options)
        except LunoraError as error:
            if error.code not in ("SCHEDULER_UNAVAILABLE", "ORIGIN_NOT_CONFIGURED"):
                self._journal.violate("no call raises", "enqueue_many: %s", error)
            return False
        self._journal.count("calls of enqueue_many")
        if ids != [plan.id for plan in fresh]:
            self._journal.violate("a repeated call is recognised", "%s are called %s", name, ids)
        for plan in fresh:
            plan.acknowledged = True
        return True

    async def change(self) -> None:
        """Cancel, redrive or drop what a filter chooses, a few at a time."""
        draw = self._random
        scheduler = self._scheduler("x")
        change: Callable[..., Awaitable[Changed]]
        change, counted = draw.choice(
            (
                (scheduler.cancel_many, "calls of cancel_many"),
                (scheduler.dead_retry_many, "calls of dead_retry_many"),
                (scheduler.dead_drop_many, "calls of dead_drop_many"),
            )
        )
        wanted = JobFilter(**draw.choice(_FILTERS))
        limit, dry_run = draw.randint(1, 3), draw.random() < 0.2
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                changed = await change(wanted, cursor=cursor, limit=limit, dry_run=dry_run)
            except LunoraError as error:
                if error.code != "SCHEDULER_UNAVAILABLE":
                    self._journal.violate("no call raises", "%s: %s", counted, error)
                return
            self._journal.count(counted)
            if len(changed.ids) > limit:
                self._journal.violate("no more is changed than may be", "%d are, of %d", len(changed.ids), limit)
            cursor = changed.cursor
            if cursor is None:
                return


def is_meant(wanted: JobFilter, job: Row) -> bool:
    """Whether a filter of those that are used here means a job."""
    target, code = job["target"], job["error_code"]
    return (
        job["id"].startswith(wanted.id_prefix or "")
        and wanted.pool in (None, job["pool"])
        and wanted.error in (None, code)
        and (wanted.target is None or target == wanted.target or target.startswith(f"{wanted.target}:"))
    )


def _minted(party: Sequence[Plan]) -> str:
    return f"party-{party[0].id}"


_FILTERS: Final[tuple[dict[str, Any], ...]] = (
    {"id_prefix": "job1"},
    {"id_prefix": "bulk"},
    {"target": "app:flaky"},
    {"target": "shard"},
    {"pool": "wide"},
    {"error": "ATTEMPT_FAILED"},
    {"error": "OUTCOME_UNKNOWN"},
)
