"""Dispatches as HTTP requests: the Cloudflare side of the dispatch loop."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator, Callable
from typing import Any

import js
from js import AbortController, Object
from pyodide.ffi import JsException, to_js

from lunorash.codec import decode_json
from lunorash.errors import LunoraError
from lunorash.scheduler.dispatching import Undelivered
from lunorash.scheduler.job import Dispatch
from lunorash.scheduler.protocol import ANSWER_TYPE, DISPATCH_PATH, encode_dispatch, split_lines
from lunorash.scheduler.signing import sign

__all__ = ["FetchTransport"]

_SHOWN = 300


class FetchTransport:
    """Sends dispatches to the Worker's own origin.

    Args:
        origin: where to; also the audience that the body names.
        instance: the id of the Durable Object that sends.
        key: signs every dispatch afresh.
        clock: now, in epoch milliseconds.
        fetch: what to send with, if not JavaScript's own fetch.
    """

    def __init__(self, *, origin: str, instance: str, key: bytes, clock: Callable[[], int], fetch: Any = None) -> None:
        self._origin = origin
        self._instance = instance
        self._key = key
        self._clock = clock
        self._fetch = js.fetch if fetch is None else fetch

    async def open(self, dispatch: Dispatch) -> FetchAnswer:
        """Send a dispatch and wait for good headers."""
        body = encode_dispatch(dispatch, audience=self._origin, instance=self._instance)
        headers = sign(dispatch.id, self._clock() // 1000, body, self._key)
        abort = AbortController.new()
        options = {
            "method": "POST",
            "headers": {"content-type": "application/json", **headers},
            "body": body.decode(),
            "redirect": "manual",
            "signal": abort.signal,
        }
        try:
            response = await self._fetch(
                self._origin + DISPATCH_PATH, to_js(options, dict_converter=Object.fromEntries)
            )
        except asyncio.CancelledError:
            abort.abort()
            raise
        except (OSError, JsException) as error:
            raise Undelivered(f"the origin cannot be reached: {_message(error)}") from None
        answer = FetchAnswer(response)
        if response.status != 200 or not str(response.headers.get("content-type")).startswith(ANSWER_TYPE):
            reason = await _refusal(response, answer)
            await answer.close()
            raise Undelivered(reason)
        return answer


class FetchAnswer:
    """The body of an answer, read as text."""

    def __init__(self, response: Any) -> None:
        body = response.body
        self._reader = body.getReader() if body else None

    def lines(self) -> AsyncGenerator[list[str]]:
        """Its lines, those that come together."""
        return split_lines(self.chunks())

    async def chunks(self) -> AsyncGenerator[str]:
        """Its text as it comes."""
        # a decoder of ours: a stream through JavaScript's takes another two turns for each chunk
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while self._reader is not None:
            try:
                chunk = await self._reader.read()
            except (OSError, JsException) as error:
                raise Undelivered(f"the answer broke off: {_message(error)}") from None
            if chunk.done:
                return
            yield decoder.decode(chunk.value.to_bytes())

    async def close(self) -> None:
        """Stop reading: the receiver's next write will find nobody."""
        reader, self._reader = self._reader, None
        if reader is not None:
            try:
                await reader.cancel()
            except (OSError, JsException):
                return  # it had broken off by itself, which is all that was wanted


async def _refusal(response: Any, answer: FetchAnswer) -> str:
    """Say in a sentence what kind of answer this is, without repeating a stranger's page."""
    status = f"the origin answered {response.status}"
    if 300 <= response.status < 400:
        return f"{status}, a redirect; LUNORA_ORIGIN_URL must be where the Worker itself answers"
    text = ""
    async for chunk in answer.chunks():
        text += chunk
        if len(text) > _SHOWN * 8:
            break
    try:
        error = decode_json(text)["error"]
        return f"{status} {error['code']}: {error['message']}"[:_SHOWN]
    except (LunoraError, KeyError, TypeError):
        kind = str(response.headers.get("content-type") or "no type").split(";", 1)[0][:60]
        return f"{status} with {kind}, which is not a receiver's answer; is LUNORA_ORIGIN_URL this Worker?"


def _message(error: BaseException) -> str:
    return (
        str(getattr(error, "message", None) or error).splitlines()[0][:_SHOWN] if str(error) else type(error).__name__
    )
