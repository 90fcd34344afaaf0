from __future__ import annotations

import base64

import pytest

from lunorash.doctor.secrets import (
    check_admin_token,
    check_dev_vars,
    check_git,
    check_scheduler_secret,
    check_secrets_in_files,
)
from tests.doctor.project import SECRET, TOKEN, Project


def test_settings_of_local_runs(project: Project) -> None:
    assert project.says(check_dev_vars) == []
    assert project.says(check_scheduler_secret) == [("pass", "scheduler-secret-ok")]
    assert project.says(check_admin_token) == [("pass", "admin-token-set")]


def test_dev_makes_them_from_the_example(project: Project) -> None:
    project.remove(".dev.vars")
    assert project.says(check_dev_vars) == [("warn", "dev-vars-missing")]
    assert project.write(".dev.vars.example", "").says(check_dev_vars) == [("info", "dev-vars-missing")]
    assert project.says(check_scheduler_secret) == project.says(check_admin_token) == []


def test_settings_that_are_no_text(project: Project) -> None:
    (project.folder / ".dev.vars").write_bytes(b"LUNORA_ADMIN_TOKEN=\xff\xfe")
    (finding,) = project.findings(check_dev_vars)
    assert finding.code == "dev-vars-unreadable"
    assert finding.message == ".dev.vars cannot be read: it is not UTF-8"
    report = project.report()
    assert report["dev-vars-unreadable"] == "fail"
    assert not report.keys() & {"dev-vars-missing-origin", "dev-vars-missing-secret", "admin-token-missing"}
    assert report["dev-vars-ignored"] == "pass"


def test_a_secret_that_is_missing(project: Project) -> None:
    project.replace(".dev.vars", "LUNORA_SCHEDULER_SECRET", "OTHER")
    assert project.says(check_scheduler_secret) == [("fail", "dev-vars-missing-secret")]
    project.write(".dev.vars", 'LUNORA_SCHEDULER_SECRET=""')
    assert project.says(check_scheduler_secret) == [("fail", "dev-vars-missing-secret")]


@pytest.mark.parametrize(
    "secret",
    [
        "generate",
        "whsec_short",
        SECRET.removeprefix("whsec_"),
        "whsec_" + base64.b64encode(bytes(32)).decode(),
        "whsec_" + base64.b64encode(b"abcdefgh" * 4).decode(),
    ],
)
def test_a_secret_that_is_weak(project: Project, secret: str) -> None:
    project.write(".dev.vars", f'LUNORA_SCHEDULER_SECRET="{secret}"')
    (finding,) = project.findings(check_scheduler_secret)
    assert (finding.level.value, finding.code) == ("fail", "scheduler-secret-weak")
    assert secret not in str(finding) or secret == "generate"
    project.write(".dev.vars", f'LUNORA_SCHEDULER_SECRET="{SECRET}"\nLUNORA_SCHEDULER_SECRET_PREVIOUS="{secret}"')
    assert project.says(check_scheduler_secret) == [("fail", "scheduler-secret-weak")]


def test_the_admin_token(project: Project) -> None:
    project.write(".dev.vars", "")
    assert project.says(check_admin_token) == [("warn", "admin-token-missing")]
    for token in ("generate", TOKEN[:31], "a" * 64):
        project.write(".dev.vars", f"LUNORA_ADMIN_TOKEN={token}")
        assert project.says(check_admin_token) == [("fail", "admin-token-weak")]


def test_no_secret_is_in_a_file_that_is_committed(project: Project) -> None:
    assert project.says(check_secrets_in_files) == [("pass", "secrets-not-committed"), ("info", "secrets-not-visible")]
    project.write(".dev.vars.example", 'LUNORA_SCHEDULER_SECRET="generate"\nLUNORA_ADMIN_TOKEN="generate"\n')
    assert project.says(check_secrets_in_files)[0] == ("pass", "secrets-not-committed")


@pytest.mark.parametrize("name", ["LUNORA_SCHEDULER_SECRET", "LUNORA_SCHEDULER_SECRET_PREVIOUS", "LUNORA_ADMIN_TOKEN"])
def test_a_secret_among_the_variables(project: Project, name: str) -> None:
    project.configure(lambda config: config.update(env={"staging": {"vars": {name: SECRET}}}))
    finding, invisible = project.findings(check_secrets_in_files)
    assert (finding.level.value, finding.code) == ("fail", "secret-in-wrangler")
    assert f"{name} is among the vars in env.staging" in finding.message
    assert f"npx wrangler secret put {name} --env staging" in (finding.fix or "")
    assert "--env staging" in (invisible.fix or "")


def test_a_secret_in_the_example(project: Project) -> None:
    project.write(".dev.vars.example", f"LUNORA_SCHEDULER_SECRET={SECRET}\nLUNORA_ADMIN_TOKEN={TOKEN}\n")
    assert project.says(check_secrets_in_files)[:2] == [("fail", "secret-in-example")] * 2


def test_git_ignores_them(project: Project) -> None:
    assert project.says(check_git) == [("pass", "dev-vars-ignored")]
    project.write(".gitignore", "")
    assert project.says(check_git) == [("warn", "dev-vars-not-ignored")]


def test_git_tracks_them(project: Project) -> None:
    project.write(".dev.vars.staging", "A=b").write(".dev.vars.example", "A=b")
    project.git("add", "--force", ".dev.vars", ".dev.vars.staging", ".dev.vars.example")
    findings = project.findings(check_git)
    assert [(finding.level.value, finding.code) for finding in findings] == [("fail", "dev-vars-tracked")] * 2
    assert "git rm --cached .dev.vars`" in (findings[0].fix or "")
    assert ".dev.vars.staging is tracked" in findings[1].message


def test_without_git_there_is_nothing_to_say(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project.folder))
    assert project.says(check_git) == []


def test_outside_a_repository_there_is_nothing_to_say(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.folder.parent))
    (project.folder / ".git").rename(project.folder / "no-git")
    assert project.says(check_git) == []
