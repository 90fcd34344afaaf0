"""What a caller says about one job: when, under which id, how often again."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lunorash.errors import LunoraError, shown
from lunorash.refs import FunctionReference, target_text
from lunorash.scheduler.ids import check_id
from lunorash.scheduler.pool import check_pool_name, check_priority
from lunorash.scheduler.retry import RetryPolicy

__all__ = [
    "DEFAULT_TIMEOUT_MS",
    "MAX_INSTANT_MS",
    "MAX_TAG",
    "MAX_TAGS",
    "Delay",
    "Instant",
    "RunOptions",
    "delay_ms",
    "instant_ms",
]

MAX_INSTANT_MS: Final = 999_999_999_999_999
"""The latest instant a job can be due: the largest epoch time of 15 digits, in the year 33658."""

DEFAULT_TIMEOUT_MS: Final = 10 * 60 * 1000
_MAX_TIMEOUT_MS: Final = 24 * 60 * 60 * 1000
_MAX_SHARD_KEY: Final = 256
MAX_TAGS: Final = 10
"""How many tags a job may have."""

MAX_TAG: Final = 64
"""How long each of them may be, in characters."""

Delay = int | float | timedelta
"""A delay: milliseconds, or a `timedelta`."""

Instant = int | float | datetime
"""An instant: milliseconds since 1970-01-01T00:00Z, or a `datetime` that knows its zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of one job.

    Args:
        id: the job's id, if you want to choose it: 1 to 64 of ``A-Z a-z 0-9 _ -``, not starting with
            ``-``. Scheduling a second job under an id that is taken is refused.
        retry: what to do when it fails; None for five retries from 30 s on.
        shard_key: which shard a mutation runs on, 1 to 256 characters; None for the default shard.
        timeout: how long one attempt may take, in milliseconds or as a `timedelta`, 1 ms to 24 h;
            None for 10 minutes.
        pool: the workpool that it runs in; None for none. A pool that was never given a cap runs one job at a time:
            see `lunorash.scheduler.create_workpool`.
        priority: which jobs of its pool it goes before, -10 to 10: a step is worth a minute of waiting. Only for jobs
            of a pool.
        expires_at: when it is too late to be useful, epoch milliseconds or a `datetime` with a time zone, after it is
            due: from then on it is not started any more, and its state is ``"expired"``. What runs goes on. None for
            never.
        tags: words to find it by, at most 10 different ones of 1 to 64 characters.
        on_complete: a mutation or an action, a reference or its path, that is called once for each of its endings with
            a `lunorash.scheduler.Completion`, as a job of its own. A mutation runs on the job's shard.

    Raises:
        LunoraError: ``INVALID_SCHEDULE_ID`` or ``INVALID_INPUT``, naming the field and its rule.

    Example:
        >>> RunOptions(id="end-trial-42", timeout=timedelta(minutes=2)).timeout_ms
        120000
    """

    id: str | None = None
    retry: RetryPolicy | None = None
    shard_key: str | None = None
    timeout: Delay | None = None
    pool: str | None = None
    priority: int = 0
    expires_at: Instant | None = None
    tags: Sequence[str] = ()
    on_complete: FunctionReference[Any] | str | None = None

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)
        if self.retry is not None and not isinstance(self.retry, RetryPolicy):
            raise LunoraError("INVALID_INPUT", f"retry is {shown(self.retry)}; it must be a RetryPolicy")
        if self.shard_key is not None and not _is_text(self.shard_key, _MAX_SHARD_KEY):
            raise LunoraError(
                "INVALID_INPUT",
                f"shard_key is {shown(self.shard_key)}; it must be a string of 1 to {_MAX_SHARD_KEY} characters",
            )
        if self.pool is not None:
            check_pool_name(self.pool)
        check_priority(self.priority)
        object.__setattr__(self, "tags", _check_tags(self.tags))
        self.expires_ms  # noqa: B018 - likewise
        if self.on_complete is not None:
            _check_on_complete(self.on_complete)
        self.timeout_ms  # noqa: B018 - a bad timeout is refused here, not when the job is scheduled

    @property
    def timeout_ms(self) -> int:
        """How long one attempt may take, in whole milliseconds."""
        if self.timeout is None:
            return DEFAULT_TIMEOUT_MS
        timeout = _milliseconds(self.timeout, "timeout")
        if not 1 <= timeout <= _MAX_TIMEOUT_MS:
            raise LunoraError(
                "INVALID_INPUT", f"timeout is {shown(self.timeout)}; an attempt may take from 1 ms to 24 h"
            )
        return timeout

    @property
    def expires_ms(self) -> int | None:
        """When it is too late to start it, in epoch milliseconds; None for never."""
        try:
            return None if self.expires_at is None else instant_ms(self.expires_at)
        except LunoraError as error:
            raise LunoraError("INVALID_INPUT", f"expires_at: {error.message}") from None


def _check_tags(tags: Any) -> tuple[str, ...]:
    """The tags, sorted, none of them twice."""
    if isinstance(tags, str) or not isinstance(tags, Sequence | Set):
        raise LunoraError("INVALID_INPUT", f"tags is {shown(tags)}; it must be a list of words, such as ['nightly']")
    for tag in tags:
        if not _is_text(tag, MAX_TAG):
            raise LunoraError("INVALID_INPUT", f"tags has {shown(tag)}; a tag is a string of 1 to {MAX_TAG} characters")
    if len(set(tags)) > MAX_TAGS:
        raise LunoraError("INVALID_INPUT", f"there are {len(set(tags))} tags; a job may have {MAX_TAGS}")
    return tuple(sorted(set(tags)))


def _check_on_complete(target: Any) -> None:
    kind = target.kind if isinstance(target, FunctionReference) else None
    if not isinstance(target, FunctionReference | str) or kind == "query":
        raise LunoraError(
            "INVALID_INPUT",
            f"on_complete is {shown(target)}; it must be a mutation or an action: a reference, or its path, such as "
            '"billing:charged"',
        )
    try:
        target_text(target)
    except LunoraError as error:
        raise LunoraError("INVALID_INPUT", f"on_complete: {error.message}") from None


def delay_ms(delay: Any, *, now: int) -> int:
    """Read a delay as whole milliseconds, rounded up: a job is never early.

    Args:
        delay: milliseconds or a `timedelta`, from 0 to `MAX_INSTANT_MS` - ``now``.
        now: the current time in epoch milliseconds.

    Raises:
        LunoraError: ``INVALID_INPUT`` for a negative, NaN, infinite or too long delay.

    Example:
        >>> delay_ms(timedelta(days=14), now=0)
        1209600000
    """
    milliseconds = _milliseconds(delay, "delay")
    if delay < (timedelta(0) if isinstance(delay, timedelta) else 0):
        raise LunoraError("INVALID_INPUT", f"delay is {shown(delay)}; it must be 0 or more milliseconds")
    if now + milliseconds > MAX_INSTANT_MS:
        raise LunoraError("INVALID_INPUT", f"delay is {shown(delay)}: too far; {_LATEST}")
    return milliseconds


def instant_ms(instant: Any) -> int:
    """Read an instant as whole epoch milliseconds, rounded up. A past one is due at once.

    Args:
        instant: epoch milliseconds, or a `datetime` with a time zone.

    Raises:
        LunoraError: ``INVALID_INPUT`` for NaN, infinity, a too late instant or a naive `datetime`.

    Example:
        >>> instant_ms(datetime(2026, 12, 1, tzinfo=UTC))
        1796083200000
    """
    if isinstance(instant, datetime):
        if instant.utcoffset() is None:
            raise LunoraError(
                "INVALID_INPUT",
                f"the datetime {instant.isoformat()} has no time zone, so it names a different instant on each "
                "machine; write datetime(..., tzinfo=UTC) or datetime.now(UTC) + timedelta(...)",
            )
        since_epoch = instant - datetime(1970, 1, 1, tzinfo=UTC)
        milliseconds = _round_up(since_epoch)
    elif isinstance(instant, timedelta):
        raise LunoraError(
            "INVALID_INPUT",
            "the instant is a timedelta; it must be epoch milliseconds or a datetime with a time zone. "
            "For a delay use run_after",
        )
    else:
        milliseconds = _milliseconds(instant, "instant", wants="epoch milliseconds or a datetime with a time zone")
    if milliseconds > MAX_INSTANT_MS:
        raise LunoraError("INVALID_INPUT", f"the instant {shown(instant)} is too far; {_LATEST}")
    return max(0, milliseconds)


_LATEST: Final = f"the latest is {MAX_INSTANT_MS:,} ms after 1970, in the year 33658"


def _round_up(value: timedelta) -> int:
    return -(value // timedelta(milliseconds=-1))


def _is_text(value: object, longest: int) -> bool:
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in value)  # half a pair is no UTF-8


def _milliseconds(value: Any, name: str, *, wants: str = "milliseconds or a timedelta") -> int:
    if isinstance(value, timedelta):
        return _round_up(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, float):
        raise LunoraError("INVALID_INPUT", f"{name} is of type {type(value).__name__}; it must be {wants}")
    if not math.isfinite(value):
        raise LunoraError("INVALID_INPUT", f"{name} is {value}; it must be a finite number")
    return math.ceil(value)
