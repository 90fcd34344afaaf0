from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, Final

import pytest

from lunorash.crons import CronJob, cron_jobs
from lunorash.errors import LunoraError
from lunorash.scheduler import RetryPolicy
from lunorash.server import App, define_app

from .api_worker import FUNCTIONS, ApiWorker
from .scheduler_object import ADMIN_TOKEN, NOW

_JOBS: Final = (
    cron_jobs()
    .weekly("report", {"day_of_week": "monday", "hour_utc": 8, "minute_utc": 0}, "m:note", {"text": "reported"})
    .interval("bad", {"minutes": 5}, "m:act_fails", {"how": "expected"}, retry=RetryPolicy(max_attempts=2))
    .interval("worse", {"minutes": 5}, "m:act_fails", {"how": "unexpected"})
    .daily("alone", {"hour_utc": 0, "minute_utc": 30}, "m:plain_act", overlap="skip", timeout=5_000)
    .jobs()
)
_PREFIX: Final = "/_lunora/admin/cron-jobs"
_ROUTES: Final = [("GET", _PREFIX), ("GET", f"{_PREFIX}/runs"), ("POST", f"{_PREFIX}/run")]


def _table(*jobs: CronJob) -> dict[str, list[CronJob]]:
    table: dict[str, list[CronJob]] = {}
    for job in jobs:
        table.setdefault(job.expression, []).append(job)
    return table


class _Worker(ApiWorker):
    def __init__(self, *jobs: CronJob, shards: bool = True) -> None:
        super().__init__()
        builder = define_app().scheduler(namespace=lambda env: env.SCHEDULER).functions(FUNCTIONS).crons(_table(*jobs))
        if shards:
            builder.shard(lambda env: env.SHARD)
        self.app: App = builder.build()

    async def ask(self, method: str, path: str, body: Any = None, *, query: str = "", token: str = ADMIN_TOKEN) -> Any:
        headers = {"authorization": f"Bearer {token}"}
        answer = await self.answer(path, json.dumps(body).encode(), headers, method, query=query)
        return answer.status, json.loads(answer.text)

    async def run(self, name: str) -> Any:
        return await self.ask("POST", f"{_PREFIX}/run", {"name": name})

    async def runs(self, query: str = "") -> list[dict[str, Any]]:
        status, body = await self.ask("GET", f"{_PREFIX}/runs", query=query)
        assert status == 200
        runs: list[dict[str, Any]] = body["runs"]
        return runs


# -- who may call --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), _ROUTES)
async def test_nobody_passes_without_the_token_and_nothing_runs(method: str, path: str) -> None:
    worker = _Worker(*_JOBS)
    for token in ("", "wrong"):
        status, body = await worker.ask(method, path, {"name": "report"}, token=token)
        assert (status, body["error"]["code"]) == (403, "ADMIN_FORBIDDEN")
    assert worker.shards.objects == {}


# -- what there is -------------------------------------------------------------------------------------------


async def test_the_jobs_are_listed_by_name() -> None:
    status, body = await _Worker(*_JOBS).ask("GET", _PREFIX)
    assert status == 200
    assert [job["name"] for job in body["jobs"]] == ["alone", "bad", "report", "worse"]
    next_report = body["jobs"][2].pop("next")
    assert next_report.endswith("T08:00:00Z")
    assert body["jobs"][2] == {
        "name": "report",
        "cron": "0 8 * * MON",
        "english": "Every Monday at 08:00 UTC",
        "target": "m:note",
        "args": {"text": "reported"},
        "overlap": "allow",
        "timeout_ms": 600_000,
        "retry": None,
        "last_run": None,
    }
    assert body["jobs"][0]["overlap"] == "skip"
    assert body["jobs"][0]["timeout_ms"] == 5_000
    assert body["jobs"][1]["retry"] == RetryPolicy(max_attempts=2).to_dict()


async def test_the_next_time_is_that_after_now() -> None:
    from lunorash.studio.cron_routes import CronHandlers

    async def unused(*_args: object) -> Any:
        raise AssertionError

    crons = CronHandlers(crons=_table(_JOBS[0]), shards=lambda _: None, run=unused, clock=lambda: NOW / 1000)
    told = await crons.list_crons(_Worker().request("", method="GET"), None)
    assert told.model_dump()["jobs"][0]["next"] == "2027-01-18T08:00:00Z"


async def test_an_app_without_crons_lists_none() -> None:
    assert await _Worker().ask("GET", _PREFIX) == (200, {"jobs": []})


async def test_each_job_is_listed_with_its_last_run() -> None:
    worker = _Worker(*_JOBS)
    await worker.run("report")
    await worker.run("bad")
    _, body = await worker.ask("GET", _PREFIX)
    last = {job["name"]: job["last_run"] and job["last_run"]["outcome"] for job in body["jobs"]}
    assert last == {"alone": None, "bad": "failed", "report": "succeeded", "worse": None}


# -- what has run --------------------------------------------------------------------------------------------


async def test_runs_are_listed_the_newest_first_of_one_job_or_of_all() -> None:
    worker = _Worker(*_JOBS)
    for name in ("report", "bad", "report"):
        await worker.run(name)
    (run, other) = await worker.runs("name=report")
    assert run["started"] >= other["started"]
    assert {
        key: run[key] for key in ("name", "trigger", "outcome", "result", "error_code", "error_message", "job")
    } == {
        "name": "report",
        "trigger": "manual",
        "outcome": "succeeded",
        "result": "REPORTED",
        "error_code": None,
        "error_message": None,
        "job": None,
    }
    assert set(run) == {
        *("name", "scheduled_for", "trigger", "started", "ended"),
        *("outcome", "result", "error_code", "error_message", "job"),
    }
    assert len(await worker.runs()) == 3
    assert len(await worker.runs("limit=2")) == 2
    assert await worker.runs("name=nobody") == []
    (failed,) = await worker.runs("name=bad")
    assert (failed["error_code"], failed["error_message"]) == ("CARD_DECLINED", "no funds")
    assert failed["job"].startswith("cron-bad-")


