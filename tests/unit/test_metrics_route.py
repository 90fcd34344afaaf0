"""Metrics as Prometheus reads them, with its own parser, and the numbers by the minute."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from lunorash.scheduler.histogram import BOUNDS_MS
from lunorash.scheduler.job import Result

from .scheduler_object import NOW
from .worker_app import BEARER, Worker, refusal

METRICS = "/_lunora/metrics"
STATISTICS = "/_lunora/admin/v1/scheduled/statistics"
pytestmark = pytest.mark.usefixtures("stopped_clock")


async def _families(worker: Worker) -> dict[str, Metric]:
    answer = await worker.answer("GET", METRICS, headers=BEARER)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def _value(families: dict[str, Metric], sample: str, **labels: str) -> float:
    (found,) = [
        taken.value
        for family in families.values()
        for taken in family.samples
        if taken.name == sample and taken.labels == labels
    ]
    return float(found)


async def test_a_scheduler_that_has_done_nothing_shows_zeros() -> None:
    families = await _families(Worker())
    assert _value(families, "lunora_jobs_scheduled_total", pool="") == 0
    assert _value(families, "lunora_lateness_seconds_count", pool="") == 0
    assert _value(families, "lunora_breaker_open") == 0
    assert _value(families, "lunora_alarm_armed") == 0
    assert all(family.documentation and family.type != "unknown" for family in families.values())
    assert all(family.name.startswith("lunora_") for family in families.values())


async def test_what_jobs_did_is_counted_by_pool() -> None:
    worker = Worker()
    engine = worker.object.engine
    await worker.schedule("a", pool="imports")
    await worker.schedule("b")
    worker.object.now += 30
    for dispatch in engine.claim(worker.object.now):
        assert engine.begin(dispatch.id, worker.object.now)
        for attempt in dispatch.attempts:
            outcome: Any = "ok" if attempt.job == "a" else "failed"
            result = Result(job=attempt.job, attempt=attempt.number, outcome=outcome, retryable=False)
            engine.settle(dispatch.id, [result], worker.object.now + 2_000)
        engine.complete(dispatch.id, worker.object.now + 2_000)
    await worker.schedule("c")
    worker.object.now += 60_000
    families = await _families(worker)
    assert _value(families, "lunora_jobs_scheduled_total", pool="imports") == 1
    assert _value(families, "lunora_jobs_scheduled_total", pool="") == 2
    assert _value(families, "lunora_jobs_succeeded_total", pool="imports") == 1
    assert _value(families, "lunora_jobs_dead_total", pool="") == 1
    assert _value(families, "lunora_attempts_failed_total", pool="") == 1
    assert _value(families, "lunora_dead_letters") == 1
    assert _value(families, "lunora_backlog") == _value(families, "lunora_due") == 1
    assert _value(families, "lunora_oldest_overdue_seconds") == 60.03
    assert _value(families, "lunora_attempt_duration_seconds_sum", pool="imports") == 2
    assert _value(families, "lunora_lateness_seconds_bucket", pool="imports", le="0.025") == 0
    assert _value(families, "lunora_lateness_seconds_bucket", pool="imports", le="0.05") == 1
    assert _value(families, "lunora_lateness_seconds_bucket", pool="imports", le="+Inf") == 1
    assert _value(families, "lunora_pool_max_concurrency", pool="imports") == 1
    bounds = [taken.labels["le"] for taken in families["lunora_lateness_seconds"].samples if "le" in taken.labels]
    assert len(bounds) == 2 * (len(BOUNDS_MS) + 1)


async def test_what_runs_is_told_by_pool() -> None:
    worker = Worker()
    await worker.schedule("a", pool="imports")
    await worker.schedule("b")
    worker.object.engine.claim(worker.object.now)
    families = await _families(worker)
    assert _value(families, "lunora_in_flight", pool="imports") == 1
    assert _value(families, "lunora_in_flight", pool="") == 1
    assert _value(families, "lunora_alarm_armed") == 1


async def test_an_origin_that_does_not_answer_is_seen() -> None:
    worker = Worker()
    await worker.schedule("a")
    engine = worker.object.engine
    (dispatch,) = engine.claim(worker.object.now)
    engine.sever(dispatch.id, "connection refused", worker.object.now)
    families = await _families(worker)
    assert _value(families, "lunora_breaker_open") == 1
    assert _value(families, "lunora_attempts_refunded_total", pool="") == 1


async def test_statistics_have_a_line_for_each_minute() -> None:
    worker = Worker()
    await worker.schedule("a")
    _, body = await worker.json("GET", STATISTICS, query="minutes=3")
    assert body["now"] == worker.object.now
    assert [minute["minute"] for minute in body["minutes"]] == [NOW - 120_000, NOW - 60_000, NOW]
    assert [minute["scheduled"] for minute in body["minutes"]] == [0, 0, 1]
    assert set(body["minutes"][0]) >= {"started", "succeeded", "failed", "dead", "retries", "refunds"}
    assert body["minutes"][0]["lateness"] == body["minutes"][0]["duration"] == {"p50": None, "p99": None, "max": None}
    _, hour = await worker.json("GET", STATISTICS)
    assert len(hour["minutes"]) == 60


@pytest.mark.parametrize("minutes", ["0", "1441", "-1", "1.5", "six", "\u0663", "9" * 5_000])
async def test_a_number_of_minutes_that_cannot_be_is_refused(minutes: str) -> None:
    assert refusal(await Worker().json("GET", STATISTICS, query=f"minutes={minutes}")) == (400, "INVALID_INPUT")


@pytest.mark.parametrize("path", [METRICS, STATISTICS])
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}])
async def test_nobody_else_sees_them(path: str, headers: dict[str, str]) -> None:
    worker = Worker()
    answer = await worker.answer("GET", path, headers=headers)
    assert (answer.status, answer.body["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
    assert not worker.object.calls
