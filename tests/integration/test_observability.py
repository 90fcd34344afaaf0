"""What operators see of jobs on real workerd: the log, traces, metrics and numbers by the minute."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import httpx
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.client import ADMIN, SECRET, TOKEN, Client, wait_for
from tests.integration.conftest import Launch
from tests.integration.origin import Origin, forward, hang

TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
SPAN: Final = "b7ad6b7169203331"
TRACEPARENT: Final = f"00-{TRACE}-{SPAN}-01"
STATISTICS: Final = "/_lunora/admin/v1/scheduled/statistics"


@pytest.fixture(scope="module")
def observed(launch: Launch) -> Client:
    return launch(name="observed")


def lines_of(client: Client, job_id: str) -> list[dict[str, Any]]:
    """What the log tells of a job."""
    lines = [line[line.index('{"event":"job.') :] for line in client.worker.log_lines() if '{"event":"job.' in line]
    return [line for line in map(json.loads, lines) if line["job"] == job_id]


def events_of(client: Client, job_id: str) -> list[str]:
    return [line["event"].removeprefix("job.") for line in lines_of(client, job_id)]


# -- the log -------------------------------------------------------------------------------------------------


def test_the_log_tells_the_life_of_a_job_and_nothing_of_what_it_carries(observed: Client) -> None:
    job_id = observed.schedule(
        "probes:note", {"value": "somebody's data"}, delay_ms=300, id="told", retry={"max_attempts": 1, "base_ms": 50}
    )
    record = observed.wait(job_id, "succeeded")
    scheduled, started, succeeded = wait_for(
        lambda: len(lines := lines_of(observed, job_id)) == 3 and lines, "three lines", 10, observed.worker.log_lines
    )
    assert scheduled == {
        "event": "job.scheduled",
        "at": record["created"],
        "job": job_id,
        "incarnation": record["incarnation"],
        "target": "probes:note",
        "wait_ms": scheduled["wait_ms"],
    }
    assert 0 < scheduled["wait_ms"] <= 300
    assert (started["event"], started["attempt"]) == ("job.started", 1)
    assert started["late_ms"] == started["at"] - record["due"] >= 0
    assert (succeeded["event"], succeeded["dispatch"]) == ("job.succeeded", started["dispatch"])
    assert succeeded["ran_ms"] == succeeded["at"] - started["at"]
    log = "\n".join(observed.worker.log_lines())
    assert "somebody's data" not in log
    for secret in (TOKEN, SECRET, SECRET.removeprefix("whsec_")):
        assert secret not in log


def test_the_log_tells_how_a_job_failed_died_and_was_dropped(observed: Client) -> None:
    job_id = observed.schedule("probes:fail", retry={"max_attempts": 1, "base_ms": 50})
    observed.wait(job_id, "dead")
    observed.call("POST", f"{ADMIN}/dead/cancel", {"id": job_id})
    events = ["scheduled", "started", "retrying", "started", "dead", "dropped"]
    wait_for(lambda: events_of(observed, job_id) == events, "its end", 10, lambda: lines_of(observed, job_id))
    lines = lines_of(observed, job_id)
    assert [line.get("code") for line in lines] == [None, None, "PROBE_FAILED", None, "PROBE_FAILED", None]
    assert "it always does" not in str(lines)
    waits = observed.schedule("probes:note", delay_ms=600_000)
    observed.call("POST", f"{ADMIN}/cancel", {"id": waits})
    wait_for(lambda: events_of(observed, waits) == ["scheduled", "canceled"], "its cancel", 10)


def test_the_log_can_tell_problems_only_or_nothing(launch: Launch) -> None:
    for level, expected in (("problems", ["retrying", "dead"]), ("off", [])):
        client = launch(vars={"LUNORA_LOG": level}, name=f"log {level}")
        job_id = client.schedule("probes:fail", retry={"max_attempts": 1, "base_ms": 50})
        client.wait(job_id, "dead")
        if expected:
            wait_for(lambda c=client, j=job_id, e=expected: events_of(c, j) == e, "its lines", 10)  # type: ignore[misc]
        assert events_of(client, job_id) == expected
        assert _value(_metrics(client), "lunora_jobs_dead_total", pool="") == 1, "it is counted all the same"
        client.worker.stop()


def test_what_a_restart_has_cut_off_is_told_and_counted(launch: Launch) -> None:
    """It happens while the object is being made, before anybody has called it."""
    origin = Origin()
    origin.start()
    client = launch(vars={"LUNORA_ORIGIN_URL": origin.url}, name="cut off in time")
    origin.worker_url = client.worker.url
    origin.behaviour = hang
    job_id = client.schedule("probes:note")
    wait_for(lambda: origin.awaiting, "the dispatch to be sent", 10)
    client.worker.kill()
    origin.behaviour = forward
    client.worker.restart()
    client.wait(job_id, "succeeded", within=40)
    events = ["scheduled", "started", "refunded", "started", "succeeded"]
    wait_for(lambda: events_of(client, job_id) == events, "its lines", 10, lambda: lines_of(client, job_id))
    assert _value(_metrics(client), "lunora_attempts_refunded_total", pool="") == 1
    client.worker.stop()
    origin.stop()


def test_another_word_for_the_log_is_refused_at_the_door(launch: Launch) -> None:
    client = launch(vars={"LUNORA_LOG": "verbose"}, name="bad log")
    status, code, message = client.refusal(target="probes:note")
    assert (status, code) == (500, "LOG_INVALID")
    assert "'verbose'" in message
    assert "problems" in message
    assert client.status()["backlog"] == 0
    client.worker.stop()


# -- traces --------------------------------------------------------------------------------------------------


class _Elsewhere(BaseHTTPRequestHandler):
    """A service that jobs call. It remembers who called."""

    calls: Final[list[tuple[str, str | None, str | None]]] = []

    def do_GET(self) -> None:
        self.calls.append((self.path, self.headers["traceparent"], self.headers["x-other"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _called(path: str) -> tuple[str, str | None, str | None]:
    """The one call of a path, with its query."""

    def found() -> list[tuple[str, str | None, str | None]]:
        return [call for call in _Elsewhere.calls if call[0].partition("?")[0] == path]

    (call,) = wait_for(found, path, 20, lambda: _Elsewhere.calls)
    return call


def _post(client: Client, kind: str, function: str, args: dict[str, Any], traceparent: str | None) -> Any:
    headers = {} if traceparent is None else {"traceparent": traceparent}
    answer = client.http.post(f"{client.worker.url}/api/{kind}", json={"path": function, "args": args}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def test_a_trace_goes_from_a_request_through_its_jobs_to_whom_they_call(observed: Client, elsewhere: str) -> None:
    url = f"{elsewhere}/traced"
    job_id, pooled = _post(observed, "action", "traced:ask", {"url": url}, TRACEPARENT)
    _post(observed, "mutation", "traced:book", {"url": url}, TRACEPARENT)
    assert _called("/traced/now")[1] == TRACEPARENT, "no span of its own: nobody would tell of it"
    spans = set()
    for way in ("job", "pool", "mutation"):
        path, traceparent, other = _called(f"/traced/{way}")
        assert traceparent is not None
        assert path.endswith(f"?job={traceparent}"), "as the handler has it"
        assert traceparent[:36] == f"00-{TRACE}-"
        assert traceparent[-3:] == "-01"
        assert other == "kept"
        spans.add(traceparent[36:52])
        assert _called(f"/traced/{way}/own")[1] == "of my own"
    assert len(spans | {SPAN}) == 4, "each attempt is a span of its own"
    for traced in (job_id, pooled):
        observed.wait(traced, "succeeded")
        wait_for(lambda t=traced: len(lines_of(observed, t)) == 3, "its lines", 10)  # type: ignore[misc]
        assert {line["trace_id"] for line in lines_of(observed, traced)} == {TRACE}


@pytest.mark.parametrize("traceparent", [None, "nonsense", f"00-{'0' * 32}-{SPAN}-01", f"{TRACEPARENT}-more"])
def test_without_a_valid_traceparent_there_is_no_trace(
    observed: Client, elsewhere: str, traceparent: str | None
) -> None:
    name = f"/untraced{len(traceparent or '')}"
    _, pooled = _post(observed, "action", "traced:ask", {"url": elsewhere + name}, traceparent)
    for way in ("now", "job", "pool"):
        assert _called(f"{name}/{way}")[1] is None
    observed.wait(pooled, "succeeded")
    assert _called(f"{name}/pool")[0].endswith("?job=None")
    assert not any("trace_id" in line for line in lines_of(observed, pooled))


def test_requests_at_the_same_time_keep_their_traces_apart(observed: Client, elsewhere: str) -> None:
    def ask(number: int) -> None:
        traceparent = None if number % 3 == 0 else f"00-{number:032x}-{SPAN}-01"
        _post(observed, "action", "traced:ask", {"url": f"{elsewhere}/at-once-{number}"}, traceparent)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(12):
        for way in ("now", "job", "pool"):
            traceparent = _called(f"/at-once-{number}/{way}")[1]
            assert (traceparent and int(traceparent[3:35], 16)) == (None if number % 3 == 0 else number)


def test_the_admin_api_passes_a_trace_on(observed: Client, elsewhere: str) -> None:
    answer = observed.http.post(
        f"{observed.worker.url}/test/schedule",
        json={"target": "traced:call", "args": {"url": f"{elsewhere}/by-hand"}},
        headers={"traceparent": TRACEPARENT},
    )
    assert answer.status_code == 200, answer.text
    traceparent = _called("/by-hand")[1]
    assert traceparent is not None
    assert traceparent[3:35] == TRACE


# -- metrics -------------------------------------------------------------------------------------------------


def _metrics(client: Client) -> dict[str, Metric]:
    answer = client.call("GET", "/_lunora/metrics")
    assert answer.status_code == 200, answer.text
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


def _counted(client: Client, pool: str = "") -> dict[str, float]:
    families = _metrics(client)
    names = ("jobs_scheduled", "attempts_started", "jobs_succeeded", "attempts_failed", "jobs_dead")
    return {name: _value(families, f"lunora_{name}_total", pool=pool) for name in names}


def test_metrics_tell_what_jobs_did_and_outlive_the_worker(launch: Launch) -> None:
    client = launch(name="measured")
    for number in range(5):
        client.schedule("probes:note", id=f"good-{number}")
    dead = client.schedule("probes:fail", retry={"max_attempts": 1, "base_ms": 20})
    client.wait_all({f"good-{number}" for number in range(5)})
    client.wait(dead, "dead")
    counted = {
        "jobs_scheduled": 6,
        "attempts_started": 7,
        "jobs_succeeded": 5,
        "attempts_failed": 2,
        "jobs_dead": 1,
    }
    assert _counted(client) == counted
    families = _metrics(client)
    assert _value(families, "lunora_lateness_seconds_count", pool="") == 7
    assert _value(families, "lunora_attempt_duration_seconds_count", pool="") == 7
    assert _value(families, "lunora_dead_letters") == 1
    assert _value(families, "lunora_breaker_open") == 0
    assert _value(families, "lunora_oldest_overdue_seconds") == 0

    client.worker.kill()
    client.worker.restart()
    assert _counted(client) == counted
    client.schedule("probes:note", id="later")
    client.wait("later", "succeeded")
    assert _counted(client)["jobs_succeeded"] == 6

    minutes = client.call("GET", STATISTICS, minutes=5).json()["minutes"]
    assert len(minutes) == 5
    assert sum(minute["succeeded"] for minute in minutes) == 6
    assert max(minute["duration"]["max"] or 0 for minute in minutes) > 0
    client.worker.stop()


def test_counts_are_written_within_a_second_without_being_asked_for(launch: Launch) -> None:
    client = launch(name="flushed")
    client.schedule("probes:note", id="counted")
    client.wait("counted", "succeeded")
    wait_for(lambda: _kept(client).get("succeeded"), "the success to be written", 10, lambda: _kept(client))
    client.worker.kill()
    client.worker.restart()
    assert _counted(client)["jobs_succeeded"] == 1
    client.worker.stop()


def _kept(client: Client) -> dict[str, int]:
    """What has been written; looking at it writes nothing."""
    counts: dict[str, int] = client.call("GET", "/test/kept-statistics").json().get("", {"counts": {}})["counts"]
    return counts


def test_metrics_are_for_those_who_bear_the_token(observed: Client) -> None:
    for path in ("/_lunora/metrics", STATISTICS):
        for headers in ({}, {"authorization": f"Bearer {TOKEN}x"}):
            answer = httpx.get(observed.worker.url + path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
    assert observed.call("GET", STATISTICS, minutes="0").json()["error"]["code"] == "INVALID_INPUT"
    assert observed.call("POST", "/_lunora/metrics").status_code == 405
