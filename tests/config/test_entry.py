"""A class counts as exported when the Worker's entry has its name at run time."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import pytest

from lunorash.cli.build import entry
from lunorash.codegen import AppInstance, Generation
from lunorash.config.entry import exported_names
from lunorash.errors import LunoraError

INSTANCES = (
    AppInstance("agent", "support", "AGENT_SUPPORT", "Support", "lunora/agents.py", 1),
    AppInstance("workflow", "welcome_mail", "WORKFLOW_WELCOME_MAIL", "WelcomeMail", "lunora/workflows.py", 1),
)


def exported(project: Path, source: str) -> Set[str] | None:
    (project / "src").mkdir()
    (project / "src" / "worker.py").write_text(source, encoding="utf-8")
    return exported_names(project)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from lunora._generated.scheduler import SchedulerDO", {"SchedulerDO"}),
        ("from a import B as ShardDO", {"ShardDO"}),
        ("import a.b", {"a"}),
        ("app = build()\nShardDO: type = app.ShardDO", {"app", "ShardDO"}),
        ("Default, (ShardDO, *rest) = parts()", {"Default", "ShardDO", "rest"}),
        ("class Support(Agent):\n    inner = 1", {"Support"}),
        ("try:\n    from a import Support\nexcept ImportError:\n    Support = None", {"Support"}),
        ("if TYPE_CHECKING:\n    from a import Support", set()),
        ("def make():\n    class Support: ...", {"make"}),
        ("# Support", set()),
        ("'''Support'''\n__all__ = ['Support']", set()),
        ("from a import B, C, D\n__all__ = ['B', 'C']", {"B", "C"}),
        ("from a import B, C\n__all__: list[str] = ['B']", {"B"}),
        ("from a import *\n__all__ = ('B', 'C')", {"B", "C"}),
    ],
)
def test_what_is_bound_at_the_top_level_is_exported(tmp_path: Path, source: str, names: set[str]) -> None:
    assert exported(tmp_path, source) == names


def test_a_star_import_may_bring_anything(tmp_path: Path) -> None:
    assert exported(tmp_path, "from lunora.entry import *") is None


@pytest.mark.parametrize(
    "more",
    ["__all__ = names()", "__all__ = ['B']\n__all__ += ['C']", "__all__ = ['B']\n__all__.append('C')", "__all__ = 5"],
)
def test_an_all_that_is_computed_cannot_be_told(tmp_path: Path, more: str) -> None:
    assert exported(tmp_path, f"from a import B, C\n{more}") is None


@pytest.mark.parametrize("source", ["def", "\0", "x = ("])
def test_an_entry_that_does_not_parse_is_named_with_its_line(tmp_path: Path, source: str) -> None:
    with pytest.raises(LunoraError, match=r"^ENTRY_UNREADABLE: src/worker\.py:1: "):
        exported(tmp_path, source)


def test_without_an_entry_it_is_the_one_that_the_build_makes(tmp_path: Path) -> None:
    """That entry and what is known of it are in two places, and must say the same."""
    expected = exported_names(tmp_path, INSTANCES)
    made = exported(tmp_path, entry(Generation(tmp_path, (), INSTANCES, (), ())))
    assert made == expected
    assert expected is not None
    assert {"Support", "WelcomeMail", "SchedulerDO"} < expected


def test_without_an_entry_the_app_is_asked(tmp_path: Path) -> None:
    (tmp_path / "lunora").mkdir()
    (tmp_path / "lunora" / "agents.py").write_text(
        "from lunorash.server import Agent\n\n\nclass Support(Agent): ...\n", encoding="utf-8"
    )
    assert sorted(exported_names(tmp_path) or ()) == ["Default", "SchedulerDO", "ShardDO", "Support"]
