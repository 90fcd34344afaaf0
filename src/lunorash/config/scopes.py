"""Where bindings stand in a wrangler configuration: at its top level, and in each of its environments again.

An environment inherits ``triggers``, ``migrations`` and ``exports`` unless it has its own, and nothing that binds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lunorash.config.wrangler import Section, Wrangler

__all__ = ["Scope", "scopes_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The top level or one environment of a configuration.

    Args:
        environment: the environment's name; None at the top level.
        section: what is written there.
        top: what is written at the top level, as it is in the file.
    """

    environment: str | None
    section: Section
    top: Mapping[str, Any]

    @property
    def path(self) -> tuple[str, ...]:
        """Where it is in the file."""
        return () if self.environment is None else ("env", self.environment)

    def own_name(self, name: str) -> str:
        """A name that has to be unique in a Cloudflare account, told apart from that of other environments."""
        return name if self.environment is None else f"{name}-{self.environment}"

    def at_top(self, *path: str, **wanted: str) -> Mapping[str, Any]:
        """The entry that the top level has in a list, for an environment to have the same; empty without one.

        Args:
            path: where the list is.
            wanted: the property that the entry is known by, and its value.
        """
        found: Any = None if self.environment is None else self.top
        for key in path:
            found = (found or {}).get(key)
        [(key, value)] = wanted.items()
        return next((entry for entry in found or [] if entry and entry.get(key) == value), {})


def scopes_of(config: Mapping[str, Any]) -> list[Scope]:
    """The scopes of a configuration, the top level first.

    Args:
        config: the configuration, as `read_wrangler` gives it.
    """
    wrangler = Wrangler.model_validate(config)
    environments = (wrangler.env or {}).items()
    return [
        Scope(None, wrangler, config),
        *(Scope(name, section, config) for name, section in environments if section is not None),
    ]
