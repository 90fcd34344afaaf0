"""Sends jobs and cancels to a Worker that may be dead at any moment, as fast as it takes them."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import httpx

from tests.integration.client import ADMIN, TOKEN
from tests.soak.evidence import Cancel, Evidence
from tests.soak.plans import CAPS, SHARDS, Plan, draw

__all__ = ["Load"]

_BATCH: Final = 50
_PAUSE_S: Final = 0.1
_POLL_S: Final = 0.3


class Load:
    """Two clients in threads of their own, from `start` to `stop`: one sends, the other looks at the pools.

    Args:
        url: the Worker's.
        random: draws the jobs.
        evidence: where it notes what it has sent and heard.
        most: how many jobs are sent at most.
        backlog: more are sent while fewer than so many are due or run.
    """

    def __init__(self, url: str, random: Random, evidence: Evidence, *, most: int, backlog: int) -> None:
        self._url = url
        self._random = random
        self._evidence = evidence
        self._most = most
        self._backlog = backlog
        self._due_cancels: list[tuple[float, str]] = []
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._send, self._poll)]
        self._broken: list[BaseException] = []

    def declare_pools(self) -> None:
        """Say what the caps are, before the first job."""
        with self._client() as http:
            for name, cap in CAPS.items():
                args = {"name": name, "cap": cap, "do": "status"}
                _posted(http, "/api/action", {"path": "pools:steer", "args": args})

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send nothing more, and cancel what was still to be cancelled; returns when that is done."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        if self._broken:
            raise self._broken[0]

    # -- jobs ------------------------------------------------------------------------------------------

    def _send(self) -> None:
        try:
            with self._client() as http:
                while not self._stopping.is_set():
                    self._cancel_due(http, time.monotonic())
                    if not self._has_room(http) or not self._send_batch(http):
                        self._stopping.wait(_PAUSE_S)
                self._cancel_due(http, float("inf"))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._broken.append(error)

    def _has_room(self, http: httpx.Client) -> bool:
        if len(self._evidence.plans) >= self._most:
            return False
        try:
            status = http.get(f"{ADMIN}/status").raise_for_status().json()
        except httpx.HTTPError:
            return False
        return bool(status["due"] + status["in_flight"] < self._backlog)

    def _send_batch(self, http: httpx.Client) -> bool:
        first = len(self._evidence.plans)
        plans = [draw(self._random, first + number) for number in range(_BATCH)]
        self._evidence.plans.update({plan.id: plan for plan in plans})
        shard = self._random.choice((None, None, *SHARDS[:2]))
        if shard is not None:
            self._evidence.booked.update(plan.id for plan in plans)
        answered = self._post_batch(http, plans, shard)
        if answered:
            self._evidence.answered.update(plan.id for plan in plans)
        now = time.monotonic()
        for plan in plans:
            if plan.cancel_ms is not None:
                heapq.heappush(self._due_cancels, (now + plan.cancel_ms / 1000, plan.id))
        return answered

    def _post_batch(self, http: httpx.Client, plans: Sequence[Plan], shard: str | None) -> bool:
        kind, path = ("action", "soak:enqueue") if shard is None else ("mutation", "soak:book")
        body: dict[str, Any] = {"path": path, "args": {"jobs": [plan.to_call() for plan in plans]}}
        if shard is not None:
            body["shard_key"] = shard
        try:
            _posted(http, f"/api/{kind}", body)
        except httpx.HTTPError:
            return False
        return True

    def _cancel_due(self, http: httpx.Client, now: float) -> None:
        while self._due_cancels and self._due_cancels[0][0] <= now:
            _, job = heapq.heappop(self._due_cancels)
            sent, answer = time.time() * 1000, None
            try:
                answer = bool(_posted(http, f"{ADMIN}/cancel", {"id": job})["cancelled"])
            except httpx.HTTPError:
                answer = None
            self._evidence.cancels[job] = Cancel(sent=sent, heard=time.time() * 1000, answer=answer)

    # -- pools -----------------------------------------------------------------------------------------

    def _poll(self) -> None:
        try:
            with self._client() as http:
                while not self._stopping.wait(_POLL_S):
                    try:
                        pools = http.get(f"{ADMIN}/pools").raise_for_status().json()["pools"]
                    except httpx.HTTPError:
                        continue
                    self._evidence.polls += [
                        (pool["name"], pool["max_concurrency"], pool["in_flight"]) for pool in pools
                    ]
        except BaseException as error:  # noqa: BLE001
            self._broken.append(error)

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self._url, timeout=30, headers={"authorization": f"Bearer {TOKEN}"})


def _posted(http: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = http.post(path, json=body).raise_for_status().json()
    return answer
