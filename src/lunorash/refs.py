"""What a job can call: references to functions, workflows and agents, and function paths as text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

from lunorash.errors import LunoraError, shown

__all__ = [
    "AgentReference",
    "FunctionReference",
    "Kind",
    "NoArgs",
    "Target",
    "WorkflowReference",
    "check_function_path",
    "target_text",
]

Kind = Literal["query", "mutation", "action"]

A = TypeVar("A")

_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_MAX_LENGTH: Final = 200


class NoArgs(TypedDict):
    """The arguments of a function that takes none."""


@dataclass(frozen=True, slots=True)
class FunctionReference(Generic[A]):
    """A reference to a function, as `lunora codegen` generates it: ``internal.billing.end_trial``.

    Args:
        path: the function's path, ``"billing:end_trial"``.
        kind: what it is.
        internal: whether only jobs and other functions may call it.
    """

    path: str
    kind: Kind
    internal: bool


@dataclass(frozen=True, slots=True)
class WorkflowReference:
    """A reference to a Cloudflare Workflow: ``workflows.onboarding``. A job starts a fresh instance of it.

    Args:
        name: its name.
        binding: the binding in the environment.
    """

    name: str
    binding: str


@dataclass(frozen=True, slots=True)
class AgentReference:
    """A reference to an agent, a Durable Object class: ``agents.support``. A job starts a fresh instance of it.

    Args:
        name: its name.
        binding: the binding in the environment.
    """

    name: str
    binding: str


Target = FunctionReference[Any] | WorkflowReference | AgentReference | str
"""What can be scheduled; a string is a function path."""


def check_function_path(target: Any) -> str:
    """Return ``target`` if it reads like a function path, ``module.path:name`` relative to ``lunora/``.

    Raises:
        LunoraError: ``INVALID_INPUT`` with the rule and an example.

    Example:
        >>> check_function_path("billing:end_trial")
        'billing:end_trial'
    """
    if not isinstance(target, str) or len(target) > _MAX_LENGTH or not _PATH.fullmatch(target):
        raise LunoraError(
            "INVALID_INPUT",
            f"the target {shown(target)} is not a function path: write "
            f'module:name, such as "billing:end_trial" or "crons.jobs:run", at most {_MAX_LENGTH} characters',
        )
    return target


def target_text(target: Any) -> str:
    """How a target is stored: a function's path, ``workflows.<name>`` or ``agents.<name>``.

    Raises:
        LunoraError: ``INVALID_INPUT`` for what is no target.

    Example:
        >>> target_text(WorkflowReference("onboarding", "WORKFLOW_ONBOARDING"))
        'workflows.onboarding'
    """
    if isinstance(target, FunctionReference):
        return check_function_path(target.path)
    if isinstance(target, WorkflowReference):
        return f"workflows.{target.name}"
    if isinstance(target, AgentReference):
        return f"agents.{target.name}"
    return check_function_path(target)
