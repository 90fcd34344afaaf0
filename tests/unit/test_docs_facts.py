"""What the chapters in docs/ say of names and numbers is what the code says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from lunorash import codec, incident, retrying
from lunorash.crons import builder, expression
from lunorash.scheduler import (
    alarm,
    batching,
    bulk,
    calls,
    claiming,
    completion,
    dispatching,
    engine,
    finding,
    histogram,
    history,
    job_filter,
    journal,
    listing,
    options,
    pool,
    protocol,
    pruning,
    queue_message,
    queue_workpool,
    receiver,
    retry,
    signing,
    statistics,
    verdict,
)
from lunorash.server import queue_consumer
from lunorash.shard import applied, cron_runs, shard
from lunorash.studio.exposition import exposition

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = {page.name: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}
DASHBOARD: Final = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
ALERTS: Final = yaml.safe_load((DOCS / "alerts.yaml").read_text(encoding="utf-8"))
DAY_MS: Final = 24 * 60 * 60 * 1000

_TALLY: Final = statistics.Tally().to_dict()
_POOL: Final = {"name": "imports", "in_flight": 1, "queued": 2, "max_concurrency": 3, "paused": False}
_STATUS: Final = {
    "now": 1,
    "backlog": 0,
    "due": 0,
    "in_flight": 1,
    "dead": 0,
    "counted_up_to": 10_000,
    "next_due": None,
    "alarm": None,
    "origin": {"reachable": True, "failed_probes": 0},
    "pools": [_POOL],
}


def _exposed() -> tuple[dict[str, str], set[str]]:
    """The kinds of all metrics by their names, and the names of their samples."""
    text = exposition({"": _TALLY, "imports": _TALLY}, _STATUS)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    samples = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    return kinds, samples


# -- names ---------------------------------------------------------------------------------------------------


def test_the_chapter_names_every_metric_with_its_kind_and_no_other() -> None:
    said: dict[str, str] = {}
    for names, kind in re.findall(r"^\| (`lunora_[^|]*) \| (\w+) \|", PAGES["monitoring.md"], re.MULTILINE):
        said |= dict.fromkeys(re.findall(r"`(lunora_\w+)`", names), kind)
    assert said == _exposed()[0]


def test_the_chapter_names_every_event_of_the_log_and_no_other() -> None:
    said = re.findall(r"^\| `job\.(\w+)` \|", PAGES["monitoring.md"], re.MULTILINE)
    assert said == [*get_args(journal.Event)]
    for level in journal.LEVELS:
        assert f"`{level}`" in PAGES["monitoring.md"]
    assert "(`retrying`, `refunded`, `dead` and `expired`)" in PAGES["monitoring.md"]
    assert set(journal.PROBLEMS) == {"retrying", "refunded", "dead", "expired"}


def test_every_counter_of_a_minute_is_named() -> None:
    for name in statistics.COUNTERS:
        assert f"`{name}`" in PAGES["monitoring.md"]


# -- expressions ---------------------------------------------------------------------------------------------


def _panels() -> Iterator[dict[str, Any]]:
    return (panel for panel in DASHBOARD["panels"] if panel["type"] != "row")


def _expressions() -> Iterator[tuple[str, str]]:
    for panel in _panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def _selectors(node: Any) -> Iterator[Any]:
    """The vector selectors in an expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        yield from _selectors(getattr(node, name)) if hasattr(node, name) else ()
    for argument in getattr(node, "args", ()):
        yield from _selectors(argument)


@pytest.mark.parametrize(("what", "text"), [pytest.param(*pair, id=pair[0]) for pair in _expressions()])
def test_an_expression_is_one_and_every_metric_in_it_exists(what: str, text: str) -> None:
    parsed = promql_parser.parse(text.replace("$__rate_interval", "5m"))
    names = {selector.name for selector in _selectors(parsed)}
    assert names
    assert names <= _exposed()[1]


def test_the_dashboard_is_one() -> None:
    panels = [*_panels()]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert {panel["type"] for panel in panels} <= {need["id"] for need in DASHBOARD["__requires"]}
    assert all(panel["title"] and panel["description"] and panel["targets"] for panel in panels)
    assert DASHBOARD["__inputs"][0]["name"] in panels[0]["datasource"]["uid"]
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, f"{panel['title']} lies on another"
        taken |= cells


