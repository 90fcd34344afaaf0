"""Requests and answers as route handlers see them, free of Cloudflare."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.errors import LunoraError
from lunorash.incident import tellable

if TYPE_CHECKING:
    from lunorash.scheduler.client import Scheduler

__all__ = ["Handler", "HttpAnswer", "HttpRequest", "Route", "find_route"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request.

    Args:
        method: in capitals.
        path: from the first slash, without the query.
        query: the text behind the question mark.
        headers: by name in lower case.
        body: reads the body, at most `lunorash.codec.MAX_BODY_BYTES` of it.
        env: the Worker's bindings and variables.
        scheduler: makes the app's scheduler client.
        fetch: makes HTTP requests, as `workers.fetch` does.
        origin: scheme, host and port that it was sent to, as browsers write them: ``"https://app.example.com"``.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: Callable[[], Awaitable[bytes]]
    env: Any
    scheduler: Callable[[], Scheduler]
    fetch: Callable[..., Awaitable[Any]]
    origin: str = ""

    async def json(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises:
            LunoraError: ``BAD_REQUEST`` when it is anything else, ``PAYLOAD_TOO_LARGE`` when it is too long.
        """
        value = decode_json(await self.body(), max_depth=MAX_ENVELOPE_DEPTH)
        if not isinstance(value, dict):
            raise LunoraError("BAD_REQUEST", "the body must be a JSON object")
        return value

    def parameter(self, name: str) -> str | None:
        """The last value of a query parameter; None if it is absent or empty."""
        try:
            values = parse_qs(self.query, max_num_fields=100).get(name)
        except ValueError:
            raise LunoraError("BAD_REQUEST", "the query has more than 100 fields") from None
        return values[-1] if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer: JSON, or bytes of any kind, or what ``stream`` writes line by line after the headers have gone.

    Args:
        status: the HTTP status.
        body: what is encoded as JSON.
        encoded: JSON text to send as it is, in place of ``body``.
        content: bytes to send as they are, in place of ``body``; ``headers`` say what they are. Empty for no body.
        upgraded: the platform's own answer, which carries a WebSocket; nothing else of this one counts then.
        headers: further headers.
        stream: writes the body.
    """

    status: int = 200
    body: Any = None
    encoded: str | None = None
    content: bytes | None = None
    upgraded: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Callable[[Callable[[bytes], Awaitable[object]]], Awaitable[None]] | None = None

    @property
    def text(self) -> str:
        """The body as JSON text."""
        return json.dumps(self.body) if self.encoded is None else self.encoded

    @classmethod
    def of_error(cls, error: LunoraError) -> HttpAnswer:
        """The answer that tells an error."""
        told = tellable(error, "a request")
        headers = {"allow": ", ".join(error.methods)} if isinstance(error, MethodNotAllowedError) else {}
        return cls(status=told.status, body={"error": told.to_dict()}, headers=headers)


class MethodNotAllowedError(LunoraError):
    """A path does not take the method of a request.

    Args:
        methods: those that it takes, which the answer has to say in a header, too.
    """

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__("METHOD_NOT_ALLOWED", f"this path takes {', '.join(methods)}")
        self.methods = methods


Handler = Callable[[HttpRequest], Awaitable[HttpAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method on one path."""

    method: str
    path: str
    handler: Handler


def find_route(routes: Mapping[str, Mapping[str, Handler]], method: str, path: str) -> Handler:
    """Find who answers.

    Args:
        routes: handlers by path, then by method.
        method: the request's method.
        path: the request's path.

    Raises:
        LunoraError: ``NOT_FOUND``, or ``METHOD_NOT_ALLOWED`` when the path is known.
    """
    methods = routes.get(path)
    if methods is None:
        raise LunoraError("NOT_FOUND", "there is nothing at this path")
    handler = methods.get(method)
    if handler is None:
        raise MethodNotAllowedError(sorted(methods))
    return handler
