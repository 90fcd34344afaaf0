"""Which web pages may call the API from a browser: those that are named, and no others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from lunorash.errors import LunoraError, shown
from lunorash.http import HttpRequest

__all__ = ["Cors"]

_MAX_AGE_S: Final = 600
_ORIGIN: Final = re.compile(r"(https?)://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([1-9]\d{0,4}))?", re.ASCII)


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
            if not _is_sent_by_browsers(origin):
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


def _is_sent_by_browsers(origin: object) -> bool:
    found = _ORIGIN.fullmatch(origin) if isinstance(origin, str) else None
    if found is None:
        return False
    scheme, port = found[1], found[2]
    return port is None or (int(port) < 65_536 and port != {"http": "80", "https": "443"}[scheme])