def test_the_dashboard_shows_every_metric() -> None:
    shown = {
        selector.name
        for what, text in _expressions()
        for selector in _selectors(promql_parser.parse(text.replace("$__rate_interval", "5m")))
    }
    missing = {name for name in _exposed()[0] if not any(metric.startswith(name) for metric in shown)}
    assert missing == set()


def test_there_are_three_rules_that_say_what_to_do() -> None:
    (group,) = ALERTS["groups"]
    assert [rule["alert"] for rule in group["rules"]] == [
        "LunoraOldestJobOverdue",
        "LunoraDeadLettersRising",
        "LunoraBreakerOpen",
    ]
    for rule in group["rules"]:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        (chapter,) = re.findall(
            r'See "([^"]+)" in docs/operations\.md', " ".join(rule["annotations"]["description"].split())
        )
        assert f"\n## {chapter}\n" in PAGES["operations.md"]


def test_the_scrape_configuration_is_yaml() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGES["monitoring.md"], re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(block)["scrape_configs"]
    assert job["metrics_path"] == "/_lunora/metrics"


def test_links_lead_somewhere() -> None:
    for name, text in PAGES.items():
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
            assert (DOCS / target).exists(), f"{name}: {target}"


# -- numbers -------------------------------------------------------------------------------------------------

