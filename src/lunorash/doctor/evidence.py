"""What the checks look at: a project's files, each read once, by the first check that asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from io import StringIO
from pathlib import Path
from types import EllipsisType
from typing import Any, Final

from dotenv import dotenv_values
from pytest_workers.errors import PinsMissingError, WorkersError
from pytest_workers.runtime import Project
from pytest_workers.runtime.toolchain import Toolchain

from lunorash.codegen import Generation, generate
from lunorash.config.entry import exported_names
from lunorash.config.reconcile import with_bindings
from lunorash.config.wrangler import find_wrangler, read_wrangler
from lunorash.doctor.environment import Environment, environments
from lunorash.errors import LunoraError, shown

__all__ = ["DEV_VARS", "Evidence"]

DEV_VARS: Final = ".dev.vars"
_SCHEDULING: Final = frozenset({"create_queue_workpool", "create_scheduler", "create_workpool", "scheduler"})
"""Names and attributes by which an app's code reaches the scheduler: ``ctx.scheduler``, or a client of its own."""


class Evidence:
    """A project as it is on disk. What cannot be read raises at whoever asks for it, each time.

    Args:
        project: the folder of wrangler.jsonc.
        only: the environment to look at, None for the top level; all of them unless it is given.
    """

    def __init__(self, project: Path, only: str | EllipsisType | None = ...) -> None:
        self.project = project
        self._only = only

    @cached_property
    def config_file(self) -> Path | None:
        """The wrangler configuration, None when there is none.

        Raises:
            LunoraError: ``WRANGLER_TOML``.
        """
        return find_wrangler(self.project)

    @cached_property
    def config(self) -> dict[str, Any]:
        """What it says; nothing when there is none.

        Raises:
            LunoraError: ``WRANGLER_TOML``, ``WRANGLER_UNREADABLE``, ``WRANGLER_INVALID``.
        """
        return {} if self.config_file is None else read_wrangler(self.config_file)

    @cached_property
    def environments(self) -> tuple[Environment, ...]:
        """What is deployed: the top level and each environment, or the one that is looked at.

        Raises:
            LunoraError: ``ENVIRONMENT_NOT_FOUND``.
        """
        every = environments(self.config)
        if isinstance(self._only, EllipsisType):
            return every
        chosen = tuple(environment for environment in every if environment.name == self._only)
        if not chosen:
            known = ", ".join(environment.name for environment in every if environment.name is not None)
            raise LunoraError(
                "ENVIRONMENT_NOT_FOUND",
                f"there is no environment {shown(self._only)} in the wrangler configuration; "
                + (f"it has {known}" if known else "it has none"),
            )
        return chosen

    @property
    def has_app(self) -> bool:
        """Whether there is a package ``lunora/``."""
        return (self.project / "lunora").is_dir()

    @cached_property
    def generation(self) -> Generation:
        """What the app's sources say, and which generated files are not as they should be."""
        return generate(self.project)

    @cached_property
    def reconciled(self) -> Generation:
        """The same, with what would change in the wrangler configuration.

        Raises:
            LunoraError: what `with_bindings` raises.
        """
        return with_bindings(self.generation)

    @cached_property
    def exported(self) -> frozenset[str] | None:
        """The names that the Worker's entry exports; None when that cannot be told.

        Raises:
            LunoraError: ``ENTRY_UNREADABLE``.
        """
        return exported_names(self.project, self.generation.instances)

    @property
    def has_dev_vars(self) -> bool:
        """Whether there is a ``.dev.vars``, readable or not."""
        return (self.project / DEV_VARS).is_file()

    @property
    def tells_local_settings(self) -> bool:
        """Whether there is a ``.dev.vars`` that can be read; of one that cannot a check of its own tells."""
        try:
            return self.dev_vars is not None
        except (OSError, UnicodeDecodeError):
            return False

    @cached_property
    def dev_vars(self) -> dict[str, str] | None:
        """The settings of local runs, None when there is no ``.dev.vars``.

        Raises:
            OSError, UnicodeDecodeError: it cannot be read.
        """
        if not self.has_dev_vars:
            return None
        text = (self.project / DEV_VARS).read_text(encoding="utf-8")
        # wrangler, too, takes a ${...} in this file as it is written
        values = dotenv_values(stream=StringIO(text), interpolate=False)
        return {name: value for name, value in values.items() if value is not None}

    @cached_property
    def local_settings(self) -> dict[str, Any]:
        """What a local run finds in its environment: the variables of the top level, and ``.dev.vars`` over them."""
        try:
            local = self.dev_vars or {}
        except (OSError, UnicodeDecodeError):
            # a check of its own tells that
            local = {}
        return {**environments(self.config)[0].vars, **local}

    @cached_property
    def runtime_project(self) -> Project:
        """The project as the local runtime sees it.

        Raises:
            WorkersError: it cannot be read.
        """
        return Project.load(self.project)

    @cached_property
    def toolchain(self) -> Toolchain:
        """Node, wrangler, workerd and Pyodide.

        Raises:
            WorkersError: one is missing, or they do not fit.
        """
        return Toolchain.find(self.installation)

    @cached_property
    def installation(self) -> Project:
        """The project, to find npm packages from, whatever its pins are like.

        Raises:
            WorkersError: it cannot be read.
        """
        try:
            return self.runtime_project
        except PinsMissingError:
            # any file that exists keeps the search for pins out of this
            return Project.load(self.project, pins=self.config_file)

    @cached_property
    def fitting_toolchain(self) -> Toolchain | None:
        """The toolchain; None where `toolchain` raises."""
        try:
            return self.toolchain
        except WorkersError:
            return None

    @cached_property
    def uses_scheduler(self) -> bool:
        """Whether the deployment has a scheduler, or its code asks for one."""
        bound = any(
            bound.get("class_name") == "SchedulerDO"
            for environment in self.environments
            for bound in environment.durable_objects.values()
        )
        return bound or any(map(_schedules, self._sources())) or self._retries_crons

    @property
    def _retries_crons(self) -> bool:
        return self.has_app and any(cron.job.retry is not None for cron in self.generation.crons)

    def _sources(self) -> Iterator[Path]:
        for folder in ("lunora", "src"):
            for path in sorted((self.project / folder).rglob("*.py")):
                parts = path.relative_to(self.project).parts
                # what codegen makes offers the scheduler to every app, and the library itself is no app
                if "_generated" not in parts and parts[:2] != ("src", "lunorash"):
                    yield path


def _schedules(path: Path) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        # codegen says what is wrong with it
        return False
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _SCHEDULING)
        or (isinstance(node, ast.Name) and node.id in _SCHEDULING)
        for node in ast.walk(tree)
    )
