"""The one exception a user of Lunora meets, and every code it can carry."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Self

__all__ = ["STATUS_BY_CODE", "LunoraError", "SharedError", "UnavailableError", "shown"]

STATUS_BY_CODE: Final[Mapping[str, int]] = MappingProxyType(
    {
        # the caller's input
        "BAD_REQUEST": 400,
        "FUNCTION_INVALID": 500,
        "INVALID_INPUT": 400,
        "INVALID_SCHEDULE_ID": 400,
        "FUNCTION_NOT_FOUND": 404,
        "NOT_FOUND": 404,
        "POOL_NOT_FOUND": 404,
        "METHOD_NOT_ALLOWED": 405,
        "UPGRADE_REQUIRED": 426,
        "DUPLICATE_SCHEDULE_ID": 409,
        "PAYLOAD_TOO_LARGE": 413,
        "UNSUPPORTED_MEDIA_TYPE": 415,
        # what functions may do
        "AGENT_WITHOUT_RUN": 500,
        "MIGRATION_FAILED": 500,
        "MIGRATION_MISSING": 500,
        "MUTATION_YIELDED": 500,
        "NESTED_ON_OTHER_SHARD": 500,
        "NESTED_TOO_DEEP": 500,
        "QUERY_WROTE": 500,
        "RESULT_INVALID": 500,
        "SCHEDULER_CLOSED": 500,
        "SCHEDULER_NOT_IN_QUERY": 500,
        "SQL_FAILED": 500,
        "SQL_REFUSED": 500,
        "TOO_MANY_QUESTIONS": 500,
        # crons
        "CRON_DAYS_AMBIGUOUS": 500,
        "CRON_EXPR_INVALID": 500,
        "CRON_NAME_INVALID": 500,
        "CRON_JOBS_NOT_CONFIGURED": 400,
        "CRON_JOB_FAILED": 500,
        "CRON_JOB_NOT_FOUND": 404,
        "CRON_NEVER_FIRES": 500,
        "CRON_OPTION_INVALID": 500,
        "CRON_SCHEDULE_INVALID": 500,
        "CRON_TARGET_INVALID": 500,
        "DUPLICATE_CRON_NAME": 500,
        # who may call
        "UNAUTHORIZED": 401,
        "SHARD_FORBIDDEN": 403,
        "AUTH_NOT_CONFIGURED": 500,
        "ADMIN_FORBIDDEN": 403,
        "DISPATCH_UNAUTHENTICATED": 403,
        # the deployment's settings
        "BINDING_MISSING": 500,
        "QUEUE_NOT_CONFIGURED": 400,
        "QUEUE_UNAVAILABLE": 503,
        "SCHEDULER_NOT_CONFIGURED": 400,
        "SCHEDULER_UNAVAILABLE": 503,
        "SHARD_NOT_CONFIGURED": 400,
        "SHARD_UNAVAILABLE": 503,
        "STUDIO_NOT_BUILT": 500,
        "TOO_MANY_WATCHERS": 503,
        "ORIGIN_NOT_CONFIGURED": 500,
        "ORIGIN_INVALID": 500,
        "DISPATCH_INVALID": 500,
        "BATCH_SIZE_INVALID": 500,
        "HISTORY_INVALID": 500,
        "DEAD_RETENTION_INVALID": 500,
        "LOG_INVALID": 500,
        "SCHEDULER_SECRET_NOT_CONFIGURED": 500,
        "SCHEDULER_SECRET_INVALID": 500,
        # what became of an attempt
        "ATTEMPT_FAILED": 500,
        "ATTEMPT_TIMED_OUT": 504,
        "OUTCOME_UNKNOWN": 502,
        "NEVER_BEGAN": 502,
        "JOB_EXPIRED": 410,
        "NON_RETRYABLE": 500,
        "RETRY_AFTER": 503,
        # ours
        "INTERNAL": 500,
    }
)
"""Every code with the HTTP status it answers with. Codes are a contract; messages are not."""


def shown(value: object, limit: int = 80) -> str:
    """A refused value as a message shows it: enough to recognise it, never all of something large.

    Args:
        value: what was refused.
        limit: how many characters to show at most.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - such as an integer of more digits than Python will print
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= limit else text[: limit - 3] + "..."


class LunoraError(Exception):
    """An error with a stable code, fit to be shown to whoever made the call.

    Args:
        code: a stable word such as ``"INVALID_INPUT"``. Your own codes are welcome.
        message: what is wrong, the rule, and the way out.
        status: the HTTP status; by default the one the code stands for, else 500.
        data: JSON-ready details for programs.

    A job's attempt that ends with one is tried again unless its ``retryable`` is False, and not before
    ``retry_after_ms``: raise `lunorash.retrying.NonRetryableError` or `lunorash.retrying.RetryAfter`. ``trace`` is
    where it came up in the app's code, filled in by whoever runs it; it is no part of what a client is told.

    Example:
        >>> error = LunoraError("INVALID_INPUT", "delay is -5 ms; it must be 0 or more")
        >>> error.status, str(error)
        (400, 'INVALID_INPUT: delay is -5 ms; it must be 0 or more')
    """

    retryable: bool = True
    retry_after_ms: int | None = None
    trace: str | None = None

    def __init__(self, code: str, message: str, *, status: int | None = None, data: Any = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = STATUS_BY_CODE.get(code, 500) if status is None else status
        self.data = data

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The error as it crosses the network: ``{"code", "message"}``, with ``"data"`` if there is any."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


class _CircumstancedError(LunoraError):
    """An error whose class tells under which circumstances it came up."""

    @classmethod
    def of(cls, error: LunoraError) -> Self:
        """The same error, under these."""
        same = cls(error.code, error.message, status=error.status, data=error.data)
        same.trace = error.trace
        return same


class UnavailableError(_CircumstancedError):
    """This deployment does not know a function, or refuses its arguments. That may be a deploy in progress."""


class SharedError(_CircumstancedError):
    """Several things failed together, and perhaps because of one of them: next time each is tried by itself."""
