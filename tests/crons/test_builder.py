from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lunorash.crons import CronJob, cron_jobs
from lunorash.errors import LunoraError
from lunorash.refs import AgentReference, FunctionReference, WorkflowReference
from lunorash.scheduler import RetryPolicy

_SWEEP: FunctionReference[Any] = FunctionReference("presence:sweep", "mutation", internal=True)
_PUBLIC: FunctionReference[Any] = FunctionReference("presence:sweep", "mutation", internal=False)
_FIVE_MINUTES = "*/5 * * * *"


def test_every_kind_of_schedule_and_target_in_the_order_of_declaration() -> None:
    crons = (
        cron_jobs()
        .interval("sweep presence", {"minutes": 5}, _SWEEP, {"room_id": "lobby"})
        .hourly("rollup", {"minute_utc": 17}, "stats:rollup")
        .daily("digest", {"hour_utc": 9, "minute_utc": 0}, "email:digest", {})
        .weekly("report", {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}, "crons.jobs:run")
        .monthly(
            "invoice", {"day": 1, "hour_utc": 0, "minute_utc": 0}, WorkflowReference("invoice", "WORKFLOW_INVOICE")
        )
        .cron("custom", "0 */6 * * 2-6", AgentReference("support", "AGENT_SUPPORT"), {"n": 1})
    )
    assert crons.jobs() == (
        CronJob("sweep presence", _FIVE_MINUTES, "presence:sweep", {"room_id": "lobby"}),
        CronJob("rollup", "17 * * * *", "stats:rollup", {}),
        CronJob("digest", "0 9 * * *", "email:digest", {}),
        CronJob("report", "0 8 * * MON", "crons.jobs:run", {}),
        CronJob("invoice", "0 0 1 * *", "workflows.invoice", {}),
        CronJob("custom", "0 */6 * * MON-FRI", "agents.support", {"n": 1}),
    )


def test_jobs_are_a_snapshot() -> None:
    args = {"rooms": ["lobby"]}
    crons = cron_jobs().interval("sweep", {"minutes": 5}, _SWEEP, args)
    args["rooms"].append("late")
    (job,) = crons.jobs()
    job.args["rooms"].append("mine")
    with pytest.raises(FrozenInstanceError):
        job.name = "other"  # type: ignore[misc]
    crons.hourly("rollup", {"minute_utc": 1}, "stats:rollup")
    assert [job.args for job in crons.jobs()] == [{"rooms": ["lobby"]}, {}]
    assert len({job, *crons.jobs()}) == 3
    assert cron_jobs().jobs() == ()


def test_arguments_become_json() -> None:
    crons = cron_jobs().cron("a", _FIVE_MINUTES, _SWEEP, {"since": datetime(2026, 1, 1, tzinfo=UTC), "none": None})
    assert crons.jobs()[0].args == {"since": "2026-01-01T00:00:00Z", "none": None}


@pytest.mark.parametrize("name", ["", " ", "\t\n", None, 5, b"sweep"])
def test_a_blank_name_is_refused(name: Any) -> None:
    with pytest.raises(LunoraError, match="must not be blank") as refused:
        cron_jobs().interval(name, {"minutes": 5}, _SWEEP)
    assert refused.value.code == "CRON_NAME_INVALID"


@pytest.mark.parametrize("name", [" sweep", "sweep ", "a\nb", "a\x00b", "\ud800", "x" * 201])
def test_a_name_that_a_log_line_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(LunoraError, match="at most 200 printable characters") as refused:
        cron_jobs().cron(name, _FIVE_MINUTES, _SWEEP)
    assert refused.value.code == "CRON_NAME_INVALID"


def test_a_name_is_used_once() -> None:
    crons = cron_jobs().interval("sweep", {"minutes": 5}, _SWEEP)
    with pytest.raises(LunoraError, match="two cron jobs named 'sweep'") as refused:
        crons.cron("sweep", "0 0 * * *", "other:function")
    assert refused.value.code == "DUPLICATE_CRON_NAME"
    assert len(crons.cron("Sweep", "0 0 * * *", "other:function").jobs()) == 2


def test_a_public_function_is_refused_with_the_reason() -> None:
    with pytest.raises(LunoraError) as refused:
        cron_jobs().cron("sweep", _FIVE_MINUTES, _PUBLIC)
    assert refused.value.code == "CRON_TARGET_INVALID"
    assert "the cron job 'sweep' runs 'presence:sweep', which is public: anyone may call it" in refused.value.message
    assert "write internal instead of api" in refused.value.message


