"""Bring the wrangler configuration of a project in step with its app."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lunorash.codegen import Diagnostic, FileChange, Generation
from lunorash.config.bindings import missing_objects, missing_queues, missing_workflows
from lunorash.config.entry import exported_names
from lunorash.config.json_syntax import line_of
from lunorash.config.json_text import Edit, Remove, applied, edited
from lunorash.config.migrations import missing_declarations
from lunorash.config.needs import Exports, object_needs, unique
from lunorash.config.record import RECORD, Record
from lunorash.config.scopes import Scope, scopes_of
from lunorash.config.triggers import crons_key, list_edits, same_meaning, wanted_crons
from lunorash.config.wrangler import WRANGLER_NAMES, decode_wrangler, find_wrangler, wrangler_bytes
from lunorash.errors import LunoraError, shown

__all__ = ["with_bindings"]


def with_bindings(generation: Generation) -> Generation:
    """Add to a generation what its wrangler configuration needs: bindings, migrations, workflows, queues and crons.

    What somebody wrote there stays as it is. Only crons are ever removed, and only those that an earlier run wrote,
    which ``lunora/wrangler.lock.json`` tells. That record is written before the configuration if it only grows, and
    after it otherwise, so that the next run ends where one that is cut short between the two would have; only what
    that one has added while it removed others counts as written by hand. A project without a configuration is left
    without.

    Args:
        generation: of the project.

    Returns:
        the generation, with further changes and notices.

    Raises:
        LunoraError: ``WRANGLER_TOML``, ``WRANGLER_UNREADABLE`` or ``WRANGLER_INVALID`` when the configuration cannot
            be used, ``ENTRY_UNREADABLE`` when src/worker.py cannot. Nothing is changed then.
    """
    path = None if generation.diagnostics else find_wrangler(generation.project)
    if path is None:
        return generation
    before = wrangler_bytes(path)
    config = decode_wrangler(path, before)
    text = before.decode("utf-8")
    record = Record.read(generation.project)
    bindings, notices = _bindings(config, generation)
    crons, owned, remarks = _crons(config, generation.triggers, record)
    edits = [*bindings, *crons]
    recorded = record.change(owned)
    changes = [] if recorded is None else [recorded]
    if edits:
        text = edited(text, edits)
        _check(path, config, edits, text)
        changes.insert(len(changes) if record.within(owned) else 0, FileChange(path.name, before, text.encode()))
    located = [Diagnostic(path.name, line_of(text, remark.path), remark.code, remark.message) for remark in remarks]
    told = unique([*_about_files(path, record), *notices, *located])
    return replace(generation, changes=(*generation.changes, *changes), notices=(*generation.notices, *told))


@dataclass(frozen=True, slots=True)
class _Remark:
    """Something to look at in the configuration, at a place as it is afterwards."""

    path: tuple[int | str, ...]
    code: str
    message: str


def _bindings(config: Mapping[str, Any], generation: Generation) -> tuple[list[Edit], list[Diagnostic | None]]:
    instances = generation.instances
    exports = Exports(exported_names(generation.project, instances))
    workflows = [instance for instance in instances if instance.kind == "workflow"]
    edits: list[Edit] = []
    notices: list[Diagnostic | None] = []
    needed: list[tuple[Scope, Sequence[str]]] = []
    for scope in scopes_of(config):
        objects = missing_objects(scope, object_needs(instances), exports)
        needed.append((scope, objects.classes))
        for missing in (
            objects,
            missing_workflows(scope, workflows, exports),
            missing_queues(scope, generation.queues),
        ):
            edits += missing.inserts
            notices += missing.notices
    return [*edits, *missing_declarations(needed)], notices


def _crons(
    config: Mapping[str, Any], generated: Sequence[str], record: Record
) -> tuple[list[Edit], dict[str, Sequence[str]], list[_Remark]]:
    edits: list[Edit] = []
    owned: dict[str, Sequence[str]] = {}
    remarks: list[_Remark] = []
    for scope in scopes_of(config):
        key, path = crons_key(scope), (*scope.path, "triggers", "crons")
        recorded = None if record.owned is None else record.owned.get(key)
        crons = wanted_crons(scope, generated, recorded)
        if crons is None:
            if scope.section.triggers is not None and generated:
                message = (
                    f"{key} is empty, so the app's crons do not fire there. If they should, remove it: the environment "
                    "then has those of the top level"
                )
                remarks.append(_Remark(path, "CRONS_SWITCHED_OFF", message))
            continue
        edits += list_edits(path, crons)
        # an environment's list that we emptied is still ours to fill
        if crons.generated or (scope.environment is not None and recorded is not None):
            owned[key] = list(crons.generated)
        for index, by_hand in enumerate(crons.by_hand, len(crons.generated)):
            ours = same_meaning(by_hand, [each for each in generated if each != by_hand])
            if ours is not None:
                message = (
                    f"{shown(by_hand)} was written by hand and means the same as {shown(ours)} of the app: Cloudflare "
                    "fires both. Remove it, unless something else than the app's crons waits for it"
                )
                remarks.append(_Remark((*path, index), "CRON_TRIGGER_TWICE", message))
    return edits, owned, remarks


def _check(path: Path, config: dict[str, Any], edits: Sequence[Edit], text: str) -> None:
    """See that the text says what it should: somebody's configuration is not the place to find a bug of ours."""
    try:
        says = decode_wrangler(path, text.encode())
    except LunoraError:
        says = {}
    if says != applied(config, edits):
        todo = "; ".join(
            f"remove entry {edit.index} of {'.'.join(edit.path)}"
            if isinstance(edit, Remove)
            else f"put {json.dumps(edit.value)} into {'.'.join(edit.path)} as {edit.key}"
            for edit in edits
        )
        raise LunoraError("WRANGLER_EDIT_FAILED", f"{path} could not be edited, and was left alone. By hand: {todo}")


def _about_files(path: Path, record: Record) -> Iterator[Diagnostic]:
    if path.name == WRANGLER_NAMES[0] and (path.parent / WRANGLER_NAMES[1]).is_file():
        yield Diagnostic(
            path.name,
            1,
            "WRANGLER_AMBIGUOUS",
            f"there are {' and '.join(WRANGLER_NAMES)}, and wrangler takes {path.name}; remove the other",
        )
    if record.owned is None:
        yield Diagnostic(
            RECORD,
            1,
            "WRANGLER_RECORD_DAMAGED",
            "the record cannot be read, so no cron trigger is removed from the configuration. Restore it from version "
            "control, or remove it: what it listed then counts as written by hand",
        )
