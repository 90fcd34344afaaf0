"""Metrics in Prometheus' text format 0.0.4.

Written here, since the official client keeps its numbers in the process that serves them, while ours are those of a
Durable Object; and it brings an HTTP server along, which takes 0.4 s to import in a Worker that has a second to start.
Its parser reads what is written here in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lunorash.scheduler.histogram import BOUNDS_MS
from lunorash.scheduler.statistics import Tally

__all__ = ["CONTENT_TYPE", "exposition"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS: Final = {
    "scheduled": ("lunora_jobs_scheduled_total", "Jobs that were stored."),
    "started": ("lunora_attempts_started_total", "Attempts that were claimed, to be sent."),
    "succeeded": ("lunora_jobs_succeeded_total", "Jobs that have succeeded."),
    "failed": ("lunora_attempts_failed_total", "Attempts that failed, or of which nobody knows how they ended."),
    "retries": ("lunora_attempts_retried_total", "Attempts that failed and are followed by another."),
    "refunds": ("lunora_attempts_refunded_total", "Attempts that never began, or whose function was not there."),
    "dead": ("lunora_jobs_dead_total", "Jobs that became dead letters."),
    "canceled": ("lunora_jobs_canceled_total", "Jobs that were cancelled."),
    "expired": ("lunora_jobs_expired_total", "Jobs that were skipped, since it was too late for them."),
    "redriven": ("lunora_dead_letters_redriven_total", "Dead letters that were given another chance."),
    "dropped": ("lunora_dead_letters_dropped_total", "Dead letters that were deleted by hand."),
}

_Sample = tuple[Mapping[str, str], float]


def exposition(pools: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """Write the metrics of a scheduler.

    Args:
        pools: its tallies by pool, ``""`` for what has none, as `Statistics.totals` gives them.
        status: how it is doing, as `lunorash.scheduler.listing.status` gives it.

    Returns:
        the text of an answer to a scrape.
    """
    return "".join(f"{line}\n" for line in _lines(pools, status))


def _lines(pools: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[str]:
    tallies = {name: Tally.from_dict(tally) for name, tally in ({"": Tally().to_dict()} | dict(pools)).items()}
    for counter, (name, help_text) in _COUNTERS.items():
        yield from _family(
            name,
            "counter",
            help_text,
            (({"pool": pool}, tally.counts[counter]) for pool, tally in tallies.items()),
        )
    yield from _histogram(
        "lunora_lateness_seconds", "From when an attempt was due until it was claimed.", tallies, "lateness"
    )
    yield from _histogram(
        "lunora_attempt_duration_seconds",
        "From when an attempt was claimed until it is known that it succeeded or failed.",
        tallies,
        "duration",
    )
    for name, help_text, samples in _gauges(status):
        yield from _family(name, "gauge", help_text, samples)


def _gauges(status: Mapping[str, Any]) -> Iterator[tuple[str, str, Iterable[_Sample]]]:
    most = f"{status['counted_up_to']:,}"
    origin, pools = status["origin"], status["pools"]
    next_due = status["next_due"]
    overdue = 0 if next_due is None else max(0, status["now"] - next_due) / 1000
    alone = max(0, status["in_flight"] - sum(pool["in_flight"] for pool in pools))
    yield "lunora_backlog", f"Jobs that wait; {most} stands for more, too.", [({}, status["backlog"])]
    yield "lunora_due", f"Jobs that wait and are due; {most} stands for more, too.", [({}, status["due"])]
    yield "lunora_dead_letters", f"Dead letters that are kept; {most} stands for more, too.", [({}, status["dead"])]
    yield "lunora_oldest_overdue_seconds", "How long the job has been due that waits longest.", [({}, overdue)]
    in_flight: list[_Sample] = [({"pool": ""}, alone)]
    in_flight += [({"pool": pool["name"]}, pool["in_flight"]) for pool in pools]
    yield (
        "lunora_in_flight",
        "Jobs that run; an empty pool stands for none, and for pools beyond the first hundred.",
        in_flight,
    )
    for name, field, help_text in (
        ("lunora_pool_queued", "queued", "Jobs of a pool that wait."),
        ("lunora_pool_max_concurrency", "max_concurrency", "How many jobs of a pool run at a time at most."),
        ("lunora_pool_paused", "paused", "Whether a pool starts nothing: 1 or 0."),
    ):
        yield name, help_text, [({"pool": pool["name"]}, int(pool[field])) for pool in pools]
    is_open = int(not origin["reachable"])
    yield "lunora_breaker_open", "Whether the origin does not answer and jobs are held back: 1 or 0.", [({}, is_open)]
    yield "lunora_breaker_failed_probes", "Probes that failed in a row.", [({}, origin["failed_probes"])]
    yield (
        "lunora_alarm_armed",
        "Whether the scheduler's alarm stands: 1 or 0.",
        [({}, int(status["alarm"] is not None))],
    )


def _histogram(name: str, help_text: str, tallies: Mapping[str, Tally], field: str) -> Iterator[str]:
    yield from _head(name, "histogram", help_text)
    bounds = [*(_number(bound / 1000) for bound in BOUNDS_MS), "+Inf"]
    for pool, tally in tallies.items():
        histogram = getattr(tally, field)
        for bound, count in zip(bounds, histogram.cumulative(), strict=True):
            yield _sample(f"{name}_bucket", {"pool": pool, "le": bound}, count)
        yield _sample(f"{name}_sum", {"pool": pool}, histogram.total_ms / 1000)
        yield _sample(f"{name}_count", {"pool": pool}, histogram.count)


def _family(name: str, kind: str, help_text: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield from _head(name, kind, help_text)
    for labels, value in samples:
        yield _sample(name, labels, value)


def _head(name: str, kind: str, help_text: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    # names of pools are made of letters, digits, - and _: nothing is to be escaped
    told = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{told}}} {_number(value)}" if told else f"{name} {_number(value)}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
