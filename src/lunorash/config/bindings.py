"""The bindings that an app needs and a scope of the configuration lacks. What is there is left as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lunorash.codegen import AppInstance, Diagnostic
from lunorash.config.json_text import Insert
from lunorash.config.needs import Exports, ObjectNeed, QueueNeed
from lunorash.config.scopes import Scope

__all__ = ["MAX_RETRIES", "Missing", "missing_objects", "missing_queues", "missing_workflows"]

MAX_RETRIES: Final = 5
"""How often a queue gives a message again before its dead letter queue takes it: as often as jobs are retried."""


@dataclass(slots=True)
class Missing:
    """What a scope lacks.

    Args:
        inserts: what to add.
        notices: what cannot be added, and why.
        classes: the Durable Object classes of this Worker that are bound afterwards, and so must be declared.
    """

    inserts: list[Insert] = field(default_factory=list)
    notices: list[Diagnostic | None] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)


def missing_objects(scope: Scope, needs: Iterable[ObjectNeed], exports: Exports) -> Missing:
    """The Durable Object bindings that a scope lacks. Bindings are known by their names.

    Args:
        scope: the scope.
        needs: the classes of the app.
        exports: what the entry exports.
    """
    missing = Missing()
    path = (*scope.path, "durable_objects", "bindings")
    objects = scope.section.durable_objects
    present = (objects.bindings if objects else None) or []
    bound = {binding.name: binding for binding in present if binding}
    for need in needs:
        there = bound.get(need.binding)
        if there is not None:
            class_name, external = there.class_name or "", there.script_name is not None
        else:
            value: dict[str, Any] = {"name": need.binding, "class_name": need.class_name}
            value.update(scope.at_top("durable_objects", "bindings", name=need.binding))
            class_name, external = value["class_name"], "script_name" in value
        if external:
            # the class is another Worker's, which exports and declares it
            pass
        elif exports.lack(class_name) or (there is None and exports.names is None):
            missing.notices.append(exports.notice(class_name, need.binding, need, bound=there is not None))
            continue
        else:
            missing.classes.append(class_name)
        if there is None:
            missing.inserts.append(Insert(path, len(present) + len(missing.inserts), value))
    return missing


def missing_workflows(scope: Scope, workflows: Iterable[AppInstance], exports: Exports) -> Missing:
    """The workflow bindings that a scope lacks.

    Args:
        scope: the scope.
        workflows: the workflows of the app.
        exports: what the entry exports.
    """
    missing = Missing()
    present = scope.section.workflows or []
    bound = {workflow.binding for workflow in present if workflow}
    names = {workflow.name for workflow in present if workflow}
    for workflow in workflows:
        if workflow.binding in bound:
            continue
        value = {
            "name": workflow.name.replace("_", "-"),
            "binding": workflow.binding,
            "class_name": workflow.class_name,
        }
        value.update(scope.at_top("workflows", binding=workflow.binding))
        if "script_name" not in value and (exports.names is None or exports.lack(value["class_name"])):
            missing.notices.append(exports.notice(value["class_name"], workflow.binding, workflow, bound=False))
            continue
        value["name"] = _free(scope.own_name(value["name"]), names)
        names.add(value["name"])
        missing.inserts.append(Insert((*scope.path, "workflows"), len(present) + len(missing.inserts), value))
    return missing


def missing_queues(scope: Scope, queues: Sequence[QueueNeed]) -> Missing:
    """The producers and consumers that a scope lacks. A queue has one consumer, so each environment has its own queues.

    Args:
        scope: the scope.
        queues: the queues of the app.
    """
    section = scope.section.queues
    producers = (section.producers if section else None) or []
    consumers = (section.consumers if section else None) or []
    bound = {producer.binding: producer.queue for producer in producers if producer}
    consumed = {consumer.queue for consumer in consumers if consumer}
    added: list[Insert] = []
    consuming: list[Insert] = []
    for queue in queues:
        there = bound.get(queue.binding)
        at_top = scope.at_top("queues", "producers", binding=queue.binding)
        name = there or scope.own_name(at_top.get("queue") or queue.queue)
        if queue.binding not in bound:
            value = {**at_top, "queue": name, "binding": queue.binding}
            added.append(Insert((*scope.path, "queues", "producers"), len(producers) + len(added), value))
        if name not in consumed:
            consumed.add(name)
            value = {"queue": name, "max_retries": MAX_RETRIES, "dead_letter_queue": f"{name}-dead"}
            consuming.append(Insert((*scope.path, "queues", "consumers"), len(consumers) + len(consuming), value))
    return Missing([*added, *consuming])


def _free(name: str, taken: set[str | None]) -> str:
    """The name, or with a number if another workflow has it: wrangler refuses two of one name."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free
