"""The examination as a whole: a healthy project is told so, and a sick one does not keep anything from being told."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lunorash.doctor
from lunorash.doctor import Finding, Level, Report, examine, examine_deployment
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.examine import made
from lunorash.errors import LunoraError
from tests.doctor.project import SECRET, TOKEN, Project

SAYING = {"failed", "warned", "noted", "passed"}


def test_a_healthy_project_has_nothing_to_look_at(project: Project) -> None:
    report = examine(project.folder)
    assert report.ok
    assert [finding for finding in report.findings if finding.level in (Level.FAIL, Level.WARN)] == []
    assert report.summary["pass"] >= 15


def test_every_finding_that_can_be_made_is_made_in_a_test() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    for path in Path(lunorash.doctor.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAYING:
                code = node.args[0]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    assert f'"{code.value}"' in tests, f"{path.name}: no test makes {code.value}"


def test_a_report_is_a_document() -> None:
    report = Report((Finding("a-b", Level.WARN, "message", "fix"), Finding("c", Level.PASS, "right")))
    assert report.to_dict() == {
        "ok": True,
        "findings": [
            {"code": "a-b", "level": "warn", "message": "message", "fix": "fix"},
            {"code": "c", "level": "pass", "message": "right", "fix": None},
        ],
        "summary": {"fail": 0, "warn": 1, "info": 0, "pass": 1},
    }
    assert not Report((Finding("a", Level.FAIL, "wrong", "fix"),)).ok


def test_a_check_that_cannot_be_made_says_so_and_the_others_are_made(project: Project) -> None:
    project.remove("requirements/worker.txt").write("pylock.toml", "[").write("python_modules/mine.py", "")
    report = project.report()
    assert report["check-not-made"] == "warn"
    assert report["toolchain-ok"] == "pass"


@pytest.mark.parametrize("error", [ValueError(SECRET), RecursionError(SECRET)])
def test_an_error_that_nobody_expected_is_told_without_its_text(error: Exception, tmp_path: Path) -> None:
    def check_something(_: Evidence) -> list[Finding]:
        raise error

    (finding,) = made(check_something, Evidence(tmp_path))
    assert (finding.code, finding.level) == ("check-not-made", Level.WARN)
    assert "something" in finding.message
    assert SECRET not in str(finding)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    def check_something(_: Evidence) -> list[Finding]:
        raise PermissionError(13, "Permission denied", "wrangler.jsonc")

    (finding,) = made(check_something, Evidence(tmp_path))
    assert "Permission denied: wrangler.jsonc" in finding.message


def test_nothing_secret_is_ever_said(project: Project) -> None:
    for value in ('"short"', f'"{SECRET}"', f'"{SECRET[:20]}'):
        project.write(
            ".dev.vars", f"LUNORA_SCHEDULER_SECRET={value}\nLUNORA_ADMIN_TOKEN={value}\nLUNORA_ORIGIN_URL=x\n"
        )
        project.configure(lambda config: config["vars"].update({"LUNORA_SCHEDULER_SECRET": SECRET, "OTHER": TOKEN}))
        said = str(examine(project.folder).to_dict())
        assert SECRET[:20] not in said
        assert TOKEN not in said
        assert "'short'" not in said


def test_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    report = examine(tmp_path)
    assert [(finding.level.value, finding.code) for finding in report.findings] == [
        ("fail", "wrangler-missing"),
        ("info", "app-missing"),
    ]


def test_one_deployment_is_looked_at_by_itself(project: Project) -> None:
    bindings = project_bindings(project)
    insecure = {"LUNORA_ORIGIN_URL": "http://app.example.com"}
    project.configure(
        lambda config: config.update(
            env={"staging": {**bindings, "vars": {}}, "broken": {**bindings, "vars": insecure}}
        )
    )
    assert not examine(project.folder).ok
    assert not examine_deployment(project.folder, "broken").ok
    staging = examine_deployment(project.folder, "staging")
    assert staging.ok
    assert [finding.code for finding in staging.findings if finding.level is Level.WARN] == ["origin-missing"]
    assert examine_deployment(project.folder, None).summary["warn"] == 0
    assert not any(finding.code.startswith(("dev-vars-m", "admin")) for finding in staging.findings)


def project_bindings(project: Project) -> dict[str, object]:
    top = Evidence(project.folder).environments[0]
    return {key: top.get(key) for key in ("durable_objects", "workflows")}


def test_a_project_that_schedules_nothing_needs_no_scheduler(project: Project) -> None:
    project.replace("lunora/trials.py", 'await ctx.scheduler.run_after(1000, "trials:start")', '"no"')
    project.replace("src/worker.py", ".scheduler(namespace=lambda env: env.SCHEDULER)", "")
    project.replace("src/worker.py", "from lunora._generated.scheduler import SchedulerDO\n", "")
    project.write(".dev.vars", "")

    def without_scheduler(config: dict[str, object]) -> None:
        config.pop("vars")
        bindings = config["durable_objects"]["bindings"]  # type: ignore[index]
        del bindings[0]
        config["migrations"][0]["new_sqlite_classes"].remove("SchedulerDO")  # type: ignore[index]

    project.configure(without_scheduler)
    codes = project.report()
    assert not [code for code in codes if "scheduler" in code or "origin" in code or code == "dev-vars-missing-secret"]
    assert codes["declared-export-ok"] == "pass"


def test_an_environment_that_does_not_exist_is_an_error_with_a_code(project: Project) -> None:
    with pytest.raises(LunoraError) as raised:
        examine_deployment(project.folder, "nowhere")
    assert raised.value.code == "ENVIRONMENT_NOT_FOUND"
    assert raised.value.message.endswith("it has none")
    project.configure(lambda config: config.update(env={"staging": {}, "production": {}}))
    with pytest.raises(LunoraError, match="it has staging, production"):
        examine_deployment(project.folder, "nowhere")
