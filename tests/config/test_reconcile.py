"""The wrangler configuration follows the app through its life, and keeps what people wrote into it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lunorash.codegen import AppInstance, AppQueue, Diagnostic, FileChange, Generation
from lunorash.codegen.crons import AppCron
from lunorash.config.json_syntax import plain
from lunorash.config.reconcile import with_bindings
from lunorash.config.record import RECORD
from lunorash.crons import cron_jobs
from lunorash.errors import LunoraError

SUPPORT = AppInstance("agent", "support", "AGENT_SUPPORT", "Support", "lunora/agents.py", 3)
WELCOME = AppInstance("workflow", "welcome_mail", "WORKFLOW_WELCOME_MAIL", "WelcomeMail", "lunora/workflows.py", 5)
OBJECTS = [{"name": "SCHEDULER", "class_name": "SchedulerDO"}, {"name": "SHARD", "class_name": "ShardDO"}]
ENTRY = "from a import SchedulerDO, ShardDO, Support, WelcomeMail\n"


@dataclass(frozen=True)
class App:
    """An app as the generator sees it."""

    crons: tuple[str, ...] = ()
    instances: tuple[AppInstance, ...] = ()
    queues: tuple[AppQueue, ...] = ()


def run(project: Path, app: App) -> Generation:
    """One `lunora codegen`, and a second one that finds nothing to do."""
    jobs = cron_jobs()
    for index, expression in enumerate(app.crons):
        jobs.cron(f"job {index:02}", expression, "digest:send")
    crons = tuple(AppCron(job, "lunora/crons.py", 1) for job in jobs.jobs())
    generation = with_bindings(Generation(project, (), app.instances, (), (), crons, app.queues))
    generation.write()
    again = with_bindings(Generation(project, (), app.instances, (), (), crons, app.queues))
    assert again.changes == ()
    assert again.notices == generation.notices
    return generation


def project_of(folder: Path, text: str, *, name: str = "wrangler.jsonc", entry: str | None = ENTRY) -> Path:
    (folder / "lunora").mkdir(parents=True)
    (folder / name).write_bytes(text.encode())
    if entry is not None:
        (folder / "src").mkdir()
        (folder / "src" / "worker.py").write_text(entry, encoding="utf-8")
    return folder


def config_of(project: Path, name: str = "wrangler.jsonc") -> Any:
    return json.loads(plain((project / name).read_bytes().decode()))


def owned(project: Path) -> Any:
    path = project / RECORD
    if not path.exists():
        return None
    fields = json.loads(path.read_text(encoding="utf-8"))
    assert fields.pop("about")
    return fields


def codes(generation: Generation) -> list[str]:
    return [notice.code for notice in generation.notices]


def test_crons_follow_the_app_and_hand_written_ones_stay_as_they_are(tmp_path: Path) -> None:
    before = '{\n  "triggers": {\n    "crons": [\n      // backups\n      "0 3 * * *" // by hand\n    ]\n  }\n}\n'
    project = project_of(tmp_path, before, entry="")
    run(project, App(crons=("0 8 * * MON", "*/5 * * * *")))
    assert (project / "wrangler.jsonc").read_text() == before.replace(
        '"crons": [\n', '"crons": [\n      "0 8 * * MON",\n      "*/5 * * * *",\n'
    )
    assert owned(project) == {"triggers.crons": ["0 8 * * MON", "*/5 * * * *"]}
    run(project, App(crons=("0 * * * *", "*/5 * * * *")))
    assert config_of(project)["triggers"]["crons"] == ["0 * * * *", "*/5 * * * *", "0 3 * * *"]
    run(project, App())
    assert (project / "wrangler.jsonc").read_text() == before
    assert owned(project) is None


def test_without_crons_nothing_is_made(tmp_path: Path) -> None:
    project = project_of(tmp_path, "{}", entry="")
    assert run(project, App()).changes == ()


def test_the_list_of_an_app_without_crons_is_emptied_and_not_removed(tmp_path: Path) -> None:
    """Without the list a deployment leaves the triggers that are deployed."""
    project = project_of(tmp_path, "{}", entry="")
    run(project, App(crons=("0 8 * * MON",)))
    run(project, App())
    assert config_of(project)["triggers"] == {"crons": []}


def test_a_hand_written_cron_stays_when_a_job_of_the_same_expression_comes_and_goes(tmp_path: Path) -> None:
    before = '{"triggers": {"crons": ["0 3 * * *", "0 8 * * MON" /* mine */]}}'
    project = project_of(tmp_path, before, entry="")
    run(project, App(crons=("*/5 * * * *", "0 8 * * MON")))
    assert config_of(project)["triggers"]["crons"] == ["*/5 * * * *", "0 3 * * *", "0 8 * * MON"]
    assert owned(project) == {"triggers.crons": ["*/5 * * * *"]}
    run(project, App(crons=("0 8 * * MON",)))
    run(project, App())
    assert (project / "wrangler.jsonc").read_text() == before


@pytest.mark.parametrize("then", [("0 8 * * MON", "0 9 * * *"), ()])
def test_a_run_that_is_cut_short_between_the_configuration_and_the_record_loses_no_trigger_from_sight(
    tmp_path: Path, then: tuple[str, ...]
) -> None:
    """What is added is on record first; what is removed leaves the record last."""
    project = project_of(tmp_path, '{"triggers": {"crons": ["0 3 * * *"]}}', entry="")
    run(project, App(crons=("0 8 * * MON",)))
    generated = (FileChange("lunora/_generated/x.py", None, b""),)
    generation = with_bindings(Generation(project, (), (), (), generated, _crons(*then)))
    for change in generation.changes[1:2]:
        replace(generation, changes=(change,)).write()
    run(project, App(crons=then))
    assert config_of(project)["triggers"]["crons"] == [*then, "0 3 * * *"]
    run(project, App())
    assert config_of(project)["triggers"]["crons"] == ["0 3 * * *"]


def _crons(*expressions: str) -> tuple[AppCron, ...]:
    jobs = cron_jobs()
    for index, expression in enumerate(expressions):
        jobs.cron(f"job {index}", expression, "digest:send")
    return tuple(AppCron(job, "lunora/crons.py", 1) for job in jobs.jobs())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"triggers.crons": "x"}', b'{"triggers.crons": [1]}', b"\xff"])
def test_a_damaged_record_is_told_and_nothing_is_removed(tmp_path: Path, content: bytes) -> None:
    project = project_of(tmp_path, '{"triggers": {"crons": ["0 8 * * MON"]}}', entry="")
    (project / RECORD).write_bytes(content)
    assert "WRANGLER_RECORD_DAMAGED" in codes(run(project, App(crons=("0 * * * *",))))
    assert config_of(project)["triggers"]["crons"] == ["0 * * * *", "0 8 * * MON"]
    assert (project / RECORD).read_bytes() == content


def test_a_hand_written_cron_of_the_same_meaning_is_told(tmp_path: Path) -> None:
    """Cloudflare matches the text, so both are needed, and both fire."""
    project = project_of(tmp_path, '{\n "triggers": {"crons": [\n "no cron", \n "0 8 * * 2"]}}', entry="")
    generation = run(project, App(crons=("0 8 * * MON",)))
    assert config_of(project)["triggers"]["crons"] == ["0 8 * * MON", "no cron", "0 8 * * 2"]
    told = [notice for notice in generation.notices if notice.code == "CRON_TRIGGER_TWICE"]
    assert [(notice.file, notice.line) for notice in told] == [("wrangler.jsonc", 5)]
    assert "'0 8 * * 2'" in told[0].message
    assert "'0 8 * * MON'" in told[0].message


def test_an_environment_inherits_triggers_and_migrations_and_gets_bindings_of_its_own(tmp_path: Path) -> None:
    project = project_of(tmp_path, '{"name": "app", "env": {"staging": {}}}')
    run(project, App(("0 8 * * MON",), (SUPPORT, WELCOME), (AppQueue("IMPORTS", "imports", "lunora/m.py", 1),)))
    config = config_of(project)
    staging = config.pop("env")["staging"]
    assert staging.pop("durable_objects") == config["durable_objects"]
    assert staging == {
        "workflows": [
            {"name": "welcome-mail-staging", "binding": "WORKFLOW_WELCOME_MAIL", "class_name": "WelcomeMail"}
        ],
        "queues": {
            "producers": [{"queue": "imports-staging", "binding": "IMPORTS"}],
            "consumers": [{"queue": "imports-staging", "max_retries": 5, "dead_letter_queue": "imports-staging-dead"}],
        },
    }
    assert config["triggers"] == {"crons": ["0 8 * * MON"]}
    assert config["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"]}]
    assert config["queues"]["consumers"] == [
        {"queue": "imports", "max_retries": 5, "dead_letter_queue": "imports-dead"}
    ]
    assert owned(project) == {"triggers.crons": ["0 8 * * MON"]}


def test_an_environment_with_sections_of_its_own_gets_what_they_lack(tmp_path: Path) -> None:
    own: dict[str, Any] = {
        "triggers": {"crons": ["5 5 * * *"]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO"]}],
        "queues": {"producers": [{"queue": "mine", "binding": "IMPORTS"}]},
    }
    project = project_of(tmp_path, json.dumps({"env": {"staging": own, "events": {"triggers": {"events": []}}}}))
    app = App(("0 8 * * MON",), (), (AppQueue("IMPORTS", "imports", "lunora/m.py", 1),))
    run(project, app)
    staging = config_of(project)["env"]["staging"]
    assert staging["triggers"]["crons"] == ["0 8 * * MON", "5 5 * * *"]
    assert staging["migrations"] == [*own["migrations"], {"tag": "v2", "new_sqlite_classes": ["ShardDO"]}]
    assert staging["queues"]["producers"] == own["queues"]["producers"]
    assert [consumer["queue"] for consumer in staging["queues"]["consumers"]] == ["mine"]
    assert config_of(project)["env"]["events"]["triggers"] == {"events": [], "crons": ["0 8 * * MON"]}
    assert sorted(owned(project)) == ["env.events.triggers.crons", "env.staging.triggers.crons", "triggers.crons"]
    run(project, App())
    assert config_of(project)["env"]["staging"]["triggers"]["crons"] == ["5 5 * * *"]
    assert config_of(project)["env"]["events"]["triggers"]["crons"] == []
    # emptied by us, it is ours to fill again
    run(project, app)
    assert config_of(project)["env"]["events"]["triggers"]["crons"] == ["0 8 * * MON"]


def test_an_environment_whose_crons_somebody_switched_off_keeps_them_off(tmp_path: Path) -> None:
    project = project_of(tmp_path, '{"env": {\n"quiet": {"triggers": {"crons": []}}}}', entry="")
    generation = run(project, App(crons=("0 8 * * MON",)))
    assert config_of(project)["env"]["quiet"]["triggers"] == {"crons": []}
    assert [(each.code, each.line) for each in generation.notices if "CRON" in each.code] == [("CRONS_SWITCHED_OFF", 2)]


def test_a_project_without_environments_gets_none(tmp_path: Path) -> None:
    project = project_of(tmp_path, '{"env": {"gone": null}}')
    run(project, App(instances=(SUPPORT,)))
    assert config_of(project)["env"] == {"gone": None}


def test_an_environment_gets_the_binding_that_the_top_level_has(tmp_path: Path) -> None:
    """One that somebody wrote for a class of another Worker, or for a class derived from ours."""
    bindings = [
        {"name": "SCHEDULER", "class_name": "SchedulerDO", "script_name": "other"},
        {"name": "SHARD", "class_name": "MyShard"},
    ]
    workflows = [
        {"name": "mails", "binding": "WORKFLOW_WELCOME_MAIL", "class_name": "WelcomeMail", "limits": {"steps": 9}}
    ]
    config = {"durable_objects": {"bindings": bindings}, "workflows": workflows, "env": {"staging": {}}}
    project = project_of(tmp_path, json.dumps(config), entry="from a import MyShard, WelcomeMail")
    generation = run(project, App(instances=(WELCOME,)))
    after = config_of(project)
    assert after["durable_objects"]["bindings"] == after["env"]["staging"]["durable_objects"]["bindings"] == bindings
    assert after["env"]["staging"]["workflows"] == [{**workflows[0], "name": "mails-staging"}]
    assert after["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["MyShard"]}]
    assert generation.notices == ()


def test_a_class_that_is_not_exported_is_told_and_not_bound(tmp_path: Path) -> None:
    text = '{"name": "app", "env": {"staging": {}}}'
    project = project_of(tmp_path, text, entry="from lunora._generated.scheduler import SchedulerDO\n")
    generation = run(project, App(instances=(SUPPORT, WELCOME)))
    config = config_of(project)
    assert config["durable_objects"]["bindings"] == OBJECTS[:1]
    assert config["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO"]}]
    assert "workflows" not in config
    assert [(notice.file, notice.line, notice.code) for notice in generation.notices] == [
        ("src/worker.py", 1, "CLASS_NOT_EXPORTED"),
        ("lunora/agents.py", 3, "CLASS_NOT_EXPORTED"),
        ("lunora/workflows.py", 5, "CLASS_NOT_EXPORTED"),
    ]
    assert generation.notices[1].message == (
        "src/worker.py does not export Support, so its binding AGENT_SUPPORT was not added. "
        "Write `from lunora.agents import Support` in src/worker.py"
    )


def test_a_binding_of_a_class_that_is_not_exported_is_told_and_left(tmp_path: Path) -> None:
    text = json.dumps({"durable_objects": {"bindings": OBJECTS}})
    project = project_of(tmp_path, text, entry="")
    generation = run(project, App())
    assert (project / "wrangler.jsonc").read_text() == text
    assert ["refuse" in notice.message for notice in generation.notices] == [True, True]


def test_an_entry_with_a_star_import_may_export_anything(tmp_path: Path) -> None:
    text = json.dumps({"durable_objects": {"bindings": OBJECTS[:1]}})
    project = project_of(tmp_path, text, entry="from lunora.entry import *\n")
    generation = run(project, App())
    config = config_of(project)
    assert config["durable_objects"]["bindings"] == OBJECTS[:1]
    assert config["migrations"] == [{"tag": "v1", "new_sqlite_classes": ["SchedulerDO"]}], "it was bound by hand"
    assert codes(generation) == ["CLASS_NOT_EXPORTED"]
    assert "cannot be told" in generation.notices[0].message


def test_without_an_entry_all_is_bound(tmp_path: Path) -> None:
    project = project_of(tmp_path, "{}", entry=None)
    assert run(project, App(instances=(SUPPORT, WELCOME))).notices == ()
    assert len(config_of(project)["durable_objects"]["bindings"]) == 3


@pytest.mark.parametrize(
    ("migrations", "missing"),
    [
        ([None], ["SchedulerDO", "ShardDO"]),
        ([{"tag": "v1", "new_classes": ["SchedulerDO", "ShardDO"]}], []),
        (
            [{"tag": "v1", "new_classes": ["SchedulerDO", "ShardDO"]}, {"tag": "v2", "deleted_classes": ["ShardDO"]}],
            ["ShardDO"],
        ),
        (
            [
                {"tag": "v1", "new_sqlite_classes": ["ShardDO", "Old"]},
                {"tag": "v2", "renamed_classes": [{"from": "Old", "to": "SchedulerDO"}]},
            ],
            [],
        ),
        (
            [
                {"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO"]},
                {"tag": "v2", "renamed_classes": [{"from": "ShardDO", "to": "Old"}]},
            ],
            ["ShardDO"],
        ),
        (
            [
                {
                    "tag": "v1",
                    "new_sqlite_classes": ["SchedulerDO"],
                    "transferred_classes": [{"from": "A", "from_script": "b", "to": "ShardDO"}],
                }
            ],
            [],
        ),
        (
            [
                {"tag": "v1", "deleted_classes": ["ShardDO"]},
                {"tag": "v2", "new_sqlite_classes": ["SchedulerDO", "ShardDO"]},
            ],
            [],
        ),
    ],
)
def test_migrations_are_replayed_in_their_order(tmp_path: Path, migrations: list[Any], missing: list[str]) -> None:
    project = project_of(tmp_path, json.dumps({"durable_objects": {"bindings": OBJECTS}, "migrations": migrations}))
    run(project, App())
    new = config_of(project)["migrations"][len(migrations) :]
    assert [migration["new_sqlite_classes"] for migration in new] == ([missing] if missing else [])
    tags = [migration["tag"] for migration in config_of(project)["migrations"] if migration]
    assert len(tags) == len(set(tags))


def test_a_configuration_that_declares_by_exports_gets_no_migrations(tmp_path: Path) -> None:
    """Wrangler refuses Durable Objects in both."""
    exports = {"ShardDO": {"type": "durable-object", "storage": "sqlite"}}
    project = project_of(tmp_path, json.dumps({"exports": exports, "env": {"staging": {}}}))
    run(project, App())
    config = config_of(project)
    assert "migrations" not in config
    assert config["exports"] == {**exports, "SchedulerDO": exports["ShardDO"]}
    assert set(config["env"]["staging"]) == {"durable_objects"}


def test_two_workflows_have_two_names(tmp_path: Path) -> None:
    mine = {"name": "welcome-mail", "binding": "MAILS", "class_name": "WelcomeMail"}
    project = project_of(tmp_path, json.dumps({"workflows": [mine]}))
    run(project, App(instances=(WELCOME,)))
    assert [workflow["name"] for workflow in config_of(project)["workflows"]] == ["welcome-mail", "welcome-mail-2"]


def test_wrangler_json_gets_no_comments(tmp_path: Path) -> None:
    project = project_of(tmp_path, '{\n\t"name": "app"\n}\n', name="wrangler.json")
    run(project, App(("0 8 * * MON",), (SUPPORT, WELCOME), (AppQueue("IMPORTS", "imports", "lunora/m.py", 1),)))
    after = (project / "wrangler.json").read_text(encoding="utf-8")
    assert json.loads(after)["triggers"] == {"crons": ["0 8 * * MON"]}
    assert "\n\t\t" in after


def test_of_two_files_the_one_that_wrangler_takes_is_edited_and_the_other_told(tmp_path: Path) -> None:
    project = project_of(tmp_path, "{}", name="wrangler.json")
    (project / "wrangler.jsonc").write_text("{}")
    generation = run(project, App())
    assert [change.file for change in generation.changes] == ["wrangler.json"]
    assert codes(generation) == ["WRANGLER_AMBIGUOUS"]


def test_an_app_with_problems_changes_nothing(tmp_path: Path) -> None:
    project = project_of(tmp_path, "{")
    generation = Generation(project, (), (), (Diagnostic("a", 1, "B", "c"),), ())
    assert with_bindings(generation) is generation


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("wrangler.jsonc", "{", "WRANGLER_UNREADABLE"),
        ("wrangler.jsonc", '{"migrations": {}}', "WRANGLER_INVALID"),
        ("wrangler.toml", "", "WRANGLER_TOML"),
    ],
)
def test_what_cannot_be_used_is_refused_and_left_alone(tmp_path: Path, name: str, text: str, code: str) -> None:
    project = project_of(tmp_path, text, name=name)
    with pytest.raises(LunoraError) as raised:
        run(project, App())
    assert raised.value.code == code
    assert (project / name).read_text() == text


HAND = ["0 3 * * *", "7 7 * * 3", "not a cron"]
OURS = [HAND[0], "0 8 * * MON", "*/5 * * * *", "0 * * * *", "0 9 * * *"]
COMMENT = st.sampled_from(["", "", " // c\n", ' /* "]}, */ ', "\n", "\r\n    ", "\t"])


@st.composite
def crons_lists(draw: st.DrawFn) -> str:
    items = draw(st.lists(st.sampled_from(HAND), max_size=3))
    parts = [f"{draw(COMMENT)}{json.dumps(item)}{draw(COMMENT)}" for item in items]
    comma: bool = draw(st.booleans())
    return f"[{','.join(parts) or draw(COMMENT)}{',' if parts and comma else ''}{draw(COMMENT)}]"


@st.composite
def configurations(draw: st.DrawFn) -> str:
    triggers = f'"triggers": {{{draw(COMMENT)}"crons": {draw(crons_lists())}{draw(COMMENT)}}}'
    sections = [
        f'"name": "app"{draw(COMMENT)}',
        triggers,
        f'"durable_objects": {{{draw(COMMENT)}}}',
        f'"migrations": [{{"tag": "v{draw(st.integers(1, 3))}", "new_classes": ["Old"]}}{draw(COMMENT)}]',
        f'"workflows": [{draw(COMMENT)}]',
    ]
    staging = draw(st.sampled_from(["{}", f"{{{draw(COMMENT)}{triggers}}}", '{"vars": {}}']))
    chosen = draw(st.lists(st.sampled_from([*sections, f'"env": {{ "staging": {staging} }}']), unique=True))
    body = ",".join(f"{draw(COMMENT)}{section}" for section in chosen)
    return f"{draw(COMMENT)}{{{body}{draw(COMMENT)}}}{draw(COMMENT)}"


APPS = st.builds(
    App,
    st.lists(st.sampled_from(OURS), unique=True).map(tuple),
    st.sampled_from([(), (SUPPORT,), (WELCOME,), (SUPPORT, WELCOME)]),
    st.sampled_from([(), (AppQueue("IMPORTS", "imports", "lunora/m.py", 1),)]),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example('{"name": "app","triggers": {"crons": [\t\n]}}', [App(("0 8 * * MON",)), App(("*/5 * * * *", "0 8 * * MON"))])
@given(configurations(), st.lists(APPS, min_size=1, max_size=4))
def test_through_all_lives_of_an_app_what_people_wrote_stays(
    tmp_path_factory: pytest.TempPathFactory, text: str, apps: Sequence[App]
) -> None:
    project = project_of(tmp_path_factory.mktemp("project"), text)
    original = config_of(project)
    for app in apps:
        run(project, app)
        config = config_of(project)
        for before, after in _scopes(original, config):
            by_hand = before.get("triggers", {}).get("crons")
            if by_hand is not None:
                off = by_hand == [] and after is not config
                ours = [cron for cron in app.crons if cron not in by_hand]
                assert after["triggers"]["crons"] == ([] if off else [*ours, *by_hand])
            assert after.get("migrations", [])[: len(before.get("migrations", []))] == before.get("migrations", [])
            assert {binding["name"] for binding in after["durable_objects"]["bindings"]} >= {"SCHEDULER", "SHARD"}
    run(project, App())
    # blanks apart: a list of ours that was empty, and is again, may have others
    assert _is_within("".join(text.split()), (project / "wrangler.jsonc").read_bytes().decode())
    assert owned(project) is None or not any(owned(project).values())


def _scopes(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    environments = before.get("env", {})
    return [(before, after), *((section, after["env"][name]) for name, section in environments.items())]


def _is_within(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)
