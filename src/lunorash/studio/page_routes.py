"""The studio's page, served by the Worker itself.

Its files are built from ``studio/`` by `make studio` and lie in ``page/`` beside this module, compressed. They end in
``.bin``, since that is what wrangler takes into a Python Worker without being told to.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from lunorash.errors import LunoraError
from lunorash.http import Handler, HttpAnswer, HttpRequest, Route
from lunorash.studio.admin_token import admin_token

__all__ = ["PAGE_ROUTES", "STUDIO_PATH", "VIEWS"]

STUDIO_PATH: Final = "/_lunora/studio"
VIEWS: Final = ("", "/jobs", "/job", "/crons", "/dead", "/pools", "/functions")
"""Each view has an address of its own, at which the same page is served."""

_FOLDER: Final = Path(__file__).parent / "page"
_TYPES: Final = {
    "index.html": "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            # arguments and errors are somebody else's text: the browser refuses to take any text for markup
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # kept, and asked for anew each time: what is shown is always what is deployed
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}


@cache
def _read(name: str) -> bytes:
    try:
        return (_FOLDER / f"{name}.bin").read_bytes()
    except OSError:
        raise LunoraError(
            "STUDIO_NOT_BUILT",
            "this Worker was built without the studio's page; install lunorash from its wheel, or run `make studio` "
            "in its repository, and start or deploy it again",
        ) from None


@cache
def _tag(name: str) -> str:
    return f'"{hashlib.sha256(_read(name)).hexdigest()[:20]}"'


def _serving(name: str) -> Handler:
    async def serve(request: HttpRequest) -> HttpAnswer:
        admin_token(request.env)  # closed, and not merely useless, while nobody could sign in
        content = _read(name)
        headers = {**_HEADERS, "content-type": _TYPES[name], "etag": _tag(name)}
        if _tag(name) in request.headers.get("if-none-match", ""):
            return HttpAnswer(status=304, content=b"", headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return HttpAnswer(content=content, headers={**headers, "content-encoding": "gzip"})
        return HttpAnswer(content=gzip.decompress(content), headers=headers)

    return serve


PAGE_ROUTES: Final = (
    *(Route(method="GET", path=STUDIO_PATH + view, handler=_serving("index.html")) for view in VIEWS),
    *(
        Route(method="GET", path=f"{STUDIO_PATH}/{name}", handler=_serving(name))
        for name in _TYPES
        if name != "index.html"
    ),
)
