"""What one deployment of a Worker gets from wrangler.jsonc: the top level, or a section ``env.<name>``.

An environment inherits some keys of the top level and not others. Bindings and variables are not inherited, which is
how an environment comes to be deployed without its scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from lunorash.config.migrations import Storage, storage_of_classes
from lunorash.config.wrangler import Migration

__all__ = ["INHERITED", "Environment", "environments"]

INHERITED: Final = frozenset(
    {
        "compatibility_date",
        "compatibility_flags",
        "exports",
        "main",
        "migrations",
        "name",
        "route",
        "routes",
        "triggers",
    }
)
"""The keys that matter here and that an environment has from the top level unless it sets them itself."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One deployment.

    Args:
        name: as in ``wrangler deploy --env NAME``; None at the top level.
        own: its section, decoded.
        top: the whole configuration.
    """

    name: str | None
    own: dict[str, Any]
    top: dict[str, Any]

    @property
    def where(self) -> str:
        """The environment as messages name it."""
        return "at the top level" if self.name is None else f"in env.{self.name}"

    @property
    def flag(self) -> str:
        """What to add to a command of wrangler for this environment."""
        return "" if self.name is None else f" --env {self.name}"

    def get(self, key: str) -> Any:
        """A value as this deployment gets it; None when it gets none."""
        value = self.own.get(key)
        return self.top.get(key) if value is None and key in INHERITED else value

    @property
    def vars(self) -> dict[str, Any]:
        """Its variables, in clear text."""
        values = self.get("vars")
        return values if isinstance(values, dict) else {}

    def has_set(self, name: str) -> bool:
        """Whether a setting is there: as a variable, or as a secret that wrangler makes sure of."""
        secrets = self.get("secrets")
        required = secrets.get("required") if isinstance(secrets, dict) else None
        return bool(str(self.vars.get(name) or "").strip()) or (isinstance(required, list) and name in required)

    @property
    def durable_objects(self) -> dict[str, dict[str, Any]]:
        """Its bindings of Durable Objects, by their names."""
        section = self.get("durable_objects")
        return _by(section.get("bindings") if isinstance(section, dict) else None, "name")

    @property
    def workflows(self) -> dict[str, dict[str, Any]]:
        """Its bindings of workflows, by their names."""
        return _by(self.get("workflows"), "binding")

    @property
    def flags(self) -> tuple[str, ...]:
        """Its compatibility flags."""
        return tuple(flag for flag in _list(self.get("compatibility_flags")) if isinstance(flag, str))

    @property
    def crons(self) -> tuple[str, ...]:
        """Its Cron Triggers."""
        section = self.get("triggers")
        return tuple(_list(section.get("crons"))) if isinstance(section, dict) else ()

    def routes(self) -> Iterator[dict[str, Any]]:
        """Its routes, each with at least a ``pattern``."""
        for route in [self.get("route"), *_list(self.get("routes"))]:
            written = {"pattern": route} if isinstance(route, str) else route
            if isinstance(written, dict) and isinstance(written.get("pattern"), str):
                yield written

    def storage_of_classes(self) -> dict[str, Storage]:
        """The Durable Object classes that exist, by their names: after all migrations, and by ``exports``.

        Example:
            >>> config = {"migrations": [{"tag": "v1", "new_classes": ["A"]}, {"tag": "v2", "deleted_classes": ["A"]}]}
            >>> Environment(None, config, config).storage_of_classes()
            {}
        """
        found = storage_of_classes(_migration(written) for written in _list(self.get("migrations")))
        exports = self.get("exports")
        for name, declared in exports.items() if isinstance(exports, dict) else ():
            # a class that was deleted, renamed or given away has no storage here
            if isinstance(declared, dict) and declared.get("type") == "durable-object" and "storage" in declared:
                found[name] = "key-value" if declared["storage"] == "legacy-kv" else "sqlite"
        return found


def environments(config: dict[str, Any]) -> tuple[Environment, ...]:
    """The top level, then every environment in the order it is written.

    Args:
        config: the configuration, decoded.
    """
    named = config.get("env")
    return (
        Environment(None, config, config),
        *(
            Environment(name, section or {}, config)
            for name, section in (named.items() if isinstance(named, dict) else ())
        ),
    )


def _migration(written: Any) -> Migration | None:
    """A migration; None for what is none, which wrangler refuses by itself."""
    try:
        return Migration.model_validate(written)
    except ValidationError:
        return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _by(entries: Any, key: str) -> dict[str, dict[str, Any]]:
    return {
        entry[key]: entry for entry in _list(entries) if isinstance(entry, dict) and isinstance(entry.get(key), str)
    }
