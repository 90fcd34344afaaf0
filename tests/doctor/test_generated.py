from __future__ import annotations

import shutil
from dataclasses import replace

from lunorash.codegen import Diagnostic
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.generated import check_generated, check_notices, check_sources
from tests.doctor.project import Project

FUNCTION = """
from lunora._generated.server import mutation

@mutation
async def more(ctx) -> None: ...
"""


def test_what_is_right_and_fresh(project: Project) -> None:
    assert project.says(check_sources) == [("pass", "sources-ok")]
    assert project.says(check_generated) == [("pass", "generated-fresh")]
    assert project.says(check_notices) == []


def test_sources_that_codegen_refuses(project: Project) -> None:
    project.write("lunora/more.py", FUNCTION.replace("ctx", ""))
    (finding,) = project.findings(check_sources)
    assert (finding.level.value, finding.code) == ("fail", "function-no-context")
    assert finding.message.startswith("lunora/more.py:5: ")
    assert project.says(check_generated) == []


def test_the_first_problems_are_told_and_how_many_more(project: Project) -> None:
    for number in range(25):
        project.write(f"lunora/more_{number}.py", "(")
    findings = project.findings(check_sources)
    assert [finding.code for finding in findings] == ["module-syntax-error"] * 20 + ["codegen-failed"]
    assert "5 more" in findings[-1].message


def test_generated_files_that_are_stale(project: Project) -> None:
    project.write("lunora/more.py", FUNCTION)
    (finding,) = project.findings(check_generated)
    assert (finding.level.value, finding.code) == ("warn", "generated-stale")
    assert "lunora/_generated/api.py" in finding.message


def test_generated_files_that_a_clone_has_not_got_yet(project: Project) -> None:
    shutil.rmtree(project.folder / "lunora/_generated")
    assert project.says(check_generated) == [("info", "generated-missing")]


def test_a_project_without_an_app(project: Project) -> None:
    (project.folder / "lunora").rename(project.folder / "elsewhere")
    assert project.says(check_sources) == [("info", "app-missing")]
    assert project.says(check_generated) == project.says(check_notices) == []


def test_what_codegen_would_have_somebody_look_at(project: Project) -> None:
    evidence = Evidence(project.folder)
    notices = (
        Diagnostic("pyproject.toml", 1, "DEPENDENCY_MISSING", "dependencies does not list lunorash"),
        Diagnostic("lunora/crons.py", 3, "CRON_EXPR_NOTICE", "told by the checks of crons"),
    )
    evidence.generation = replace(evidence.generation, notices=notices)
    (finding,) = check_notices(evidence)
    assert (finding.level.value, finding.code) == ("warn", "dependency-missing")
    assert finding.message == "pyproject.toml:1: dependencies does not list lunorash"
