from __future__ import annotations

from typing import Any

import pytest

from lunorash.doctor.configuration import check_compatibility, check_configuration
from tests.doctor.project import Project


def test_a_configuration_that_can_be_read(project: Project) -> None:
    assert project.says(check_configuration) == [("pass", "wrangler-ok")]
    project.write("wrangler.jsonc", "// mine\n{}")
    assert project.says(check_configuration) == [("pass", "wrangler-ok")]


def test_no_configuration(project: Project) -> None:
    assert project.remove("wrangler.jsonc").says(check_configuration) == [("fail", "wrangler-missing")]


@pytest.mark.parametrize(
    ("text", "code"), [("{", "wrangler-unparseable"), ('{"vars": 5}', "wrangler-invalid"), ("[]", "wrangler-invalid")]
)
def test_one_that_cannot_be_read_does_not_hide_the_rest(project: Project, text: str, code: str) -> None:
    project.write("wrangler.jsonc", text)
    assert project.says(check_configuration) == [("fail", code)]
    report = project.report()
    assert report["sources-ok"] == "pass"
    assert "check-not-made" not in report


def test_line_and_column_are_told(project: Project) -> None:
    (finding,) = project.write("wrangler.jsonc", '{\n  "name": app\n}').findings(check_configuration)
    assert "line 2 column 11" in finding.message


def test_toml_is_told_how_to_become_json(project: Project) -> None:
    project.remove("wrangler.jsonc").write("wrangler.toml", 'name = "app"\n')
    (finding,) = project.findings(check_configuration)
    assert (finding.level.value, finding.code) == ("fail", "wrangler-toml")
    assert finding.fix == "convert it"


def test_the_flag_and_a_date_of_python_3_14(project: Project) -> None:
    assert project.says(check_compatibility) == [("pass", "compatibility-ok")]
    project.configure(lambda config: config.update(env={"staging": {}}))
    assert project.says(check_compatibility) == [("pass", "compatibility-ok")]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"compatibility_flags": ["global_fetch_strictly_public"]}, "python-flag-missing"),
        ({"compatibility_flags": None}, "python-flag-missing"),
        ({"compatibility_date": "2026-09-07"}, "compatibility-date"),
        ({"compatibility_date": "tomorrow"}, "compatibility-date"),
        ({"compatibility_date": None}, "compatibility-date"),
    ],
)
def test_another_python(project: Project, change: dict[str, Any], code: str) -> None:
    project.configure(lambda config: config.update(change, env={"staging": {}}))
    assert project.says(check_compatibility) == [("fail", code)]


def test_an_environment_may_select_another_python(project: Project) -> None:
    project.configure(lambda config: config.update(env={"staging": {"compatibility_flags": []}}))
    (finding,) = project.findings(check_compatibility)
    assert finding.code == "python-flag-missing"
    assert "env.staging" in finding.message
