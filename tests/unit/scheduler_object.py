"""A SchedulerDO on this side of the border: the real engine on sqlite, behind the same text as the real one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from lunorash.codec import decode_json
from lunorash.errors import LunoraError
from lunorash.scheduler import finding, listing
from lunorash.scheduler.alarm import Alarm
from lunorash.scheduler.engine import Engine
from lunorash.scheduler.job import Dispatch, NewJob, OutboxRow
from lunorash.scheduler.job_filter import JobFilter
from lunorash.scheduler.journal import Journal
from lunorash.scheduler.schema import migrate
from lunorash.scheduler.settings import read_origin, read_secrets
from lunorash.scheduler.statistics import Statistics
from lunorash.scheduler.store import SqliteStore

__all__ = ["ADMIN_TOKEN", "NOW", "ORIGIN", "SECRET", "Namespace", "SchedulerObject", "environment"]

NOW: Final = 1_800_000_000_000
ORIGIN: Final = "https://app.example.com"
SECRET: Final = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
ADMIN_TOKEN: Final = "0123456789abcdef0123456789abcdef"


def environment(**variables: Any) -> SimpleNamespace:
    """A Worker's environment in which everything is set up; a variable of None is not set."""
    settings = {
        "LUNORA_ORIGIN_URL": ORIGIN,
        "LUNORA_SCHEDULER_SECRET": SECRET,
        "LUNORA_ADMIN_TOKEN": ADMIN_TOKEN,
        **variables,
    }
    return SimpleNamespace(**{name: value for name, value in settings.items() if value is not None})


