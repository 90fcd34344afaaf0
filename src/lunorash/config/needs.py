"""What an app needs in its wrangler configuration, and whether the Worker's entry exports what that binds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lunorash.codegen import AppInstance, Diagnostic
from lunorash.config.entry import ENTRY

__all__ = ["SCHEDULER", "SHARD", "Exports", "ObjectNeed", "object_needs"]


@dataclass(frozen=True, slots=True)
class ObjectNeed:
    """A Durable Object class that the app needs bound.

    Args:
        binding: its binding, ``"SCHEDULER"``.
        class_name: the class.
        export: what makes the entry export it.
        file: where the class comes from.
        line: in which line.
    """

    binding: str
    class_name: str
    export: str
    file: str = ENTRY
    line: int = 1


SCHEDULER: Final = ObjectNeed("SCHEDULER", "SchedulerDO", "from lunora._generated.scheduler import SchedulerDO")
SHARD: Final = ObjectNeed("SHARD", "ShardDO", "ShardDO = app.ShardDO")


def object_needs(instances: Iterable[AppInstance]) -> list[ObjectNeed]:
    """The Durable Objects of an app: its scheduler, its shards, its agents."""
    return [
        SCHEDULER,
        SHARD,
        *(
            ObjectNeed(agent.binding, agent.class_name, _import(agent), agent.file, agent.line)
            for agent in instances
            if agent.kind == "agent"
        ),
    ]


def _import(instance: AppInstance) -> str:
    return f"from lunora.{instance.kind}s import {instance.class_name}"


@dataclass(frozen=True, slots=True)
class Exports:
    """The names that the entry exports.

    Args:
        names: the names; None when they cannot be known.
    """

    names: frozenset[str] | None

    def lack(self, class_name: str) -> bool:
        """Whether the entry is known not to export a class."""
        return self.names is not None and class_name not in self.names

    def notice(
        self, class_name: str, binding: str, need: ObjectNeed | AppInstance, *, bound: bool
    ) -> Diagnostic | None:
        """What to tell of a class that is used, unless the entry exports it.

        Args:
            class_name: the class.
            binding: its binding.
            need: what uses it.
            bound: whether it is bound all the same.
        """
        export = need.export if isinstance(need, ObjectNeed) else _import(need)
        remedy = (
            f"Write `{export}` in {ENTRY}" if class_name == need.class_name else f"Import it by its name in {ENTRY}"
        )
        if self.names is None and not bound:
            reason = f"whether {ENTRY} exports {class_name} cannot be told, since it has a `from … import *`, and so"
        elif self.lack(class_name):
            reason = f"{ENTRY} does not export {class_name},"
        else:
            return None
        follows = (
            f"and its binding {binding} makes wrangler refuse the deployment"
            if bound
            else f"{'' if self.names is None else 'so '}its binding {binding} was not added"
        )
        return Diagnostic(need.file, need.line, "CLASS_NOT_EXPORTED", f"{reason} {follows}. {remedy}")


def unique(notices: Sequence[Diagnostic | None]) -> list[Diagnostic]:
    """Notices without repetition: several environments have the same to tell."""
    return list(dict.fromkeys(notice for notice in notices if notice is not None))
