"""Where the scheduler calls the Worker back: set, safe, and an address that a Worker can call itself at."""

from __future__ import annotations

from typing import Any

import pytest

from lunorash.doctor.origin import check_local_origin, check_origin
from tests.doctor.project import Project

FLAGS = ["python_workers"]


def deployed(project: Project, origin: Any, **config: Any) -> tuple[str, str]:
    variables = {} if origin is None else {"LUNORA_ORIGIN_URL": origin}
    project.configure(lambda each: each.update({"vars": variables, **config}))
    (says,) = project.says(check_origin)
    return says


def test_an_origin_of_its_own_is_fine(project: Project) -> None:
    assert deployed(project, "https://app.example.com") == ("pass", "origin-ok")


def test_none_at_all_may_be_a_secret_so_it_is_a_warning(project: Project) -> None:
    assert deployed(project, None) == ("warn", "origin-missing")
    assert deployed(project, "  ") == ("warn", "origin-missing")


def test_a_secret_that_wrangler_asks_for_is_there(project: Project) -> None:
    assert deployed(project, None, secrets={"required": ["LUNORA_ORIGIN_URL"]}) == ("pass", "origin-ok")


@pytest.mark.parametrize("origin", ["app.example.com", "https://example.com/app", "ftp://example.com", "https://a b"])
def test_what_is_no_origin(project: Project, origin: str) -> None:
    assert deployed(project, origin) == ("fail", "origin-invalid")


@pytest.mark.parametrize("origin", [5, True, {"a": "b"}, ["https://app.example.com"]])
def test_what_is_no_text_is_no_origin(project: Project, origin: Any) -> None:
    project.configure(lambda config: config["vars"].update(LUNORA_ORIGIN_URL=origin))
    assert project.says(check_origin) == [("fail", "origin-invalid")]


def test_a_password_in_it_is_not_shown(project: Project) -> None:
    project.configure(lambda config: config["vars"].update(LUNORA_ORIGIN_URL="https://me:hunter2@example.com"))
    (finding,) = project.findings(check_origin)
    assert finding.code == "origin-invalid"
    assert "hunter2" not in str(finding)


def test_without_tls(project: Project) -> None:
    assert deployed(project, "http://app.example.com") == ("fail", "origin-not-https")


@pytest.mark.parametrize(
    "origin", ["http://localhost:8787", "http://127.0.0.1", "http://[::1]:80", "https://x.localhost"]
)
def test_this_machine_is_none_for_what_is_deployed(project: Project, origin: str) -> None:
    assert deployed(project, origin) == ("warn", "origin-local")


def test_a_word_for_dispatch_that_does_not_exist(project: Project) -> None:
    project.configure(lambda config: config["vars"].update(LUNORA_DISPATCH="inside"))
    assert project.says(check_origin) == [("fail", "dispatch-invalid")]


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"LUNORA_BATCH_ACTIONS": "7"}, "batch-size-invalid"),
        ({"LUNORA_BATCH_MUTATIONS": 0}, "batch-size-invalid"),
        ({"LUNORA_HISTORY": "a week"}, "history-invalid"),
        ({"LUNORA_HISTORY_LIMIT": 0}, "history-invalid"),
        ({"LUNORA_DEAD_RETENTION": "off"}, "dead-retention-invalid"),
        ({"LUNORA_LOG": "verbose"}, "log-invalid"),
    ],
)
def test_sizes_of_batches_and_words_for_history_that_do_not_exist(
    project: Project, variables: dict[str, Any], code: str
) -> None:
    project.configure(lambda config: config["vars"].update(variables))
    assert project.says(check_origin) == [("fail", code)]


@pytest.mark.parametrize(
    ("origin", "routes"),
    [
        ("https://app.me.workers.dev", {}),
        ("https://app.example.com", {"route": "app.example.com/*"}),
        ("https://app.example.com", {"routes": ["*.example.com/*"]}),
        (
            "https://app.example.com",
            {"routes": [{"pattern": "https://app.example.com/api/*", "zone_name": "example.com"}]},
        ),
    ],
)
def test_an_origin_that_cannot_call_itself(project: Project, origin: str, routes: dict[str, Any]) -> None:
    flags = {"compatibility_flags": FLAGS}
    assert deployed(project, origin, **flags, **routes) == ("fail", "origin-cannot-call-itself")
    assert deployed(project, origin, compatibility_flags=[*FLAGS, "global_fetch_strictly_public"]) == (
        "pass",
        "origin-ok",
    )
    project.configure(lambda config: config.update(compatibility_flags=FLAGS))
    project.configure(lambda config: config["vars"].update(LUNORA_DISPATCH="loopback"))
    assert project.says(check_origin) == [("pass", "origin-ok")]


def test_a_custom_domain_can_be_called_without_the_flag(project: Project) -> None:
    routes = [{"pattern": "app.example.com", "custom_domain": True}, "other.example.com/*"]
    assert deployed(project, "https://app.example.com", compatibility_flags=FLAGS, routes=routes) == (
        "pass",
        "origin-ok",
    )


def test_each_environment_has_variables_of_its_own_and_inherits_flags_and_routes(project: Project) -> None:
    project.configure(
        lambda config: config.update(
            compatibility_flags=FLAGS,
            route="app.example.com/*",
            vars={"LUNORA_ORIGIN_URL": "https://elsewhere.example.com"},
            env={
                "unset": {},
                "same": {"vars": {"LUNORA_ORIGIN_URL": "https://app.example.com"}},
                "flagged": {
                    "vars": {"LUNORA_ORIGIN_URL": "https://app.example.com"},
                    "compatibility_flags": ["global_fetch_strictly_public"],
                },
            },
        )
    )
    assert project.says(check_origin) == [
        ("pass", "origin-ok"),
        ("warn", "origin-missing"),
        ("fail", "origin-cannot-call-itself"),
        ("pass", "origin-ok"),
    ]
    missing, cannot = project.findings(check_origin)[1:3]
    assert "in env.unset" in missing.message
    assert "npx wrangler secret put LUNORA_ORIGIN_URL --env unset" in (missing.fix or "")
    assert "in env.same" in cannot.message


def test_local_runs_take_it_from_dev_vars(project: Project) -> None:
    assert project.says(check_local_origin) == [("pass", "origin-ok")]
    project.configure(lambda config: config.pop("vars"))
    project.replace(".dev.vars", "LUNORA_ORIGIN_URL", "OTHER")
    assert project.says(check_local_origin) == [("warn", "dev-vars-missing-origin")]
    project.write(".dev.vars", "LUNORA_ORIGIN_URL=http://192.168.0.7:8787")
    assert project.says(check_local_origin) == [("fail", "origin-not-https")]
    project.write(".dev.vars", "LUNORA_ORIGIN_URL=https://a.example.com\nLUNORA_DISPATCH=x")
    assert project.says(check_local_origin) == [("fail", "dispatch-invalid")]


def test_local_runs_fall_back_on_the_variables_of_the_top_level(project: Project) -> None:
    project.write(".dev.vars", "")
    assert project.says(check_local_origin) == [("pass", "origin-ok")]
    assert project.remove(".dev.vars").says(check_local_origin) == [("pass", "origin-ok")]
    project.configure(lambda config: config.pop("vars"))
    assert project.says(check_local_origin) == []
