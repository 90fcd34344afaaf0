"""One call to schedule, checked and made ready to travel: the same for the client and inside mutations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

from lunorash.codec import encode_args
from lunorash.errors import LunoraError, shown
from lunorash.refs import FunctionReference, Kind, Target, target_text
from lunorash.scheduler.job import NewJob
from lunorash.scheduler.options import RunOptions
from lunorash.scheduler.retry import DEFAULT_RETRY
from lunorash.values import plain

__all__ = ["Catalog", "check_call", "check_options", "make_job"]


class Catalog(Protocol):
    """What an app can run, as far as scheduling has to know."""

    def check_target(self, target: str, args: Mapping[str, Any]) -> None:
        """Refuse a target that does not exist, or arguments that it does not take."""
        ...

    def kind_of(self, target: str) -> Kind | None:
        """What a function is; None for a workflow, an agent, or what is not there."""
        ...


def check_call(target: Target, args: Mapping[str, Any] | None, catalog: Catalog | None) -> tuple[str, str]:
    """Check what is to be called, and with what.

    Args:
        target: a reference, or a function path.
        args: the arguments by name; None for none.
        catalog: what can be run; None to let every well-formed target through.

    Returns:
        the target as it is stored, and the arguments as JSON text.

    Raises:
        LunoraError: for whatever is wrong with them.
    """
    text = target_text(target)
    given: Any = {} if args is None else args
    converted = plain(dict(given) if isinstance(given, Mapping) else given, "args")
    encoded = encode_args(converted)
    if catalog is not None:
        catalog.check_target(text, converted)
    return text, encoded


def check_options(options: Any) -> RunOptions:
    """Return ``options`` if they are some, the default ones for None.

    Raises:
        LunoraError: ``INVALID_INPUT``.
    """
    options = RunOptions() if options is None else options
    if not isinstance(options, RunOptions):
        raise LunoraError("INVALID_INPUT", f"options is {shown(options)}; it must be RunOptions(...)")
    return options


def make_job(
    target: Target,
    args: Mapping[str, Any] | None,
    options: RunOptions | None,
    *,
    due: int,
    mint: Callable[[], str],
    catalog: Catalog | None,
) -> dict[str, Any]:
    """Check a call and mint what it has none of.

    Id and incarnation are minted here, before anything is sent, so that a call that is repeated is recognised.

    Args:
        target: a reference, or a function path.
        args: the arguments by name; None for none.
        options: further options.
        due: when, in epoch milliseconds.
        mint: mints ids.
        catalog: what can be run; None to let every well-formed target through.

    Returns:
        the fields of a `NewJob`.

    Raises:
        LunoraError: for whatever is wrong with the call.
    """
    options = check_options(options)
    if options.priority and options.pool is None:
        raise LunoraError(
            "INVALID_INPUT",
            f"priority is {options.priority}, but there is no pool; priorities order the jobs of a pool, so name one: "
            'RunOptions(pool="imports", priority=...)',
        )
    text, encoded = check_call(target, args, catalog)
    return asdict(
        NewJob(
            id=options.id or mint(),
            incarnation=mint(),
            target=text,
            args=encoded,
            due=due,
            retry=(options.retry or DEFAULT_RETRY).to_dict(),
            timeout_ms=options.timeout_ms,
            shard_key=options.shard_key,
            pool=options.pool,
            priority=options.priority,
            kind=_kind(target, text, catalog),
        )
    )


def _kind(target: Target, text: str, catalog: Catalog | None) -> Kind | None:
    if isinstance(target, FunctionReference):
        return target.kind
    return None if catalog is None else catalog.kind_of(text)
