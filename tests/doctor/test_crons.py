from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lunorash.codegen import Diagnostic, FileChange
from lunorash.codegen.crons import AppCron
from lunorash.config.record import RECORD
from lunorash.crons import CronExpression, CronJob
from lunorash.doctor.crons import check_cron_notices, check_cron_targets, check_trigger_count, check_triggers_in_sync
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.generated import check_sources
from tests.doctor.project import Project


def with_triggers(project: Project, *crons: str) -> Project:
    return project.configure(lambda config: config.update(triggers={"crons": list(crons)}))


def with_crons(project: Project, *written: str) -> Evidence:
    """The project as if its sources declared cron jobs with these expressions."""
    evidence = Evidence(project.folder)
    parsed = [CronExpression.parse(text) for text in written]
    crons = tuple(
        AppCron(CronJob(f"job {number}", each.normalized, "trials:start", {}), "lunora/crons.py", number, each.notices)
        for number, each in enumerate(parsed, start=1)
    )
    evidence.generation = replace(evidence.generation, crons=crons)
    return evidence


def reconciled(project: Project, evidence: Evidence, crons: Sequence[str]) -> Evidence:
    """The same as if codegen would write these triggers."""
    path = project.folder / "wrangler.jsonc"
    config = json.loads(path.read_text())
    config["triggers"] = {"crons": crons}
    change = FileChange("wrangler.jsonc", path.read_bytes(), json.dumps(config).encode())
    evidence.reconciled = replace(evidence.generation, changes=(change,))
    return evidence


def test_a_project_without_crons_has_nothing_to_say(project: Project) -> None:
    for check in (check_triggers_in_sync, check_cron_notices, check_trigger_count):
        assert project.says(check) == []


def test_triggers_in_sync(project: Project) -> None:
    with_triggers(project, "0 8 * * MON", "1 2 3 4 *")
    evidence = with_crons(project, "0 8 * * MON")
    evidence.reconciled = evidence.generation
    assert [finding.code for finding in check_triggers_in_sync(evidence)] == ["triggers-in-sync"]


def test_triggers_out_of_sync(project: Project) -> None:
    with_triggers(project, "1 2 3 4 *")
    evidence = reconciled(project, with_crons(project, "0 8 * * MON"), ["0 8 * * MON"])
    (finding,) = check_triggers_in_sync(evidence)
    assert (finding.level.value, finding.code) == ("fail", "triggers-stale")
    assert "lacks '0 8 * * MON' and has '1 2 3 4 *' of a job that is gone" in finding.message


def test_what_codegen_would_have_somebody_look_at_in_the_configuration(project: Project) -> None:
    project.write("wrangler.json", (project.folder / "wrangler.jsonc").read_text())
    (finding,) = project.findings(check_triggers_in_sync)
    assert (finding.level.value, finding.code) == ("warn", "wrangler-ambiguous")


def test_a_trigger_of_a_job_that_is_gone(project: Project) -> None:
    project.write(RECORD, json.dumps({"triggers.crons": ["0 0 * * *"]}))
    (finding,) = with_triggers(project, "1 0 * * *", "0 0 * * *").findings(check_triggers_in_sync)
    assert (finding.level.value, finding.code) == ("fail", "triggers-stale")
    assert "has '0 0 * * *' of a job that is gone" in finding.message


def test_a_record_that_is_stale_or_damaged(project: Project) -> None:
    project.write(RECORD, json.dumps({"triggers.crons": ["0 0 * * *"]}))
    (finding,) = project.findings(check_triggers_in_sync)
    assert (finding.level.value, finding.code) == ("fail", "wrangler-stale")
    assert RECORD in finding.message
    assert project.write(RECORD, "{").says(check_triggers_in_sync) == [("warn", "wrangler-record-damaged")]


def test_something_else_that_codegen_would_write(project: Project) -> None:
    project.configure(lambda config: config["durable_objects"]["bindings"].pop())
    assert project.says(check_triggers_in_sync) == [("fail", "wrangler-stale")]