_FACTS: Final = {
    "limits.md": [
        f"{codec.MAX_ARGS_BYTES:,} bytes of JSON, {codec.MAX_DEPTH} levels deep",
        f"{options.MAX_INSTANT_MS:,} ms after 1970",
        f"1 ms to {options._MAX_TIMEOUT_MS // 3_600_000} h; {options.DEFAULT_TIMEOUT_MS // 60_000} minutes",
        f"1 to {options._MAX_SHARD_KEY} characters",
        f"1 to {retry._MAX_ATTEMPTS:,}; {retry.DEFAULT_RETRY.max_attempts} unless",
        f"{retry.MAX_HORIZON_MS // DAY_MS} days",
        f"{calls.MAX_CALLS:,}, with {calls.MAX_CALLS_BYTES:,} bytes of arguments",
        f"{job_filter.MAX_CHANGED:,}, of {bulk.MAX_SCANNED:,} that it looks at",
        f"page of a list | {listing.MAX_PAGE} |",
        f"and a `count` | {finding.MAX_LOOKED_AT:,}, and {finding.MAX_COUNTED:,} |",
        f"{protocol.MAX_CODE} characters of its code, {protocol.MAX_MESSAGE:,} of its text",
        f"were canceled, or expired | {history.HISTORY_MS // DAY_MS} days",
        f"so many jobs | {history.HISTORY_LIMIT:,};",
        f"lines of a traceback | {incident.MAX_TRACE:,} characters",
        f"passed on to `on_complete` | {completion.MAX_RESULT_BYTES:,} bytes",
        f"asks for with `RetryAfter` | {retrying.MAX_RETRY_AFTER_MS // 3_600_000} hours",
        f"tags of a job | {options.MAX_TAGS}, of 1 to {options.MAX_TAG} characters",
        f"dead letters | {history.DEAD_RETENTION_MS // DAY_MS} days",
        f"in its shard | {applied.APPLIED_RETENTION_MS // DAY_MS} days",
        f"without history | {history.KNOWN_MS // 60_000} minutes",
        f"overtook its job | {pruning.TOMBSTONE_MS // DAY_MS} day |",
        f"by the minute | {statistics.MAX_MINUTES // 60} hours",
        f"the last {cron_runs.KEPT} |",
        f"{dispatching.MAX_AWAITING} waiting for their headers, {engine.MAX_OPEN_DISPATCHES} under way",
        f"within {dispatching.HEADERS_TIMEOUT_S} s",
        f"{batching.MAX_MUTATIONS} mutations of one shard, or {batching.MAX_ACTIONS} of anything else",
        f"{codec.MAX_BODY_BYTES:,} bytes",
        f"{claiming.LEASE_MS // 1000} s, renewed every {receiver.HEARTBEAT_S} s",
        f"every {verdict.UNAVAILABLE_RETRY_MS // 1000} s for {verdict.UNAVAILABLE_PATIENCE_MS // 60_000} minutes",
        f"age of a signature | {signing.TOLERANCE_S // 60} minutes",
        f"1 to {pool.MAX_CONCURRENCY:,}; {pool.DEFAULT_MAX_CONCURRENCY} unless",
        f"-{pool.MAX_PRIORITY} to {pool.MAX_PRIORITY}, a minute of head start",
        f"metrics count apart | {statistics.MAX_POOLS} |",
        f"{queue_message.MAX_MESSAGE_BYTES:,} bytes",
        f"{queue_workpool._MAX_DELAY_S // 3600} hours",
        f"{queue_workpool.MAX_BATCH} messages, of {queue_workpool.MAX_BATCH_BYTES:,} bytes together",
        f"batch together | {queue_consumer.TIME_LIMIT_S // 60} minutes",
        f"{queue_consumer.BACKOFF.base_ms // 1000} s; {(queue_consumer.BACKOFF.max_ms or 0) // 3_600_000} hour",
        f"{builder.MAX_TIMEOUT_MS // 60_000} minutes at most",
        f"{expression.MAX_LENGTH} characters",
        f"asks the scheduler something | {shard.MAX_ROUNDS} |",
        f"{shard.MAX_NESTED} deep",
    ],
    "monitoring.md": [
        f"The first {statistics.MAX_POOLS} pools are counted apart",
        f'`pool="{statistics.OTHER_POOLS}"`',
        f"the first {listing.MAX_PAGE} pools by name",
        f"stop at {listing._COUNTED:,}",
        f"up to {statistics.MAX_MINUTES:,} of them",
    ],
    "operations.md": [
        f"more than {alarm._LATE_MS // 1000} s overdue",
        f"every {verdict.UNAVAILABLE_RETRY_MS // 1000} s. After {verdict.UNAVAILABLE_PATIENCE_MS // 60_000} minutes",
        f"kept for {history.DEAD_RETENTION_MS // DAY_MS} days",
        f"within {receiver.WRITE_TIMEOUT_S} s, and are then cancelled. After {engine.SEVERED_LEASE_MS // 1000} s",
        "Five minutes later",
    ],
    "delivery.md": [
        f"{history.DEAD_RETENTION_MS // DAY_MS} days",
        f"{retry.DEFAULT_RETRY.max_attempts} unless you set it, so {retry.DEFAULT_RETRY.max_attempts + 1} attempts",
        f"for {applied.APPLIED_RETENTION_MS // DAY_MS}\n  days",
        f"every {verdict.UNAVAILABLE_RETRY_MS // 1000} s for {verdict.UNAVAILABLE_PATIENCE_MS // 60_000} minutes",
    ],
    "pools.md": [
        f"1 to {pool.MAX_CONCURRENCY:,}, exact",
        f"from -{pool.MAX_PRIORITY} to {pool.MAX_PRIORITY}, is a head start of a minute",
        f"at most {claiming.LEASE_MS // 1000} s after",
        f"{queue_message.MAX_MESSAGE_BYTES:,} bytes",
        f"up to {queue_workpool.MAX_BATCH} at a time, of {queue_workpool.MAX_BATCH_BYTES:,} bytes",
        f"{queue_consumer.TIME_LIMIT_S // 60} minutes together",
        f"up to {retry._MAX_ATTEMPTS:,} times",
    ],
}


@pytest.mark.parametrize(("page", "fact"), [(page, fact) for page, facts in _FACTS.items() for fact in facts])
def test_a_number_is_the_code_s(page: str, fact: str) -> None:
    assert fact in PAGES[page]


def test_numbers_that_words_stand_for() -> None:
    assert signing.TOLERANCE_S == 5 * 60
    assert pool.AGEING_MS == 60_000
    assert tuple(sorted(histogram.BOUNDS_MS)) == histogram.BOUNDS_MS
