"""A Worker of the integration tests as its tests talk to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import httpx
from pytest_workers.worker import Worker

TOKEN = "tests-only-0123456789abcdef0123456789abcdef"
SECRET = "whsec_dGVzdHMgb25seTogdGhpcyBrZXkgc2lnbnMgbm90aGluZyByZWFs"
ADMIN = "/_lunora/admin/v1/scheduled"

Kind = Literal["query", "mutation", "action"]


class Client:
    """Schedules jobs on a Worker, looks at them, and waits for them."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.http = httpx.Client(timeout=120, headers={"authorization": f"Bearer {TOKEN}"})

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> httpx.Response:
        return self.http.request(method, self.worker.url + path, json=body, params=query)

    def schedule(self, target: str, args: dict[str, Any] | None = None, **fields: Any) -> str:
        answer = self.call("POST", "/test/schedule", {"target": target, "args": args or {}, **fields})
        assert answer.status_code == 200, answer.text
        job_id: str = answer.json()["id"]
        return job_id

    def refusal(self, **fields: Any) -> tuple[int, str, str]:
        """Status, code and message of a schedule call that must be refused."""
        answer = self.call("POST", "/test/schedule", fields)
        error = answer.json()["error"]
        return answer.status_code, error["code"], error["message"]

    def post(
        self,
        kind: Kind,
        path: str,
        args: dict[str, Any] | None = None,
        *,
        shard: str | None = None,
        user: str | None = None,
    ) -> httpx.Response:
        """Call a function over the public API, as somebody, on some shard."""
        body: dict[str, Any] = {"path": path, "args": args or {}}
        if shard is not None:
            body["shard_key"] = shard
        headers = {} if user is None else {"x-user": user}
        return self.http.post(f"{self.worker.url}/api/{kind}", json=body, headers=headers)

    def value(self, kind: Kind, path: str, args: dict[str, Any] | None = None, **options: str | None) -> Any:
        """What a function returns."""
        answer = self.post(kind, path, args, **options)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert set(body) == {"status", "value"}
        assert body["status"] == "success"
        return body["value"]

    def query(self, path: str, args: dict[str, Any] | None = None, **options: str | None) -> Any:
        return self.value("query", path, args, **options)

    def mutate(self, path: str, args: dict[str, Any] | None = None, **options: str | None) -> Any:
        return self.value("mutation", path, args, **options)

    def error(
        self, kind: Kind, path: str, args: dict[str, Any] | None = None, **options: str | None
    ) -> tuple[int, str, str]:
        """Status, code and message of a call that must be refused."""
        answer = self.post(kind, path, args, **options)
        body = answer.json()
        assert body["status"] == "error", body
        return answer.status_code, body["error"]["code"], body["error"]["message"]

    def arm(self, *failpoints: dict[str, Any]) -> None:
        """Make shards crash: ``shard``, ``point``, and perhaps ``after``, ``times``, ``hang``; see failpoints.py."""
        answer = self.call("POST", "/test/failpoints", {"failpoints": failpoints})
        assert answer.json() == {"armed": len(failpoints)}

    def effects(self, tag: str = "%", shard: str | None = None) -> list[dict[str, Any]]:
        """What the jobs of the ledger have done on a shard, in order."""
        effects: list[dict[str, Any]] = self.query("ledger:effects", {"tag": tag}, shard=shard)
        return effects

    def booked(self, tag: str = "%", shard: str | None = None) -> dict[str, str]:
        """The ids of the jobs that were booked on a shard, by their tags."""
        rows = self.query("ledger:booked", {"tag": tag}, shard=shard)
        return {row["tag"]: row["job"] for row in rows if row["job"]}

    def get(self, job_id: str) -> dict[str, Any]:
        record: dict[str, Any] = self.call("GET", f"{ADMIN}/get", id=job_id).json()["record"]
        return record

    def wait_all(self, job_ids: set[str], *, within: float = 20) -> None:
        """Wait until all of some jobs have succeeded."""
        wait_for(lambda: job_ids <= self.ids("succeeded"), f"{len(job_ids)} jobs", within, self.status)

    def ids(self, state: str) -> set[str]:
        """The ids of all jobs in a state."""
        ids: set[str] = set()
        cursor: str | None = ""
        while cursor is not None:
            page = self.call("GET", ADMIN, state=state, **({"cursor": cursor} if cursor else {})).json()
            ids |= {record["id"] for record in page["records"]}
            cursor = page.get("cursor")
        return ids

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.call("GET", f"{ADMIN}/status").json()
        return status

    def journal(self, job_id: str | None = None) -> list[dict[str, Any]]:
        entries = self.call("GET", "/test/journal").json()
        return [entry for entry in entries if job_id in (None, entry["job"])]

    def wait(self, job_id: str, state: str, *, within: float = 20) -> dict[str, Any]:
        """Wait until a job is in a state; returns its record."""
        return wait_for(
            lambda: self._in_state(job_id, state), f"{job_id} to be {state}", within, lambda: self.get(job_id)
        )

    def _in_state(self, job_id: str, state: str) -> dict[str, Any] | None:
        record = self.get(job_id)
        return record if record and record["state"] == state else None


T = TypeVar("T")


def wait_for(
    condition: Callable[[], T | Literal[False] | None],
    what: str,
    within: float,
    otherwise: Callable[[], object] = lambda: "",
) -> T:
    """Wait until a condition is true and return its value; fail with what was there instead."""
    deadline = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {within} s for {what}; there is {otherwise()}"
        time.sleep(0.05)
    return value
