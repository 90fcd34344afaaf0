"""A running Worker's HTTP API, as the command line calls it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode

from lunorash.codec import decode_json
from lunorash.errors import LunoraError

__all__ = ["Api"]

_TIMEOUT_S = 30


class Api:
    """Calls a Worker's routes with the admin token.

    Args:
        url: its origin.
        token: its ``LUNORA_ADMIN_TOKEN``.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token

    def get(self, path: str, **query: str) -> Any:
        """GET a path; returns the JSON of the answer."""
        return self._call("GET", path + ("?" + urlencode(query) if query else ""), None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """POST JSON to a path; returns the JSON of the answer."""
        return self._call("POST", path, json.dumps(body).encode())

    def _call(self, method: str, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the user names the URL
            self._url + path,
            data=body,
            method=method,
            headers={"authorization": f"Bearer {self._token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                return decode_json(answer.read(), what=f"the answer of {path}")
        except urllib.error.HTTPError as error:
            raise _refused(path, error) from None
        except OSError as error:
            raise LunoraError("WORKER_UNREACHABLE", f"nothing answers at {self._url}: {error}") from None


def _refused(path: str, error: urllib.error.HTTPError) -> LunoraError:
    with error:
        text = error.read()
    try:
        told = decode_json(text)["error"]
        return LunoraError(told["code"], told["message"], status=error.code)
    except (LunoraError, KeyError, TypeError):
        return LunoraError("BAD_ANSWER", f"{path} answered {error.code} with something that is not Lunora's")
