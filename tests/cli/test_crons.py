from __future__ import annotations

from typing import Any

import pytest

from .conftest import Lunora
from .sources import DIGEST, WEEKLY
from .worker_server import Scripted

ROUTE = "/_lunora/admin/v1/cron-jobs"
RUN = {
    "name": "digest",
    "scheduled_for": 1_767_600_000_000,
    "trigger": "cron",
    "started": 1_767_600_000_500,
    "ended": 1_767_600_002_000,
    "outcome": "failed",
    "result": None,
    "error_code": "CARD_DECLINED",
    "error_message": "no funds",
    "job": "retry-1",
}
JOB: dict[str, Any] = {
    "name": "digest",
    "cron": "0 9 * * *",
    "english": "Every day at 09:00 UTC",
    "target": "email:digest",
    "args": {},
    "overlap": "allow",
    "timeout_ms": 600_000,
    "retry": None,
    "next": "2026-01-05T09:00:00Z",
    "last_run": RUN,
}
NEVER_RUN = {**JOB, "name": "report", "next": None, "last_run": None}


def test_the_cron_jobs_of_a_worker_are_listed(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[f"GET {ROUTE}"] = {"jobs": [JOB, NEVER_RUN]}
    done = lunora("crons", "list", "--url", scripted.url)
    assert (done.status, done.err) == (0, "")
    head, digest, report = done.out.splitlines()
    assert head.split("  ")[0] == "NAME"
    assert "digest  0 9 * * *  Every day at 09:00 UTC  email:digest  2026-01-05T09:00:00Z (" in digest
    assert "failed 2026-01-05T08:00:00Z (" in digest
    assert report.rstrip().endswith("email:digest")
    told = lunora("crons", "list", "--url", scripted.url, "--format", "json")
    assert told.json == {"jobs": [JOB, NEVER_RUN]}


def test_the_cron_jobs_of_the_sources_have_the_same_shape(lunora: Lunora, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lunorash.cli.crons.read_crons", lambda _project: (DIGEST, WEEKLY))
    told = lunora("crons", "list", "--offline", "--format", "json").json["jobs"]
    assert set(JOB) <= set(told[0])
    assert told[0]["retry"]["max_attempts"] == 2
    assert (told[0]["overlap"], told[0]["timeout_ms"], told[0]["args"]) == ("skip", 60_000, {"to": "all"})
    assert (told[1]["file"], told[1]["line"], told[1]["cron"]) == ("lunora/crons.py", 7, "0 8 * * MON")
    done = lunora("crons", "list", "--offline")
    assert "report  0 8 * * MON  Every Monday at 08:00 UTC  reports:weekly" in done.out
    assert "note: lunora/crons.py:7: " in done.err


def test_there_may_be_none(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[f"GET {ROUTE}"] = {"jobs": []}
    assert lunora("crons", "list", "--url", scripted.url).out == "there are no cron jobs\n"
    scripted.answers[f"GET {ROUTE}/runs"] = {"runs": []}
    assert lunora("crons", "runs", "--url", scripted.url).out == "there are no runs\n"


def test_one_is_run_now(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[f"POST {ROUTE}/run"] = {"name": "digest", "ran": True, "result": {"sent": 3}}
    done = lunora("crons", "run", "digest", "--url", scripted.url)
    assert (done.status, done.out, done.err) == (0, 'ran digest\n{\n  "sent": 3\n}\n', "")
    assert scripted.asked[0].json == {"name": "digest"}
    told = lunora("crons", "run", "digest", "--url", scripted.url, "--format", "json")
    assert told.json == {"name": "digest", "ran": True, "result": {"sent": 3}}


def test_one_that_was_left_out_is_a_failure(lunora: Lunora, scripted: Scripted) -> None:
    scripted.answers[f"POST {ROUTE}/run"] = {"ran": False, "reason": "the run before is still under way"}
    done = lunora("crons", "run", "digest", "--url", scripted.url)
    assert (done.status, done.out) == (1, "")
    assert done.err == "not ran digest: the run before is still under way\n"
    told = lunora("crons", "run", "digest", "--url", scripted.url, "--format", "json")
    assert told.status == 1
    assert told.json == {"name": "digest", "ran": False, "reason": "the run before is still under way"}


@pytest.mark.parametrize(("status", "code"), [(404, "CRON_JOB_NOT_FOUND"), (500, "CRON_JOB_FAILED")])
def test_one_that_fails_tells_why(lunora: Lunora, scripted: Scripted, status: int, code: str) -> None:
    body = f'{{"error": {{"code": "{code}", "message": "why"}}}}'.encode()
    scripted.answers[f"POST {ROUTE}/run"] = (status, {}, body)
    done = lunora("crons", "run", "digest", "--url", scripted.url)
    assert (done.status, done.err) == (1, f"lunora: {code}: why\n")


def test_runs_are_listed(lunora: Lunora, scripted: Scripted) -> None:
    running = {**RUN, "ended": None, "outcome": None, "error_code": None, "error_message": None, "job": None}
    scripted.answers[f"GET {ROUTE}/runs"] = {"runs": [RUN, running]}
    done = lunora("crons", "runs", "--url", scripted.url)
    assert done.status == 0
    first, second = done.out.splitlines()[1:]
    assert "digest  2026-01-05T08:00:00Z (" in first
    assert "  cron     1.5 s  failed   CARD_DECLINED: no funds  retry-1" in first
    assert second.rstrip().endswith("cron")
    assert scripted.asked[0].query == {"limit": "20"}
    lunora("crons", "runs", "sweep presence", "--limit", "7", "--url", scripted.url, "--format", "json")
    assert scripted.asked[1].query == {"limit": "7", "name": "sweep presence"}


@pytest.mark.parametrize(
    "told", [{"jobs": [{}], "runs": [{}]}, {"jobs": [{"last_run": 5, "next": 5}], "runs": [{"started": "x"}]}]
)
def test_what_is_missing_is_left_empty(lunora: Lunora, scripted: Scripted, told: dict[str, Any]) -> None:
    scripted.answers[f"GET {ROUTE}"] = scripted.answers[f"GET {ROUTE}/runs"] = told
    assert lunora("crons", "list", "--url", scripted.url).status == 0
    assert lunora("crons", "runs", "--url", scripted.url).status == 0