@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "x", "1000", "%C2%B2"])
async def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    status, body = await _Worker(*_JOBS).ask("GET", f"{_PREFIX}/runs", query=f"limit={limit}")
    assert (status, body["error"]["code"]) == (400, "INVALID_INPUT")


async def test_an_app_without_shards_has_no_record() -> None:
    worker = _Worker(*(job for job in _JOBS if job.overlap == "allow"), shards=False)
    assert await worker.runs() == []
    _, body = await worker.ask("GET", _PREFIX)
    assert {job["last_run"] for job in body["jobs"]} == {None}


# -- running one ---------------------------------------------------------------------------------------------


async def test_a_job_is_run_now_as_often_as_one_asks() -> None:
    worker = _Worker(*_JOBS)
    for _ in range(2):
        assert await worker.run("report") == (200, {"name": "report", "ran": True, "result": "REPORTED"})
    assert worker.notes() == ["reported", "reported"]
    assert (await worker.run("alone"))[1]["result"] == [2**53 + 1, 1.0, "2026-01-02"]


async def test_a_job_that_is_under_way_is_not_run() -> None:
    worker = _Worker(*_JOBS)
    assert worker.shards.get("default").leases.hold("alone", "another", NOW)
    status, body = await worker.run("alone")
    assert (status, body["ran"]) == (200, False)
    assert body == {"name": "alone", "ran": False, "reason": "the run before is still under way"}


async def test_a_failure_is_told_with_its_reason_since_it_is_an_operator_who_asks() -> None:
    worker = _Worker(*_JOBS)
    status, body = await worker.run("worse")
    assert (status, body["error"]["code"]) == (500, "CRON_JOB_FAILED")
    assert body["error"]["message"] == "the cron job 'worse' failed: ATTEMPT_FAILED: KeyError: 'hunter2'"
    status, body = await worker.run("bad")
    assert status == 500
    assert "CARD_DECLINED: no funds (it is tried again as the job cron-bad-" in body["error"]["message"]


async def test_a_job_that_is_not_there_is_told_from_an_app_without_any() -> None:
    status, body = await _Worker(*_JOBS).run("gone")
    assert (status, body["error"]["code"]) == (404, "CRON_JOB_NOT_FOUND")
    status, body = await _Worker().run("gone")
    assert (status, body["error"]["code"]) == (400, "CRON_JOBS_NOT_CONFIGURED")


@pytest.mark.parametrize("body", [{}, {"name": 5}, {"name": "report", "more": 1}, [], None])
async def test_a_body_that_names_no_job_is_refused(body: Any) -> None:
    worker = _Worker(*_JOBS)
    status, _ = await worker.ask("POST", f"{_PREFIX}/run", body)
    assert status == 400
    assert worker.notes() == []


# -- the whole app -------------------------------------------------------------------------------------------


async def _fire(worker: _Worker, cron: str) -> None:
    async def fetch(*_args: object, **_options: object) -> None:
        raise AssertionError("nothing here goes out")

    controller = SimpleNamespace(cron=cron, scheduledTime=NOW, noRetry=lambda: None)
    await worker.app.fire(controller, worker.env, fetch)


async def test_a_trigger_runs_its_jobs_and_wakes_the_scheduler() -> None:
    worker = _Worker(*_JOBS)
    await _fire(worker, "0 8 * * MON")
    assert worker.notes() == ["reported"]
    (run,) = await worker.runs("name=report")
    assert (run["trigger"], run["scheduled_for"]) == ("cron", NOW)
    assert worker.env.SCHEDULER.default.calls["status"] == 1


async def test_an_app_without_a_scheduler_has_crons_too(capsys: pytest.CaptureFixture[str]) -> None:
    worker = _Worker()
    job = CronJob("report", "* * * * *", "m:note", {"text": "a"})
    builder = define_app().shard(lambda env: env.SHARD).functions(FUNCTIONS)
    worker.app = builder.crons({"* * * * *": [job]}).build()
    await _fire(worker, "* * * * *")
    assert worker.notes() == ["a"]
    assert capsys.readouterr().out == ""


# -- putting an app together ---------------------------------------------------------------------------------


def _refused(**options: Any) -> LunoraError:
    builder = define_app().crons(_table(CronJob("sweep", "* * * * *", "m:note", {}, **options)))
    with pytest.raises(LunoraError) as raised:
        builder.build()
    return raised.value


def test_an_option_that_needs_what_the_app_has_not_is_refused_when_it_is_built() -> None:
    for error, code in (
        (_refused(retry=RetryPolicy()), "SCHEDULER_NOT_CONFIGURED"),
        (_refused(overlap="skip"), "SHARD_NOT_CONFIGURED"),
    ):
        assert error.code == code
        assert "the cron job 'sweep'" in error.message
    assert define_app().crons(_table(CronJob("sweep", "* * * * *", "m:note", {}))).build()


def test_two_jobs_of_one_name_are_refused() -> None:
    jobs = (CronJob("sweep", "* * * * *", "m:note", {}), CronJob("sweep", "0 * * * *", "m:note", {}))
    with pytest.raises(LunoraError, match="2 cron jobs named 'sweep'") as raised:
        define_app().crons(_table(*jobs))
    assert raised.value.code == "DUPLICATE_CRON_NAME"
