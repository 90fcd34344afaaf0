"""One call to schedule, checked and made ready to travel: the same for the client and inside mutations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lunorash.codec import encode_args
from lunorash.errors import LunoraError, shown
from lunorash.refs import FunctionReference, Kind, Target, target_text
from lunorash.scheduler.completion import examples
from lunorash.scheduler.job import NewJob
from lunorash.scheduler.options import Delay, Instant, RunOptions, delay_ms, instant_ms
from lunorash.scheduler.retry import DEFAULT_RETRY
from lunorash.traceparent import current_traceparent
from lunorash.values import plain

__all__ = ["MAX_CALLS", "MAX_CALLS_BYTES", "Catalog", "JobCall", "check_call", "check_options", "make_job", "make_jobs"]

MAX_CALLS: Final = 1_000
"""Jobs of one call: they are stored in one transaction, and the object answers nobody else meanwhile."""

MAX_CALLS_BYTES: Final = 8_000_000
"""Their arguments, all together: they have to fit one message."""


@dataclass(frozen=True, slots=True)
class JobCall:
    """One call of many, for `lunorash.scheduler.client.Scheduler.schedule_many`.

    Args:
        target: a reference, such as ``internal.billing.end_trial``, ``workflows.onboarding`` or ``agents.support``,
            or a function's path, ``"billing:end_trial"``.
        args: its arguments, JSON values by name, at most 1,000,000 bytes and 64 levels.
        delay: milliseconds or a `timedelta` from now, 0 or more.
        at: an instant in place of a delay: epoch milliseconds or a `datetime` with a time zone; a past one means now.
        options: id, retry policy, timeout, shard, pool, tags and more.

    Example:
        >>> JobCall("billing:end_trial", {"user_id": "u1"}, delay=1_000).args
        {'user_id': 'u1'}
    """

    target: Target
    args: Mapping[str, Any] | None = None
    delay: Delay = 0
    at: Instant | None = None
    options: RunOptions | None = None


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
    own: str | None = None,
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
        own: the incarnation, and the id unless the options have one; None to mint them.

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
    if options.expires_ms is not None and options.expires_ms <= due:
        raise LunoraError(
            "INVALID_INPUT",
            f"expires_at is {shown(options.expires_at)}, and the job is due at {due}, in epoch milliseconds: it would "
            "never run; let it expire after it is due, or leave expires_at out",
        )
    text, encoded = check_call(target, args, catalog)
    return NewJob(
        id=options.id or own or mint(),
        incarnation=own or mint(),
        target=text,
        args=encoded,
        due=due,
        retry=(options.retry or DEFAULT_RETRY).to_dict(),
        timeout_ms=options.timeout_ms,
        shard_key=options.shard_key,
        pool=options.pool,
        priority=options.priority,
        kind=_kind(target, text, catalog),
        expires_at=options.expires_ms,
        tags=json.dumps(options.tags, ensure_ascii=False) if options.tags else None,
        on_complete=_on_complete(options.on_complete, catalog),
        traceparent=current_traceparent(),
    ).to_dict()


def _on_complete(target: FunctionReference[Any] | str | None, catalog: Catalog | None) -> str | None:
    """Check what is to be called when the job has ended: it takes whatever an ending may be."""
    if target is None:
        return None
    text = target_text(target)
    kind = _kind(target, text, catalog)
    if kind == "query":
        raise LunoraError("INVALID_INPUT", f"on_complete is {shown(text)}, a query; it must be a mutation or an action")
    if catalog is not None:
        for told in examples():
            try:
                catalog.check_target(text, told)
            except LunoraError as error:
                raise LunoraError(
                    error.code, f"on_complete: {error.message}. It is called with a lunorash.scheduler.Completion"
                ) from None
    return json.dumps({"target": text, "kind": kind})


def _kind(target: Target, text: str, catalog: Catalog | None) -> Kind | None:
    if isinstance(target, FunctionReference):
        return target.kind
    return None if catalog is None else catalog.kind_of(text)


def make_jobs(
    calls: Sequence[JobCall], *, now: int, mint: Callable[[], str], catalog: Catalog | None
) -> list[dict[str, Any] | LunoraError]:
    """Check many calls, each for itself.

    Ids that are minted are in the order of the calls: jobs that fall due at the same time go by their ids.

    Args:
        calls: at most `MAX_CALLS`, with `MAX_CALLS_BYTES` of arguments.
        now: the current time, in epoch milliseconds.
        mint: mints ids.
        catalog: what can be run; None to let every well-formed target through.

    Returns:
        for each call, in order, the fields of a `NewJob`, or what is wrong with it.

    Raises:
        LunoraError: ``INVALID_INPUT`` for what is no list of calls, ``PAYLOAD_TOO_LARGE`` for too many of them.
    """
    given: Any = calls
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise LunoraError("INVALID_INPUT", f"calls is {shown(given)}; it must be a list of JobCall(target, args)")
    if len(calls) > MAX_CALLS:
        raise LunoraError(
            "PAYLOAD_TOO_LARGE", f"there are {len(calls):,} calls; one call takes {MAX_CALLS:,}: call again"
        )
    for number, call in enumerate(given):
        if not isinstance(call, JobCall):
            raise LunoraError("INVALID_INPUT", f"calls[{number}] is {shown(call)}; it must be JobCall(target, args)")
    first = mint() if calls else ""
    made = [_attempt(call, f"{first}-{number:03}", now, mint, catalog) for number, call in enumerate(calls)]
    size = sum(len(job["args"].encode()) for job in made if not isinstance(job, LunoraError))
    if size > MAX_CALLS_BYTES:
        raise LunoraError(
            "PAYLOAD_TOO_LARGE",
            f"the arguments take {size:,} bytes as JSON; one call takes {MAX_CALLS_BYTES:,}: call several times",
        )
    return made


def _attempt(
    call: JobCall, own: str, now: int, mint: Callable[[], str], catalog: Catalog | None
) -> dict[str, Any] | LunoraError:
    try:
        due = _due(call, now)
        return make_job(call.target, call.args, call.options, due=due, mint=mint, catalog=catalog, own=own)
    except LunoraError as error:
        return error


def _due(call: JobCall, now: int) -> int:
    if call.at is None:
        return now + delay_ms(call.delay, now=now)
    if call.delay != 0:
        raise LunoraError(
            "INVALID_INPUT", f"there is delay, {shown(call.delay)}, and at, {shown(call.at)}; give one of them"
        )
    return instant_ms(call.at)
