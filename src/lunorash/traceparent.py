"""W3C Trace Context: the ``traceparent`` of whoever asked for something, on its way through jobs.

A traceparent names a trace and the span in it that is the parent of what follows. What is scheduled while a request
is served, or while a job runs, is stored with the traceparent of that request or attempt; each attempt of a job is a
span of its own in the same trace. Nothing begins a trace here: without a traceparent there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

__all__ = ["child_of", "current_traceparent", "read_traceparent", "trace_id_of", "tracing", "with_traceparent"]

_FORM: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)

_current: ContextVar[str | None] = ContextVar("lunora_traceparent", default=None)


def read_traceparent(text: Any) -> str | None:
    """A traceparent, if the text is one; what is invalid is ignored, as the specification asks for.

    Of a version that is newer than 00 the parts that are known are kept, as version 00.

    Args:
        text: the value of the header, from whoever sent it.

    Example:
        >>> read_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
        >>> read_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01") is None
        True
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) and len(text) <= 512 else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more is not None) or not trace.strip("0") or not span.strip("0"):
        return None
    return f"00-{trace}-{span}-{flags}"


def trace_id_of(traceparent: str | None) -> str | None:
    """The trace that a valid traceparent names.

    Example:
        >>> trace_id_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        '0af7651916cd43dd8448eb211c80319c'
    """
    return None if traceparent is None else traceparent[3:35]


def child_of(traceparent: str | None, span: str) -> str | None:
    """The traceparent of a span within the same trace.

    Args:
        traceparent: of the parent; None if nothing is traced.
        span: the id of the new span, 16 hexadecimal digits, not all 0.

    Example:
        >>> child_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00f067aa0ba902b7")
        '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01'
    """
    return None if traceparent is None else f"{traceparent[:36]}{span}{traceparent[52:]}"


def current_traceparent() -> str | None:
    """The traceparent of the request or the attempt that is being served; None if there is none."""
    return _current.get()


@contextmanager
def tracing(traceparent: str | None) -> Iterator[None]:
    """Serve a request or an attempt: what it schedules, through whatever client, is part of its trace.

    Example:
        >>> with tracing("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
        ...     trace_id_of(current_traceparent())
        '0af7651916cd43dd8448eb211c80319c'
        >>> current_traceparent() is None
        True
    """
    token = _current.set(traceparent)
    try:
        yield
    finally:
        _current.reset(token)


def with_traceparent(traceparent: str, resource: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a ``fetch`` with the header, unless the caller has set one.

    Args:
        traceparent: the header's value.
        resource: what is fetched: a URL, or a request, whose own headers count unless the options have some.
        options: the caller's.
    """
    given = options.get("headers")
    if given is None:
        given = getattr(resource, "headers", None)
    pairs = _pairs(given)
    if not any(name.lower() == "traceparent" for name, _ in pairs):
        pairs.append(("traceparent", traceparent))
    return {**options, "headers": pairs}


def _pairs(headers: Any) -> list[tuple[str, str]]:
    """Headers as they may be handed to ``fetch``: none, a mapping, pairs, or an object of JavaScript."""
    if headers is None:
        return []
    entries = headers.items() if hasattr(headers, "items") else headers
    return [(str(name), str(value)) for name, value in entries]
