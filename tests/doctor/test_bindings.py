"""What the app needs is exported, bound and migrated, in every environment: environments inherit no bindings."""

from __future__ import annotations

from typing import Any

import pytest

from lunorash.doctor.bindings import check_bindings, check_exports, check_migrations
from lunorash.doctor.environment import Environment
from tests.doctor.project import Project


def test_everything_is_exported_and_bound(project: Project) -> None:
    assert project.says(check_exports) == [("pass", "declared-export-ok")]
    assert project.says(check_bindings) == [
        ("pass", "wrangler-scheduler-binding-ok"),
        ("pass", "wrangler-shard-binding-ok"),
        ("pass", "wrangler-agent-binding-ok"),
        ("pass", "wrangler-workflow-binding-ok"),
    ]
    assert project.says(check_migrations) == [("pass", "migrations-ok")]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from lunora._generated.scheduler import SchedulerDO\n", "SchedulerDO"),
        ("from lunora.agents import Support\n", "Support"),
        ("from lunora.workflows import Onboarding\n", "Onboarding"),
        ("ShardDO = app.ShardDO\n", "ShardDO"),
    ],
)
def test_a_class_that_the_entry_does_not_export(project: Project, line: str, name: str) -> None:
    project.replace("src/worker.py", line, "")
    (finding,) = project.findings(check_exports)
    assert (finding.level.value, finding.code) == ("fail", "declared-export-missing")
    assert f"does not export {name}," in finding.message


def test_a_class_that_is_bound_and_that_the_app_does_not_know(project: Project) -> None:
    def bind(config: dict[str, Any]) -> None:
        config["durable_objects"]["bindings"] += [
            {"name": "OTHER", "class_name": "Counter"},
            {"name": "THEIRS", "class_name": "Theirs", "script_name": "another-worker"},
        ]

    (finding,) = project.configure(bind).findings(check_exports)
    assert "does not export Counter, and it is bound at the top level" in finding.message
    assert project.says(check_migrations) == [("fail", "migration-missing")]


def test_a_class_that_the_entry_has_and_its_all_does_not_name(project: Project) -> None:
    """workerd then finds no such class: "no such Durable Object class is exported from the worker"."""
    entry = (project.folder / "src/worker.py").read_text()
    project.write("src/worker.py", entry + '__all__ = ["Default", "Onboarding", "ShardDO", "Support"]\n')
    (finding,) = project.findings(check_exports)
    assert finding.code == "declared-export-missing"
    assert "SchedulerDO" in finding.message


def test_an_entry_that_does_not_parse(project: Project) -> None:
    project.write("src/worker.py", "\ndef\n")
    (finding,) = project.findings(check_exports)
    assert (finding.level.value, finding.code) == ("fail", "entry-unreadable")
    assert "src/worker.py:2" in finding.message
    report = project.report()
    assert "check-not-made" not in report, "what else needs it does not say so again"


def test_an_entry_with_an_import_of_everything_cannot_be_told(project: Project) -> None:
    project.replace("src/worker.py", "import SchedulerDO", "import *")
    assert project.says(check_exports) == [("info", "exports-unknown")]


def test_a_project_without_an_entry_gets_one_that_exports_all(project: Project) -> None:
    assert project.remove("src/worker.py").says(check_exports) == [("pass", "declared-export-ok")]


@pytest.mark.parametrize(
    ("kind", "remove"),
    [
        ("scheduler", lambda config: config["durable_objects"]["bindings"].pop(0)),
        ("shard", lambda config: config["durable_objects"]["bindings"].pop(1)),
        ("agent", lambda config: config["durable_objects"]["bindings"].pop(2)),
        ("workflow", lambda config: config.pop("workflows")),
        ("scheduler", lambda config: config.pop("durable_objects")),
    ],
)
def test_a_binding_that_is_missing(project: Project, kind: str, remove: Any) -> None:
    says = project.configure(remove).says(check_bindings)
    assert ("fail", f"wrangler-{kind}-binding-missing") in says
    assert ("pass", f"wrangler-{kind}-binding-ok") not in says


