"""The environment as an action gets it."""

from __future__ import annotations

from typing import Any

from lunorash.errors import LunoraError

__all__ = ["Environment", "MissingBindingError"]


class MissingBindingError(LunoraError, AttributeError):
    """There is no such binding or variable. An `AttributeError` too, so that ``getattr(env, "NAME", None)`` works."""


class Environment:
    """The Worker's bindings and variables: ``env.IMPORTS``. What is missing is named, with the way out.

    Args:
        env: the environment as the platform gives it.

    Example:
        >>> from types import SimpleNamespace
        >>> env = Environment(SimpleNamespace(REGION="eu"))
        >>> env.REGION, getattr(env, "IMPORTS", None)
        ('eu', None)
    """

    __slots__ = ("_env",)

    def __init__(self, env: Any) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of every object
            raise AttributeError(name)
        try:
            return getattr(self._env, name)
        except AttributeError:
            raise MissingBindingError(
                "BINDING_MISSING",
                f"the environment has no {name}: declare the binding or variable in wrangler.jsonc, or set the secret, "
                "and deploy again",
            ) from None