def test_targets_are_internal_or_the_sources_are_refused(project: Project) -> None:
    evidence = with_crons(project, "0 8 * * MON")
    (finding,) = check_cron_targets(evidence)
    assert (finding.level.value, finding.code) == ("pass", "cron-targets-internal")
    assert "trials:start" in finding.message
    problem = Diagnostic("lunora/crons.py", 5, "CRON_TARGET_INVALID", "api.trials.start may be called by anybody")
    evidence.generation = replace(evidence.generation, diagnostics=(problem,))
    assert list(check_cron_targets(evidence)) == []
    (refused,) = check_sources(evidence)
    assert (refused.level.value, refused.code) == ("fail", "cron-target-invalid")


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 0 * * 0", "SUN"),
        ("every day", "five fields"),
        ("* * * * * *", "six fields"),
    ],
)
def test_a_trigger_that_cloudflare_would_refuse(project: Project, cron: str, said: str) -> None:
    project.configure(lambda config: config.update(env={"staging": {"triggers": {"crons": [cron, cron]}}}))
    (finding,) = project.findings(check_cron_notices)
    assert (finding.level.value, finding.code) == ("fail", "cron-refused")
    assert "in env.staging" in finding.message
    assert said in finding.message


@pytest.mark.parametrize(
    ("cron", "code", "said"),
    [("0 0 31 2 *", "cron-never-fires", "no month"), ("0 16 1 * SAT", "cron-days-ambiguous", "two jobs")],
)
def test_a_trigger_that_cloudflare_takes_and_nobody_can_mean(project: Project, cron: str, code: str, said: str) -> None:
    """It was written by hand, and may be deployed: that is no reason to refuse a deployment."""
    (finding,) = with_triggers(project, cron).findings(check_cron_notices)
    assert (finding.level.value, finding.code) == ("warn", code)
    assert said in finding.message


def test_weekdays_in_digits_are_not_what_people_think(project: Project) -> None:
    with_triggers(project, "0 7 * * 1-5", "0 7 * * MON-FRI")
    (finding,) = project.findings(check_cron_notices)
    assert (finding.level.value, finding.code) == ("warn", "cron-numeric-weekday")
    assert "SUN-THU" in finding.message


def test_an_app_s_own_crons_are_told_where_they_are_declared(project: Project) -> None:
    with_triggers(project, "0 7 * * SUN-THU", "0 0 31 * *")
    weekday, month = check_cron_notices(with_crons(project, "0 7 * * 1-5", "0 0 31 * *"))
    assert (weekday.level.value, weekday.code) == ("warn", "cron-numeric-weekday")
    assert weekday.message.startswith("lunora/crons.py:1: the cron job 'job 1': ")
    assert (month.level.value, month.code) == ("info", "cron-notice")


@pytest.mark.parametrize(
    ("count", "level", "code"),
    [
        (1, "pass", "cron-triggers-ok"),
        (5, "pass", "cron-triggers-ok"),
        (6, "warn", "cron-triggers-many"),
        (250, "warn", "cron-triggers-many"),
        (251, "fail", "cron-triggers-too-many"),
    ],
)
def test_triggers_are_counted_against_both_plans(project: Project, count: int, level: str, code: str) -> None:
    crons = [f"{number % 60} {number // 60} * * *" for number in range(count)]
    (finding,) = with_triggers(project, *crons, crons[0]).findings(check_trigger_count)
    assert (finding.level.value, finding.code) == (level, code)
    assert f"{count} Cron Trigger" in finding.message
    assert "5 on the free plan and 250 on the paid one" in finding.message


def test_those_that_codegen_has_not_written_yet_count_too(project: Project) -> None:
    with_triggers(project, *(f"{number} 0 * * *" for number in range(4)))
    (finding,) = check_trigger_count(with_crons(project, "5 0 * * *", "6 0 * * *"))
    assert finding.code == "cron-triggers-many"


def test_an_environment_inherits_triggers_and_is_counted_if_it_has_its_own(project: Project) -> None:
    with_triggers(project, "0 0 * * *")
    project.configure(lambda config: config.update(env={"same": {}, "own": {"triggers": {"crons": ["1 0 * * *"]}}}))
    assert project.says(check_trigger_count) == [("pass", "cron-triggers-ok")] * 2
