"""One declaration of a cron job: read off the source, and made into a job by the very builder that an app calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from lunorash.codegen.cron_declarations import Declaration
from lunorash.codegen.cron_targets import CronTargets, ReadTarget
from lunorash.codegen.cron_values import NotStaticError, read_literal, read_option
from lunorash.codegen.diagnostics import Diagnostics
from lunorash.codegen.discovery import AppFunction
from lunorash.crons import CronExpression, CronJob, CronOptions, cron_jobs
from lunorash.errors import LunoraError, shown

__all__ = ["ReadCron", "read_cron"]

_OPTIONS: Final = frozenset(CronOptions.__annotations__)
_PART_OF_CODE: Final = {
    "CRON_NAME_INVALID": "name",
    "CRON_SCHEDULE_INVALID": "schedule",
    "CRON_EXPR_INVALID": "expression",
    "CRON_DAYS_AMBIGUOUS": "expression",
    "CRON_NEVER_FIRES": "expression",
    "CRON_TARGET_INVALID": "target",
    "INVALID_INPUT": "args",
    "PAYLOAD_TOO_LARGE": "args",
}
"""The part of a declaration that the builder refuses with a code."""


@dataclass(frozen=True, slots=True)
class ReadCron:
    """What was read of a cron job.

    Args:
        name: its name, if that could be read.
        job: the job; None if anything is wrong with it.
        notices: what is worth a word about it.
    """

    name: str | None
    job: CronJob | None
    notices: tuple[str, ...]


def read_cron(declaration: Declaration, targets: CronTargets, diagnostics: Diagnostics) -> ReadCron:
    """Read a declaration.

    Args:
        declaration: the call.
        targets: what a job may run.
        diagnostics: is told what is wrong with it.
    """
    reading = _Reading(declaration, targets, diagnostics)
    job = reading.read()
    return ReadCron(reading.name, None if reading.refused else job, tuple(reading.notices))


@dataclass(slots=True)
class _Reading:
    """Reads one declaration. It goes on after a mistake, so that all of them are reported in one run."""

    declaration: Declaration
    targets: CronTargets
    diagnostics: Diagnostics
    given: dict[str, ast.expr] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    refused: bool = False

    def read(self) -> CronJob | None:
        names = ("name", self._schedule_name, "target", "args")
        self._bind(names)
        if self.refused:  # what seems to be missing may be in what was not understood
            return None
        name = self._read_name()
        schedule = self._read_schedule()
        target = self._read_target()
        args = self._read_args()
        options = {option: self._read_option(option) for option in self.given if option not in names}
        if self.refused or target is None:
            return None
        builder = cron_jobs()
        try:
            getattr(builder, self.declaration.method)(name, schedule, target.target, args, **options)
        except LunoraError as error:
            self._report(error.code, error.message, self.given.get(_PART_OF_CODE.get(error.code, "")))
            return None
        (job,) = builder.jobs()
        if target.function is not None:
            self._check_arguments(job, target.function)
        self.notices.extend(_notices(job, schedule if self._schedule_name == "expression" else None, target))
        return job

    @property
    def name(self) -> str | None:
        """The name, if it is a string that can be read."""
        node = self.given.get("name")
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    @property
    def _schedule_name(self) -> str:
        return "expression" if self.declaration.method == "cron" else "schedule"

    def _bind(self, names: tuple[str, ...]) -> None:
        """Find what the call gives to which parameter, as Python does."""
        node = self.declaration.node
        for index, argument in enumerate(node.args):
            if isinstance(argument, ast.Starred):
                self._refuse("CRON_NON_STATIC_VALUE", "arguments are unpacked into the call; write them out", argument)
            elif index >= len(names):
                self._refuse(
                    "CRON_OPTION_INVALID",
                    f"only {', '.join(names)} can be given by position; give options by name",
                    argument,
                )
            else:
                self.given[names[index]] = argument
        for keyword in node.keywords:
            if keyword.arg is None:
                self._refuse(
                    "CRON_NON_STATIC_VALUE", "options are unpacked into the call; write them out", keyword.value
                )
            elif keyword.arg in self.given:
                self._refuse("CRON_OPTION_INVALID", f"{keyword.arg} is given twice; remove one", keyword.value)
            else:
                self.given[keyword.arg] = keyword.value

    def _read_name(self) -> Any:
        return self._read("name", "CRON_NAME_NOT_STATIC", "a string that is written out")

    def _read_schedule(self) -> Any:
        if self._schedule_name == "expression":
            return self._read("expression", "CRON_EXPR_NOT_STATIC", 'a string that is written out: "0 8 * * MON"')
        inside = isinstance(self.given.get("schedule"), ast.Dict)
        code = "CRON_NON_STATIC_VALUE" if inside else "CRON_SCHEDULE_NOT_STATIC"
        return self._read("schedule", code, "a dict that is written out, of literals")

    def _read_target(self) -> ReadTarget | None:
        node = self.given.get("target")
        if node is None:
            self._refuse("CRON_NON_STATIC_FN", "there is no target; write a reference such as internal.billing.charge")
            return None
        target = self.targets.read(node, self.declaration.module)
        self.refused = self.refused or target is None
        return target

    def _read_args(self) -> Any:
        if "args" not in self.given:
            return None
        rule = "a dict that is written out, of literals: it is read when code is generated, and never computed"
        return self._read("args", "CRON_NON_STATIC_VALUE", rule)

    def _read_option(self, option: str) -> Any:
        if option not in _OPTIONS:
            return None  # the builder says what there is
        node = self.given[option]
        try:
            return read_option(node, self.declaration.module, self.targets.names)
        except NotStaticError as error:
            self._refuse(
                "CRON_OPTION_NOT_STATIC",
                f"{option} {_is(error, node)}; write a literal, timedelta(minutes=2) or RetryPolicy(max_attempts=3)",
                error,
            )
        except LunoraError as error:
            self._refuse("CRON_OPTION_INVALID", error.message, node)
        except (TypeError, ValueError, OverflowError) as error:
            self._refuse("CRON_OPTION_INVALID", f"{option} cannot be made: {error}", node)
        return None

    def _read(self, part: str, code: str, rule: str) -> Any:
        node = self.given.get(part)
        if node is None:
            self._refuse(code, f"there is no {part}; it must be {rule}")
            return None
        try:
            return read_literal(node)
        except NotStaticError as error:
            self._refuse(code, f"{part} {_is(error, node)}; it must be {rule}", error)
            return None

    def _check_arguments(self, job: CronJob, function: AppFunction) -> None:
        """Compare names only: types are checked when the job runs, by the function's model."""
        if function.model is not None:
            return
        known = {parameter.name for parameter in function.parameters}
        unknown = [name for name in job.args if name not in known]
        missing = [each.name for each in function.parameters if each.required and each.name not in job.args]
        takes = ", ".join(each.name for each in function.parameters) or "no arguments"
        for names, problem in ((unknown, "its args have"), (missing, "its args lack")):
            if names:
                self._refuse(
                    "CRON_ARGS_INVALID",
                    f"{problem} {', '.join(map(shown, names))}; {function.path} takes {takes} "
                    f"({function.file}:{function.line})",
                    self.given.get("args"),
                )

    def _refuse(self, code: str, problem: str, at: ast.expr | NotStaticError | None = None) -> None:
        which = "" if self.name is None else f" {shown(self.name)}"
        self._report(code, f"the cron job{which}: {problem}", at)

    def _report(self, code: str, message: str, at: ast.expr | NotStaticError | None) -> None:
        self.refused = True
        line = self.declaration.line if at is None else at.lineno
        self.diagnostics.report(code, self.declaration.module.file, line, message)


def _is(error: NotStaticError, part: ast.expr) -> str:
    return f"{'is' if error.node is part else 'contains'} {error.what}"


def _notices(job: CronJob, written: str | None, target: ReadTarget) -> Iterator[str]:
    """What is worth a word: about the expression as it was written, if one was, and about what runs."""
    yield from CronExpression.parse(job.expression if written is None else written).notices
    if target.function is not None and target.function.kind == "query":
        yield (
            f"{job.target} is a query: it may only read, so all that becomes of a run is its recorded result. "
            "To change anything make it a mutation or an action"
        )