class SchedulerObject:
    """The object behind a stub. Counts its calls; ``fail_next`` breaks so many of them."""

    def __init__(self, env: SimpleNamespace) -> None:
        self._env = env
        self.now = NOW
        self.store = SqliteStore()
        migrate(self.store)
        self.alarm = Alarm(lambda _at: None, lambda: None)
        self._minted = 0
        self.statistics_kept = Statistics(self.store)
        self.engine = Engine(
            self.store,
            self.alarm,
            origin=ORIGIN,
            room=lambda: 6,
            random=lambda: 0.0,
            mint_id=self._mint,
            journal=Journal(counting=self.statistics_kept),
        )
        self.engine.resume(self.now)
        self.calls: Counter[str] = Counter()
        self.fail_next = 0
        self.fail_after_it_landed = False

    def _mint(self) -> str:
        self._minted += 1
        return f"d{self._minted}"

    async def schedule(self, text: str) -> str:
        """As `lunorash.scheduler.durable_object.SchedulerDO.schedule`; likewise the others."""

        def work() -> list[str]:
            read_origin(self._env)
            read_secrets(self._env)
            return self.engine.schedule([NewJob(**job) for job in decode_json(text)], self.now)

        return self._answer("schedule", work)

    async def schedule_many(self, text: str) -> str:
        def work() -> list[dict[str, Any] | None]:
            read_origin(self._env)
            read_secrets(self._env)
            refusals = self.engine.schedule_many([NewJob(**job) for job in decode_json(text)], self.now)
            return [None if refusal is None else refusal.to_dict() for refusal in refusals]

        return self._answer("schedule_many", work)

    async def enqueue(self, text: str) -> str:
        def work() -> list[str]:
            read_origin(self._env)
            read_secrets(self._env)
            handed = decode_json(text)
            jobs = [NewJob(**job) for job in handed["jobs"]]
            return self.engine.enqueue(handed["pool"], handed["max_concurrency"], jobs, self.now)

        return self._answer("enqueue", work)

    async def accept(self, text: str) -> str:
        def work() -> int:
            handed = decode_json(text)
            return self.engine.accept(handed["shard"], [OutboxRow.from_dict(row) for row in handed["rows"]], self.now)

        return self._answer("accept", work)

    async def cancel(self, job_id: str) -> str:
        return self._answer("cancel", lambda: self.engine.cancel(job_id, self.now))

    async def run_now(self, job_id: str) -> str:
        return self._answer("run_now", lambda: self.engine.run_now(job_id, self.now))

    async def redrive(self, job_id: str) -> str:
        return self._answer("redrive", lambda: self.engine.redrive(job_id, self.now))

    async def drop_dead(self, job_id: str) -> str:
        return self._answer("drop_dead", lambda: self.engine.drop_dead(job_id, self.now))

    async def change_many(self, text: str) -> str:
        def work() -> dict[str, Any]:
            asked = decode_json(text)
            wanted = JobFilter.from_dict(asked.pop("filter"))
            return self.engine.change_many(wanted=wanted, now=self.now, **asked).to_dict()

        return self._answer("change_many", work)

    async def get(self, job_id: str) -> str:
        return self._answer("get", lambda: listing.find(self.store, job_id))

    async def list(self, text: str) -> str:
        return self._answer("list", lambda: listing.page(self.store, **decode_json(text)))

    async def jobs(self, text: str) -> str:
        def work() -> dict[str, Any]:
            asked = decode_json(text)
            return finding.jobs(self.store, JobFilter.from_dict(asked.pop("filter")), **asked)

        return self._answer("jobs", work)

    async def count(self, text: str) -> str:
        return self._answer("count", lambda: finding.count(self.store, JobFilter.from_dict(decode_json(text))))

    async def dead_groups(self) -> str:
        return self._answer("dead_groups", lambda: finding.dead_groups(self.store))

    async def status(self) -> str:
        return self._answer("status", self._status)

    def _status(self) -> dict[str, Any]:
        return listing.status(self.store, self.engine.breaker, ORIGIN, now=self.now, alarm=self.alarm.armed)

    async def metrics(self, text: str) -> str:
        return self._answer(
            "metrics", lambda: {"pools": self.statistics_kept.totals(self.now), "status": self._status()}
        )

    async def statistics(self, text: str) -> str:
        return self._answer("statistics", lambda: self.statistics_kept.minutes(now=self.now, **decode_json(text)))

    async def pool(self, text: str) -> str:
        def work() -> dict[str, Any] | None:
            change = decode_json(text)
            self.engine.set_pool(now=self.now, **change)
            return listing.pool(self.store, change["name"])

        return self._answer("pool", work)

    async def pools(self, text: str) -> str:
        return self._answer("pools", lambda: listing.pools(self.store, **decode_json(text)))

    async def begin(self, dispatch_id: str) -> bool:
        self.calls["begin"] += 1
        return self.engine.begin(dispatch_id, self.now)

    def claim_one(self) -> Dispatch:
        """What the alarm does when one job is due."""
        dispatches = self.engine.claim(self.now)
        assert len(dispatches) == 1
        return dispatches[0]

    def bury(self) -> None:
        """Let the one job that is due fail for good."""
        dispatch = self.claim_one()
        assert self.engine.begin(dispatch.id, self.now)
        self.engine.complete(dispatch.id, self.now)
        while self.store.execute("SELECT 1 FROM jobs WHERE state = 'pending'"):
            self.now = self.store.execute("SELECT min(due) AS due FROM jobs WHERE state = 'pending'")[0]["due"]
            self.bury()

    def _answer(self, method: str, work: Callable[[], Any]) -> str:
        self.calls[method] += 1
        if self.fail_next and not self.fail_after_it_landed:
            self.fail_next -= 1
            raise OSError("the object was reset")
        try:
            text = json.dumps({"ok": work()})
        except LunoraError as error:
            text = json.dumps({"error": error.to_dict()})
        if self.fail_next:
            self.fail_next -= 1
            raise OSError("the connection broke after the call had landed")
        return text


class Namespace:
    """A Durable Object binding: one object for each name."""

    def __init__(self, env: SimpleNamespace) -> None:
        self._env = env
        self.objects: dict[str, SchedulerObject] = {}
        self.stubs = 0

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        return f"id-of-{name}"

    def idFromString(self, text: str) -> str:  # noqa: N802 - the platform's name
        if not text.startswith("id-of-"):
            raise TypeError("this id is of another namespace")
        return text

    def get(self, object_id: str) -> SchedulerObject:
        self.stubs += 1
        return self.objects.setdefault(object_id, SchedulerObject(self._env))

    @property
    def default(self) -> SchedulerObject:
        """The object that an app uses unless it names another."""
        return self.get("id-of-default")
