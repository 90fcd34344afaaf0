"""The bindings that an app needs, added to wrangler.jsonc where they are missing. What is there is left as it is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyjson5

from lunorash.codegen import AppInstance, FileChange, Generation
from lunorash.errors import LunoraError

__all__ = ["WRANGLER", "Edit", "missing_bindings", "with_bindings"]

WRANGLER: Final = "wrangler.jsonc"
_SCRIPT: Final = Path(__file__).with_name("edit_jsonc.mjs")
_OWN: Final = (("SCHEDULER", "SchedulerDO"), ("SHARD", "ShardDO"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One thing added at the end of a list.

    Args:
        path: where the list is.
        value: what is added.
        what: how it is told.
    """

    path: tuple[str, ...]
    value: dict[str, Any]
    what: str


def missing_bindings(config: dict[str, Any], instances: Sequence[AppInstance]) -> list[Edit]:
    """What a configuration lacks for an app's scheduler, shards, workflows and agents.

    Args:
        config: the configuration, decoded.
        instances: the app's workflows and agents.
    """
    agents = [(instance.binding, instance.class_name) for instance in instances if instance.kind == "agent"]
    workflows = [instance for instance in instances if instance.kind == "workflow"]
    objects = config.get("durable_objects", {}).get("bindings", [])
    bound = {binding.get("name") for binding in objects}
    edits = [
        Edit(
            path=("durable_objects", "bindings"),
            value={"name": name, "class_name": class_name},
            what=f"the binding {name} of {class_name}",
        )
        for name, class_name in (*_OWN, *agents)
        if name not in bound
    ]
    edits += _migration(config.get("migrations", []), [class_name for _, class_name in (*_OWN, *agents)])
    known = {workflow.get("binding") for workflow in config.get("workflows", [])}
    edits += [
        Edit(
            path=("workflows",),
            value={
                "name": workflow.name.replace("_", "-"),
                "binding": workflow.binding,
                "class_name": workflow.class_name,
            },
            what=f"the workflow {workflow.binding} of {workflow.class_name}",
        )
        for workflow in workflows
        if workflow.binding not in known
    ]
    return edits


def with_bindings(generation: Generation) -> Generation:
    """Add what wrangler.jsonc lacks to what a generation changes. A project without the file is left without.

    Args:
        generation: of the project.

    Raises:
        LunoraError: ``WRANGLER_UNREADABLE`` when it cannot be read, ``WRANGLER_EDIT_FAILED`` when Node or the npm
            package jsonc-parser is missing.
    """
    path = generation.project / WRANGLER
    if generation.diagnostics or not path.is_file():
        return generation
    before = path.read_bytes()
    try:
        config = pyjson5.decode(before.decode("utf-8"))
    except (pyjson5.Json5Exception, UnicodeDecodeError) as error:
        raise LunoraError("WRANGLER_UNREADABLE", f"{path} is no JSON with comments: {error}") from None
    edits = missing_bindings(config, generation.instances)
    if not edits:
        return generation
    change = FileChange(file=WRANGLER, before=before, after=_edited(path, before.decode("utf-8"), edits).encode())
    return replace(generation, changes=(*generation.changes, change))


def _migration(migrations: list[dict[str, Any]], classes: Iterable[str]) -> list[Edit]:
    declared: set[str] = set()
    for migration in migrations:
        declared |= {*migration.get("new_sqlite_classes", []), *migration.get("new_classes", [])}
        declared |= {renamed["to"] for renamed in migration.get("renamed_classes", [])}
        declared -= {*migration.get("deleted_classes", [])}
        declared -= {renamed["from"] for renamed in migration.get("renamed_classes", [])}
    new = [class_name for class_name in classes if class_name not in declared]
    if not new:
        return []
    tags = {migration.get("tag") for migration in migrations}
    tag = next(f"v{number}" for number in range(1, len(tags) + 2) if f"v{number}" not in tags)
    return [
        Edit(
            path=("migrations",),
            value={"tag": tag, "new_sqlite_classes": new},
            what=f"the migration {tag} with {', '.join(new)}",
        )
    ]


def _edited(path: Path, text: str, edits: Sequence[Edit]) -> str:
    question = {
        "text": text,
        "edits": [{"path": edit.path, "value": edit.value} for edit in edits],
        "from": str(path.resolve()),
    }
    try:
        done = subprocess.run(  # noqa: S603
            ["node", str(_SCRIPT)],  # noqa: S607 - the one that wrangler uses
            input=json.dumps(question).encode(),
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        raise LunoraError(
            "WRANGLER_EDIT_FAILED", f"{path} lacks {edits[0].what}, and there is no Node to add it; add it by hand"
        ) from None
    except subprocess.CalledProcessError as error:
        missing = b"jsonc-parser" in error.stderr
        why = (
            "the npm package jsonc-parser is missing: run `npm install --save-dev jsonc-parser`"
            if missing
            else "Node failed"
        )
        raise LunoraError("WRANGLER_EDIT_FAILED", f"{path} lacks {edits[0].what}; {why}, or add it by hand") from None
    return done.stdout.decode("utf-8")
