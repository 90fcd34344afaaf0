"""One soak: a server, a load, kills, rest, and the evidence of it all."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
from pytest_workers.runtime import DevServer, Project

from tests.integration.client import ADMIN, TOKEN
from tests.integration.conftest import APP
from tests.soak.audit import audit
from tests.soak.evidence import Evidence, Kill
from tests.soak.load import Load
from tests.soak.plans import SHARDS

__all__ = ["Outcome", "soak"]

_REST_S: Final = 600
"""In the pool of one a kill holds the slot for 35 s, until its lease ends, and a hang for five: with eleven kills in
five minutes most of its jobs only run when the last one is sent (seed 774957)."""
_START_S: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a soak found: what is wrong, and how much was done."""

    violations: list[str]
    report: dict[str, Any]


def soak(
    *,
    seconds: float,
    seed: int,
    kill_between: tuple[float, float],
    say: Callable[[str], None],
    most: int = 1_000_000,
    backlog: int = 300,
) -> Outcome:
    """Run one.

    Args:
        seconds: how long jobs are sent.
        seed: draws the jobs and the times of kills. What happens in between depends on the machine.
        kill_between: seconds after each time the server is ready, between which it is killed.
        say: told how it goes.
        most: how many jobs are sent at most.
        backlog: more are sent while fewer than so many are due or run: the more, the more wait for the leases that a
            kill leaves behind, and the longer it takes until all have ended.
    """
    random, evidence = Random(seed), Evidence()  # noqa: S311 - chance, not secrets
    with tempfile.TemporaryDirectory(prefix="lunora-soak-", ignore_cleanup_errors=True) as state:
        server = DevServer(
            Project.load(APP),
            persist_to=Path(state),
            vars={"LUNORA_ORIGIN_URL": "{origin}", "LUNORA_LOG": "problems"},
            health_path="/_lunora/health",
            progress=say,
        )
        try:
            server.start(_START_S)
            load = Load(server.url, Random(seed + 1), evidence, most=most, backlog=backlog)  # noqa: S311
            load.declare_pools()
            begin = time.monotonic()
            load.start()
            try:
                _kill_from_time_to_time(
                    server, evidence, until=begin + seconds, between=kill_between, random=random, say=say
                )
            finally:
                load.stop()
            sent_s = time.monotonic() - begin
            say(f"{len(evidence.plans):,} jobs were sent in {sent_s:.0f} s; waiting for rest")
            with _client(server.url) as http:
                _wait_for_rest(http)
                _collect(http, evidence)
            rested_s = time.monotonic() - begin
        except BaseException:
            for line in server.log_lines()[-40:]:
                say(f"| {line}")
            raise
        finally:
            server.close()
    return Outcome(violations=audit(evidence), report=_report(evidence, seed, sent_s, rested_s))


def _kill_from_time_to_time(
    server: DevServer,
    evidence: Evidence,
    *,
    until: float,
    between: tuple[float, float],
    random: Random,
    say: Callable[[str], None],
) -> None:
    while True:
        wait = random.uniform(*between)
        left = until - time.monotonic()
        if left < wait:
            time.sleep(max(0, left))
            return
        time.sleep(wait)
        begun = time.time() * 1000
        server.kill()
        evidence.kills.append(Kill(begun=begun, done=time.time() * 1000))
        say(f"kill -9, {wait:.1f} s after it was ready, with {len(evidence.plans):,} jobs sent")
        server.restart(_START_S)


def _wait_for_rest(http: httpx.Client) -> None:
    """Until nothing waits or runs, twice in a row: a shard may still have had something to hand over."""
    deadline = time.monotonic() + _REST_S
    quiet = 0
    while quiet < 2:
        status = http.get(f"{ADMIN}/status").raise_for_status().json()
        quiet = quiet + 1 if status["backlog"] == status["in_flight"] == 0 else 0
        if time.monotonic() > deadline:
            return  # the audit says which jobs have not come to rest
        time.sleep(1)


def _collect(http: httpx.Client, evidence: Evidence) -> None:
    for state in ("pending", "running", "succeeded", "dead", "canceled"):
        cursor: str | None = ""
        while cursor is not None:
            query = {"state": state, **({"cursor": cursor} if cursor else {})}
            page = http.get(ADMIN, params=query).raise_for_status().json()
            evidence.records.update({record["id"]: record for record in page["records"]})
            cursor = page.get("cursor")
    number = 0
    while entries := http.get("/test/journal/behind", params={"number": number}).raise_for_status().json():
        evidence.journal += entries
        number = entries[-1]["number"]
    for shard in SHARDS:
        row = 0
        while effects := _effects_behind(http, shard, row):
            evidence.effects += effects
            row = effects[-1]["number"]


def _effects_behind(http: httpx.Client, shard: str, row: int) -> list[dict[str, Any]]:
    body = {"path": "soak:effects_behind", "args": {"row": row}, "shard_key": shard}
    effects: list[dict[str, Any]] = http.post("/api/query", json=body).raise_for_status().json()["value"]
    return effects


def _report(evidence: Evidence, seed: int, sent_s: float, rested_s: float) -> dict[str, Any]:
    states = Counter(record["state"] for record in evidence.records.values())
    events = Counter(entry["event"] for entry in evidence.journal)
    at_most: dict[str, int] = {}
    for name, _, in_flight in evidence.polls:
        at_most[name] = max(at_most.get(name, 0), in_flight)
    return {
        "seed": seed,
        "sent": len(evidence.plans),
        "answered": len(evidence.answered),
        "recorded": len(evidence.records),
        "kills": len(evidence.kills),
        "states": dict(states),
        "attempts": sum(record["attempts"] for record in evidence.records.values()),
        "action_events": dict(events),
        "effects": len(evidence.effects),
        "cancels": dict(Counter(str(cancel.answer) for cancel in evidence.cancels.values())),
        "pools_at_most": at_most,
        "sent_s": round(sent_s, 1),
        "rested_s": round(rested_s, 1),
        "jobs_per_s": round(len(evidence.records) / rested_s, 1),
    }


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=60, headers={"authorization": f"Bearer {TOKEN}"})
