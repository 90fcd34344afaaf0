"""A running Worker's HTTP API, as the command line calls it."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Final, Self

import httpx

from lunorash.codec import MAX_ENVELOPE_DEPTH, decode_json
from lunorash.errors import LunoraError

__all__ = ["LONG_S", "Api"]

LONG_S: Final = 16 * 60.0
"""How long to wait for an answer that comes when a function has run: none runs longer than 15 minutes."""

_SHORT_S: Final = 30.0
_CONNECT_S: Final = 10.0
_MAX_BYTES: Final = 32 * 1024 * 1024  # a page of jobs holds a megabyte of arguments, whatever their escapes make of it


class Api:
    """Calls a Worker's routes with the admin token.

    A redirect is not followed, so that the token goes nowhere else. Use it in a ``with`` block, which closes the
    connection.

    Args:
        url: its origin.
        token: its ``LUNORA_ADMIN_TOKEN``.
        token_from: where the token was found, for the message when the Worker refuses it.
        proxied: whether the proxies of the environment apply; not to this machine.
    """

    def __init__(self, url: str, token: str, *, token_from: str = "", proxied: bool = False) -> None:
        self.url = url.rstrip("/")
        self._token_from = token_from
        self._client = httpx.Client(
            headers={"authorization": f"Bearer {token}", "user-agent": "lunora"},
            follow_redirects=False,
            trust_env=proxied,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    def get(self, path: str, **query: str | list[str]) -> dict[str, Any]:
        """GET a path.

        Args:
            path: the path.
            query: the parameters of the query; a list for one that is given several times.

        Returns:
            the object that is answered.

        Raises:
            LunoraError: what the Worker answers, with its code and status; ``WORKER_UNREACHABLE`` when it does not
                answer; ``BAD_ANSWER`` when that is not Lunora's.
        """
        return self._call("GET", path, query, None, _SHORT_S)

    def post(self, path: str, body: dict[str, Any], *, wait_s: float = _SHORT_S) -> dict[str, Any]:
        """POST JSON to a path; see `get`.

        Args:
            path: the path.
            body: the object to send.
            wait_s: how long the answer may keep us waiting, in seconds.
        """
        return self._call("POST", path, {}, json.dumps(body, allow_nan=False).encode(), wait_s)

    def _call(
        self, method: str, path: str, query: dict[str, str | list[str]], body: bytes | None, wait_s: float
    ) -> dict[str, Any]:
        try:
            request = self._client.build_request(
                method,
                self.url + path,
                params=query or None,
                content=body,
                headers={} if body is None else {"content-type": "application/json"},
                timeout=httpx.Timeout(wait_s, connect=_CONNECT_S),
            )
            answer = self._client.send(request, stream=True)
            try:
                text = _read(path, answer)
            finally:
                answer.close()
        except httpx.ReadTimeout:
            raise LunoraError(
                "WORKER_UNREACHABLE",
                f"{self.url} took the call of {path} and gave no answer within {wait_s:g} s; what was asked for may "
                "have happened all the same",
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last two: a host that cannot be
            raise LunoraError(
                "WORKER_UNREACHABLE",
                f"nothing answers at {self.url}: {error or type(error).__name__}. Start it with lunora dev, or name "
                "another with --url",
            ) from None
        if answer.is_success:
            return _object(path, text)
        raise self._refused(path, answer.status_code, text)

    def _refused(self, path: str, status: int, text: bytes) -> LunoraError:
        try:
            told = decode_json(text, max_depth=MAX_ENVELOPE_DEPTH)["error"]
            code, message = str(told["code"]), str(told["message"])
        except (LunoraError, KeyError, TypeError):
            return LunoraError(
                "BAD_ANSWER",
                f"{path} answered {status} with something that is not Lunora's; is {self.url} the Worker's origin?",
                status=status,
            )
        if code == "ADMIN_FORBIDDEN" and self._token_from:
            message += f" (the token that was sent is from {self._token_from})"
        return LunoraError(code, message, status=status, data=told.get("data"))


def _read(path: str, answer: httpx.Response) -> bytes:
    text = bytearray()
    for part in answer.iter_bytes():
        text += part
        if len(text) > _MAX_BYTES:
            raise LunoraError("BAD_ANSWER", f"the answer of {path} is larger than {_MAX_BYTES // 2**20} MiB")
    return bytes(text)


def _object(path: str, text: bytes) -> dict[str, Any]:
    try:
        value = decode_json(text, what=f"the answer of {path}", max_depth=MAX_ENVELOPE_DEPTH)
    except LunoraError as error:
        raise LunoraError("BAD_ANSWER", error.message) from None
    if not isinstance(value, dict):
        raise LunoraError("BAD_ANSWER", f"the answer of {path} is not an object")
    return value
