"""The classes that an app needs of its deployment, and the bindings it finds them by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from lunorash.config.needs import SCHEDULER, SHARD
from lunorash.doctor.environment import Environment
from lunorash.doctor.evidence import Evidence

__all__ = ["Need", "needs"]

_IN_A_SHARD: Final = frozenset({"query", "mutation"})


@dataclass(frozen=True, slots=True)
class Need:
    """One class.

    Args:
        kind: what it is to the app.
        binding: the name of its binding.
        class_name: the class.
    """

    kind: Literal["scheduler", "shard", "agent", "workflow"]
    binding: str
    class_name: str

    def entry(self) -> str:
        """The binding as it is written in wrangler.jsonc."""
        if self.kind == "workflow":
            name = self.binding.removeprefix("WORKFLOW_").lower().replace("_", "-")
            return f'{{ "name": "{name}", "binding": "{self.binding}", "class_name": "{self.class_name}" }}'
        return f'{{ "name": "{self.binding}", "class_name": "{self.class_name}" }}'

    def bound(self, environment: Environment) -> str | None:
        """The class that a deployment binds for it; None when it binds none.

        Whoever writes the entry by hand gives the scheduler and the shards names of his own: there the class counts.
        """
        objects = environment.workflows if self.kind == "workflow" else environment.durable_objects
        classes = {name: binding.get("class_name") for name, binding in objects.items()}
        if self.kind in ("scheduler", "shard") and self.class_name in classes.values():
            return self.class_name
        return classes.get(self.binding)


def needs(evidence: Evidence) -> tuple[Need, ...]:
    """What an app needs; a project that schedules nothing needs no scheduler.

    Args:
        evidence: the project.
    """
    found = []
    if evidence.uses_scheduler:
        found.append(Need("scheduler", SCHEDULER.binding, SCHEDULER.class_name))
    if evidence.has_app:
        if any(function.kind in _IN_A_SHARD for function in evidence.generation.functions):
            found.append(Need("shard", SHARD.binding, SHARD.class_name))
        found += [
            Need(instance.kind, instance.binding, instance.class_name) for instance in evidence.generation.instances
        ]
    return tuple(found)
