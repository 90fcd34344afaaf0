"""The WebSockets of a Durable Object that may be forgotten from memory while they stay open."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from js import Object, Response, WebSocketPair, WebSocketRequestResponsePair
from pyodide.ffi import JsException, to_js

__all__ = ["WebSockets"]

_PING: Final = ("ping", "pong")


class WebSockets:
    """Takes connections in and finds them again.

    Args:
        ctx: the Durable Object's. The platform answers pings for it, without waking it.
    """

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx
        ctx.setWebSocketAutoResponse(WebSocketRequestResponsePair.new(*_PING))

    def accept(self, until: int) -> Any:
        """Take in a connection.

        Args:
            until: when its session ends, in epoch milliseconds.

        Returns:
            the answer that makes the request a WebSocket.
        """
        pair = WebSocketPair.new()
        ours = getattr(pair, "1")
        self._ctx.acceptWebSocket(ours)
        ours.serializeAttachment(until)
        return Response.new(
            None, to_js({"status": 101, "webSocket": getattr(pair, "0")}, dict_converter=Object.fromEntries)
        )

    def all(self) -> Sequence[_Socket]:
        """Those that are open."""
        return [_Socket(socket) for socket in self._ctx.getWebSockets()]


class _Socket:
    def __init__(self, socket: Any) -> None:
        self._socket = socket

    @property
    def until(self) -> int:
        return int(self._socket.deserializeAttachment() or 0)

    def send(self, text: str) -> None:
        with suppress(JsException):  # it is on its way out
            self._socket.send(text)

    def close(self, code: int, reason: str) -> None:
        with suppress(JsException):
            self._socket.close(code, reason)
