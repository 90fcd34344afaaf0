"""The bindings of workflows and agents, as the platform has them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__all__ = ["Agents", "Workflow"]


class Workflow:
    """The binding of a workflow: its instances are named once."""

    def __init__(self) -> None:
        self.instances: dict[str, Any] = {}
        self.fails: Exception | None = None
        self.fails_after_it_landed = False

    async def create(self, options: Any) -> None:
        if self.fails and not self.fails_after_it_landed:
            raise self.fails
        if options["id"] in self.instances:
            raise RuntimeError("(instance.already_exists) Provided instanceId already exists")
        self.instances[options["id"]] = options["params"]
        if self.fails:
            raise self.fails

    async def get(self, instance: str) -> Any:
        if instance not in self.instances:
            raise RuntimeError("(instance.not_found) Provided id does not exist")
        return self.instances[instance]


class Agents:
    """The binding of an agent: an object for each name, which starts once."""

    def __init__(self) -> None:
        self.started: dict[str, str] = {}
        self.calls = 0

    def idFromName(self, name: str) -> str:  # noqa: N802 - the platform's name
        return name

    def get(self, name: str) -> Any:
        async def start(params: str) -> bool:
            self.calls += 1
            return self.started.setdefault(name, params) is params

        return SimpleNamespace(start=start)
