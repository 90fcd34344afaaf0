"""Whether the classes that the app needs are exported, bound and migrated, in every environment."""

from __future__ import annotations

from collections.abc import Iterator

from lunorash.config.entry import ENTRY
from lunorash.config.needs import object_needs
from lunorash.doctor.environment import Environment
from lunorash.doctor.evidence import Evidence
from lunorash.doctor.finding import Finding, failed, noted, passed
from lunorash.doctor.needs import needs
from lunorash.errors import LunoraError

__all__ = ["check_bindings", "check_exports", "check_migrations"]


def check_exports(evidence: Evidence) -> Iterator[Finding]:
    """``declared-export-missing``: a class that is needed or bound, and not exported; ``entry-unreadable``."""
    try:
        exported = evidence.exported
    except LunoraError as error:
        yield failed("entry-unreadable", error.message, "correct it there")
        return
    wanted = {need.class_name: "the app needs it" for need in needs(evidence)}
    for environment in evidence.environments:
        for name in _own_classes(environment):
            wanted.setdefault(name, f"it is bound {environment.where}")
    if exported is None:
        yield noted(
            "exports-unknown",
            f"{ENTRY} has an import with * or a computed __all__, so what it exports cannot be told without running it",
            f"name what wrangler binds: {', '.join(sorted(wanted))}",
        )
        return
    missing = sorted(set(wanted) - exported)
    exports = {need.class_name: need.export for need in object_needs(())}
    for name in missing:
        how = exports.get(name, f"import {name}")
        yield failed(
            "declared-export-missing",
            f"{ENTRY} does not export {name}, and {wanted[name]}; wrangler binds only what the entry exports",
            f"in {ENTRY}: {how}; if it has an __all__, name {name} there too",
        )
    if wanted and not missing:
        yield passed("declared-export-ok", f"the entry exports {', '.join(sorted(wanted))}")


def check_bindings(evidence: Evidence) -> Iterator[Finding]:
    """``wrangler-scheduler-binding-missing``, or ``-wrong`` for another class; also for shard, agent and workflow."""
    for need in needs(evidence):
        complete = True
        section = "workflows" if need.kind == "workflow" else "durable_objects.bindings"
        for environment in evidence.environments:
            bound = need.bound(environment)
            if bound == need.class_name:
                continue
            complete = False
            owner = "" if environment.name is None else "; an environment inherits no bindings"
            place = section if environment.name is None else f"env.{environment.name}.{section}"
            if bound is None:
                yield failed(
                    f"wrangler-{need.kind}-binding-missing",
                    f"{need.class_name} is not bound as {need.binding} {environment.where}{owner}",
                    f"run `lunora codegen`, or add {need.entry()} to {place}",
                )
            else:
                yield failed(
                    f"wrangler-{need.kind}-binding-wrong",
                    f"{need.binding} is bound to {bound} {environment.where}; the app needs {need.class_name} there",
                    f"give it the class_name {need.class_name} in {place}, or rename the other binding",
                )
        if complete:
            yield passed(f"wrangler-{need.kind}-binding-ok", f"{need.class_name} is bound")


def check_migrations(evidence: Evidence) -> Iterator[Finding]:
    """``migration-missing`` and ``migration-not-sqlite``: a Durable Object class without the storage it needs."""
    needed = {need.class_name for need in needs(evidence) if need.kind != "workflow"}
    wrong = False
    classes = 0
    seen: set[tuple[str, str]] = set()
    for environment in evidence.environments:
        storage = environment.storage_of_classes()
        own = (
            "" if environment.own.get("migrations") is None or environment.name is None else f"env.{environment.name}."
        )
        for name in _own_classes(environment):
            classes += 1
            kind = storage.get(name)
            if kind == "sqlite" or (kind is not None and name not in needed) or (own, name) in seen:
                continue
            seen.add((own, name))
            wrong = True
            if kind is None:
                yield failed(
                    "migration-missing",
                    f"{name} is bound {environment.where}, and no entry of {own}migrations makes it; the deploy is "
                    "refused",
                    f"run `lunora codegen`, or add an entry with a new tag and "
                    f'"new_sqlite_classes": ["{name}"] to {own}migrations',
                )
            else:
                yield failed(
                    "migration-not-sqlite",
                    f"{name} is declared under new_classes of {own}migrations, which gives it key-value storage; "
                    "it needs SQLite",
                    "declare it under new_sqlite_classes; once it is deployed so, only deleting the class and "
                    "making it anew changes its storage",
                )
    if classes and not wrong:
        yield passed("migrations-ok", "every Durable Object class that is bound has its storage declared")


def _own_classes(environment: Environment) -> list[str]:
    """The Durable Object classes that it binds of this Worker."""
    return list(
        dict.fromkeys(
            binding["class_name"]
            for binding in environment.durable_objects.values()
            if isinstance(binding.get("class_name"), str) and binding.get("script_name") is None
        )
    )
