"""`scheduler.py`: the type of `ctx.scheduler`, with an overload for every type of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lunorash.codegen.arguments import NO_ARGS, ArgumentTypes
from lunorash.codegen.discovery import AppFunction
from lunorash.codegen.document import call, document
from lunorash.codegen.imports import SKIP_SORTING, from_import

__all__ = ["emit_scheduler"]

_OPTIONAL: Final = " | None = None"
_IMPORTS: Final = """\
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from lunorash.errors import LunoraError
from lunorash.refs import AgentReference, FunctionReference, NoArgs, WorkflowReference
from lunorash.scheduler.calls import JobCall
from lunorash.scheduler.job import State
from lunorash.scheduler.options import Delay, Instant, RunOptions
from lunorash.scheduler.record import JobRecord, Page

if TYPE_CHECKING:
    from lunorash.scheduler import SchedulerDO
""".splitlines()

_REST: Final = '''\
    async def schedule_many(self, calls: Sequence[JobCall]) -> list[str | LunoraError]:
        """Schedule many jobs: for each its id, or what is wrong with it."""
        ...

    async def cancel(self, job_id: str) -> bool | None:
        """Cancel a job: True if it had not come to rest, False if there is none; None inside a mutation: requested."""
        ...

    async def get(self, job_id: str) -> JobRecord | None:
        """Look at a job; None if there is none by that id."""
        ...

    async def list(
        self, *, states: Sequence[State] = ("running", "pending"), cursor: str | None = None, limit: int = 100
    ) -> Page:
        """List jobs, a page at a time."""
        ...
'''.splitlines()

_LAZY: Final = """\
def __getattr__(name: str) -> Any:
    if name == "SchedulerDO":  # it can be imported inside a Worker only, and the rest of this module on the host too
        from lunorash.scheduler import SchedulerDO

        return SchedulerDO
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
""".splitlines()


def emit_scheduler(functions: Sequence[AppFunction], types: ArgumentTypes) -> str:
    """The text of ``scheduler.py``."""
    distinct = list(types.distinct(functions))
    imports: list[str] = []
    for root in ("api", "internal"):
        names = [types.names[function.path] for function in distinct if function.internal == (root == "internal")]
        if names:
            imports.extend(f"    {line}" for line in from_import(f".{root}", sorted(names), indent=4))
    blocks: list[Sequence[str]] = [
        [SKIP_SORTING] if imports else [],
        # two functions may have types that differ in spelling only; the second overload is then of no use, and no harm
        ['# mypy: disable-error-code="overload-cannot-match"', "# pyright: reportOverlappingOverload=false"],
        [*_IMPORTS, *(["", *imports] if imports else [])],
        ['__all__ = ["Scheduler", "SchedulerDO"]'],
        [
            "class Scheduler(Protocol):",
            '    """Schedules jobs and looks after them, as `ctx.scheduler` does."""',
            "",
            *_overloads("run_after", "delay: Delay", distinct, types),
            *_overloads("run_at", "instant: Instant", distinct, types),
            *_REST,
        ],
        _LAZY,
    ]
    return document("The scheduler of this app: which arguments go with which reference.", blocks)


def _overloads(method: str, when: str, functions: Sequence[AppFunction], types: ArgumentTypes) -> list[str]:
    lines: list[str] = []
    for target, args in (
        (f"FunctionReference[{NO_ARGS}]", f"{NO_ARGS}{_OPTIONAL}"),
        *(_overload(function, types) for function in functions),
        ("WorkflowReference | AgentReference | str", f"dict[str, Any]{_OPTIONAL}"),
    ):
        parameters = ("self", when, f"target: {target}", f"args: {args}", f"options: RunOptions{_OPTIONAL}")
        lines.extend(["    @overload", *call(f"async def {method}", parameters, tail=" -> str: ...", indent=4), ""])
    return lines


def _overload(function: AppFunction, types: ArgumentTypes) -> tuple[str, str]:
    name = types.names[function.path]
    needed = function.model is not None or any(parameter.required for parameter in function.parameters)
    return f"FunctionReference[{name}]", name if needed else f"{name}{_OPTIONAL}"