@pytest.mark.parametrize(
    "target", [None, 5, "", "presence", "presence.sweep", "workflows.invoice", "a:b:c", print, {"path": "a:b"}]
)
def test_what_is_no_target_is_refused_with_what_is(target: Any) -> None:
    with pytest.raises(LunoraError) as refused:
        cron_jobs().cron("sweep", _FIVE_MINUTES, target)
    assert refused.value.code == "CRON_TARGET_INVALID"
    assert refused.value.message.startswith("the cron job 'sweep': the target ")
    assert "workflows.onboarding" in refused.value.message


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ([1], "INVALID_INPUT", "args of the cron job 'sweep' is of type list"),
        ("room", "INVALID_INPUT", "args of the cron job 'sweep' is of type str"),
        ({"tags": {1}}, "INVALID_INPUT", "args of the cron job 'sweep'.tags is of type set"),
        ({"x": float("nan")}, "INVALID_INPUT", "args of the cron job 'sweep'.x is nan"),
        ({1: 2}, "INVALID_INPUT", "keys are strings"),
        ({"x": "y" * 1_000_001}, "PAYLOAD_TOO_LARGE", "a job may carry 1,000,000"),
    ],
)
def test_arguments_that_json_cannot_carry_are_refused(args: Any, code: str, words: str) -> None:
    with pytest.raises(LunoraError) as refused:
        cron_jobs().cron("sweep", _FIVE_MINUTES, _SWEEP, args)
    assert refused.value.code == code
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("expression", "code", "words"),
    [
        ("0 0 * * 0", "CRON_EXPR_INVALID", "0 is not a weekday on Cloudflare"),
        ("0 0 31 2 *", "CRON_NEVER_FIRES", "never fires"),
        ("0 0 30 2 *", "CRON_NEVER_FIRES", "never fires"),
        ("0 0 31 4,6 *", "CRON_NEVER_FIRES", "never fires"),
        ("0 0 * * FRI#6", "CRON_NEVER_FIRES", "never fires"),
        ("0 16 */2 * SAT", "CRON_DAYS_AMBIGUOUS", "two jobs"),
        ({"minutes": 5}, "CRON_EXPR_INVALID", "an expression is a string"),
    ],
)
def test_an_expression_is_refused_with_the_job_named(expression: Any, code: str, words: str) -> None:
    crons = cron_jobs()
    with pytest.raises(LunoraError) as refused:
        crons.cron("sweep", expression, _SWEEP)
    assert refused.value.code == code
    assert refused.value.message.startswith("the cron job 'sweep': the cron expression ")
    assert words in refused.value.message
    assert crons.jobs() == ()


def test_a_schedule_is_refused_with_the_job_named() -> None:
    schedule: Any = {"hour_utc": 25, "minute_utc": 0}
    with pytest.raises(LunoraError, match=r"the cron job 'digest': daily\.hour_utc is 25") as refused:
        cron_jobs().daily("digest", schedule, "email:digest")
    assert refused.value.code == "CRON_SCHEDULE_INVALID"


def test_options_are_kept() -> None:
    retry = RetryPolicy(max_attempts=2)
    crons = cron_jobs().daily(
        "digest",
        {"hour_utc": 9, "minute_utc": 0},
        "email:digest",
        overlap="skip",
        timeout=timedelta(minutes=2),
        retry=retry,
    )
    (job,) = crons.jobs()
    assert (job.overlap, job.timeout_ms, job.retry) == ("skip", 120_000, retry)


def test_without_options_runs_may_overlap_for_ten_minutes_and_are_not_retried() -> None:
    (job,) = cron_jobs().interval("sweep", {"minutes": 5}, "presence:sweep").jobs()
    assert (job.overlap, job.timeout_ms, job.retry) == ("allow", 600_000, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"overlap": "queue"}, 'overlap is \'queue\'; it must be "allow" or "skip"'),
        ({"timeout": 0}, "timeout is 0; an attempt may take from 1 ms to 24 h"),
        ({"timeout": 900_001}, "timeout is 900001; Cloudflare ends a cron's run after 15 minutes"),
        ({"timeout": "1m"}, "timeout is of type str"),
        ({"retry": 3}, "retry is 3; it must be a RetryPolicy"),
        ({"retries": 3}, "there is no option 'retries'; there is overlap, timeout, retry"),
    ],
)
def test_an_option_is_refused_with_the_job_named(options: Any, words: str) -> None:
    with pytest.raises(LunoraError, match=re.escape(words)) as caught:
        cron_jobs().interval("sweep", {"minutes": 5}, "presence:sweep", **options)
    assert caught.value.code == "CRON_OPTION_INVALID"
    assert "'sweep'" in caught.value.message
