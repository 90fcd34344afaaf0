"""Which web pages may call the API from a browser: those that are named, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from lunorash.errors import LunoraError, shown
from lunorash.http import HttpRequest

__all__ = ["Cors"]

_MAX_AGE_S: Final = 600


class Cors:
    """The origins of pages that may call.

    Args:
        origins: such as ``["https://app.example.com"]``; none by default. ``*`` is not taken: name who may call.

    Raises:
        LunoraError: ``INVALID_INPUT`` for what is no origin.

    Example:
        >>> Cors(["https://app.example.com"]).origins
        frozenset({'https://app.example.com'})
    """

    def __init__(self, origins: Sequence[str] = ()) -> None:
        for origin in origins:
            if origin != _as_browsers_send_it(origin):
                raise LunoraError(
                    "INVALID_INPUT",
                    f"{shown(origin)} is no origin as browsers send it; write https://app.example.com, in small "
                    "letters, without a path, a user, or the port that goes without saying",
                )
        self.origins = frozenset(origins)

    def headers(self, request: HttpRequest) -> Mapping[str, str]:
        """The headers that let the page which made a request read the answer; none for a page that may not."""
        origin = request.headers.get("origin")
        if origin not in self.origins:
            return {"vary": "origin"} if self.origins else {}
        return {"access-control-allow-origin": origin, "vary": "origin"}

    def preflight(self, request: HttpRequest) -> Mapping[str, str]:
        """The headers that answer a browser's question whether it may call."""
        headers = self.headers(request)
        if "access-control-allow-origin" not in headers:
            return headers
        return {
            **headers,
            "access-control-allow-methods": "POST",
            "access-control-allow-headers": "authorization, content-type",
            "access-control-max-age": str(_MAX_AGE_S),
        }


def _as_browsers_send_it(origin: object) -> str | None:
    if not isinstance(origin, str) or not origin.isascii():
        return None
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")
