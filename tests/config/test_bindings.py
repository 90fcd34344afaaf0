"""wrangler.jsonc is given what the app needs, and nothing else in it is touched."""

from __future__ import annotations

from pathlib import Path

import pyjson5
import pytest

from lunorash.codegen import AppInstance, Generation
from lunorash.config.reconcile import with_bindings
from lunorash.errors import LunoraError

INSTANCES = (
    AppInstance("agent", "support", "AGENT_SUPPORT", "Support", "lunora/agents.py", 1),
    AppInstance("workflow", "welcome_mail", "WORKFLOW_WELCOME_MAIL", "WelcomeMail", "lunora/workflows.py", 1),
)
COMPLETE = """{
  // kept
  "name": "app", /* kept too */
  "durable_objects": {
    "bindings": [
      { "name": "SCHEDULER", "class_name": "SchedulerDO" }, // ours
      { "name": "SHARD", "class_name": "ShardDO" },
      { "name": "AGENT_SUPPORT", "class_name": "Support" } // mine
    ]
  },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"] }],
  "workflows": [{ "name": "welcome-mail", "binding": "WORKFLOW_WELCOME_MAIL", "class_name": "WelcomeMail" }]
}
"""


def reconciled(project: Path, text: str) -> str | None:
    (project / "wrangler.jsonc").write_bytes(text.encode())
    changes = with_bindings(Generation(project, (), INSTANCES, (), ())).changes
    return changes[0].after.decode() if changes and changes[0].after else None


def test_a_complete_configuration_is_left_alone(tmp_path: Path) -> None:
    assert reconciled(tmp_path, COMPLETE) is None


def test_what_is_missing_is_added_behind_what_is_there_and_its_comment(tmp_path: Path) -> None:
    before = COMPLETE.replace(',\n      { "name": "AGENT_SUPPORT", "class_name": "Support" }', "")
    assert '"ShardDO" } // mine\n' in before
    assert reconciled(tmp_path, before) == before.replace(
        '"ShardDO" } // mine\n',
        '"ShardDO" }, // mine\n      { "name": "AGENT_SUPPORT", "class_name": "Support" }\n',
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_everything_is_added_where_there_is_nothing(tmp_path: Path, end: str) -> None:
    text = f'{{{end}  // kept{end}  "name": "app" // and this{end}}}{end}'
    after = reconciled(tmp_path, text)
    assert after is not None
    assert pyjson5.decode(after) == pyjson5.decode(COMPLETE)
    assert "// kept" in after
    assert "// and this" in after
    assert after.count("\r\n") == (after.count("\n") if end == "\r\n" else 0)


def test_a_new_class_gets_a_migration_of_its_own(tmp_path: Path) -> None:
    """A migration that was deployed is never changed."""
    before = COMPLETE.replace(', "Support"] }]', '] }, { "tag": "v3", "deleted_classes": ["Old"] }]')
    after = reconciled(tmp_path, before)
    assert after is not None
    assert pyjson5.decode(after)["migrations"] == [
        {"tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO"]},
        {"tag": "v3", "deleted_classes": ["Old"]},
        {"tag": "v2", "new_sqlite_classes": ["Support"]},
    ]


def test_a_class_that_was_renamed_to_is_declared(tmp_path: Path) -> None:
    migrations = """[
    { "tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Helper"] },
    { "tag": "v2", "renamed_classes": [{ "from": "Helper", "to": "Support" }] }
  ]"""
    before = COMPLETE.replace(
        '[{ "tag": "v1", "new_sqlite_classes": ["SchedulerDO", "ShardDO", "Support"] }]', migrations
    )
    assert reconciled(tmp_path, before) is None


def test_an_empty_list_is_filled(tmp_path: Path) -> None:
    before = COMPLETE.split('"workflows"', maxsplit=1)[0] + '"workflows": []\n}\n'
    assert reconciled(tmp_path, before) == COMPLETE


def test_a_project_without_the_file_is_left_without(tmp_path: Path) -> None:
    generation = Generation(tmp_path, (), INSTANCES, (), ())
    assert with_bindings(generation) is generation


@pytest.mark.parametrize("text", ["", "{", '{"a": }', "\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(LunoraError) as raised:
        reconciled(tmp_path, text)
    assert raised.value.code == "WRANGLER_UNREADABLE"
    assert "wrangler.jsonc" in raised.value.message