@pytest.mark.parametrize(("number", "kind"), [(0, "scheduler"), (1, "shard"), (2, "agent")])
def test_a_binding_of_another_class(project: Project, number: int, kind: str) -> None:
    project.configure(lambda config: config["durable_objects"]["bindings"][number].update(class_name="Other"))
    assert ("fail", f"wrangler-{kind}-binding-wrong") in project.says(check_bindings)


def test_the_scheduler_may_be_bound_by_another_name(project: Project) -> None:
    project.configure(lambda config: config["durable_objects"]["bindings"][0].update(name="JOBS"))
    assert ("pass", "wrangler-scheduler-binding-ok") in project.says(check_bindings)


def test_an_environment_inherits_no_bindings(project: Project) -> None:
    project.configure(lambda config: config.update(env={"staging": {"vars": {}}, "production": None}))
    says = [finding for finding in project.findings(check_bindings) if finding.level.value == "fail"]
    assert [finding.code for finding in says] == [
        "wrangler-scheduler-binding-missing",
        "wrangler-scheduler-binding-missing",
        "wrangler-shard-binding-missing",
        "wrangler-shard-binding-missing",
        "wrangler-agent-binding-missing",
        "wrangler-agent-binding-missing",
        "wrangler-workflow-binding-missing",
        "wrangler-workflow-binding-missing",
    ]
    assert "in env.staging" in says[0].message
    assert "in env.production" in says[1].message
    assert "env.staging.durable_objects.bindings" in (says[0].fix or "")


def test_an_environment_inherits_migrations_unless_it_has_its_own(project: Project) -> None:
    def environment(migrations: Any) -> Project:
        return project.configure(
            lambda config: config.update(
                env={"staging": {"durable_objects": config["durable_objects"], "migrations": migrations}}
            )
        )

    assert environment(None).says(check_migrations) == [("pass", "migrations-ok")]
    missing = environment([{"tag": "v1", "new_sqlite_classes": ["SchedulerDO"]}]).findings(check_migrations)
    assert [finding.code for finding in missing] == ["migration-missing", "migration-missing"]
    assert "env.staging.migrations" in missing[0].message


@pytest.mark.parametrize(
    ("migrations", "code"),
    [
        ([], "migration-missing"),
        ([{"tag": "v1", "new_classes": ["SchedulerDO", "ShardDO", "Support"]}], "migration-not-sqlite"),
        (
            [
                {"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]},
                {"tag": "v2", "deleted_classes": ["SchedulerDO", "ShardDO", "Support"]},
            ],
            "migration-missing",
        ),
        (
            [
                {"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]},
                {
                    "tag": "v2",
                    "renamed_classes": [
                        {"from": name, "to": f"Old{name}"} for name in ("SchedulerDO", "ShardDO", "Support")
                    ],
                },
            ],
            "migration-missing",
        ),
    ],
)
def test_a_class_without_the_storage_it_needs(project: Project, migrations: list[Any], code: str) -> None:
    project.configure(lambda config: config.update(migrations=migrations))
    assert project.says(check_migrations) == [("fail", code)] * 3


@pytest.mark.parametrize(
    ("config", "storage"),
    [
        ({}, {}),
        ({"migrations": [{"renamed_classes": [{"from": "A", "to": "B"}]}]}, {"B": "sqlite"}),
        (
            {"migrations": [{"new_classes": ["A"]}, {"renamed_classes": [{"from": "A", "to": "B"}]}]},
            {"B": "key-value"},
        ),
        (
            {"migrations": [None, {"transferred_classes": [{"from": "A", "from_script": "x", "to": "B"}]}]},
            {"B": "sqlite"},
        ),
        ({"exports": {"A": {"type": "durable-object", "storage": "sqlite"}}}, {"A": "sqlite"}),
        ({"exports": {"A": {"type": "durable-object", "storage": "legacy-kv"}}}, {"A": "key-value"}),
        ({"exports": {"A": {"type": "durable-object", "state": "deleted"}, "B": {"type": "workflow"}}}, {}),
    ],
)
def test_the_storage_of_classes_is_what_all_migrations_leave(config: dict[str, Any], storage: dict[str, str]) -> None:
    assert Environment(None, config, config).storage_of_classes() == storage
