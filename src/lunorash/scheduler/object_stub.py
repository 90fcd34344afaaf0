"""Finding a Durable Object to call.

The objects of this package take text and answer with text, so the platform's own stub is called and not the SDK's
wrapper of it, which looks at every value that crosses. That was a tenth of the time of scheduling a job.
"""

from __future__ import annotations

from typing import Any

try:
    from workers import python_to_rpc as _platform_object
except ImportError:  # outside of a Worker namespaces are our own

    def _platform_object(value: Any) -> Any:
        return value


__all__ = ["object_stub", "web_socket_to"]


def object_stub(namespace: Any, name: str) -> Any:
    """What calls the object of a name.

    Args:
        namespace: the Durable Object binding, ``env.SCHEDULER``.
        name: of the object in it.
    """
    return _platform_object(namespace.get(namespace.idFromName(name)))


async def web_socket_to(stub: Any, headers: dict[str, str]) -> Any:
    """Ask an object for a WebSocket.

    Args:
        stub: what calls it.
        headers: what else it is told.

    Returns:
        the platform's answer, of the status 101 if it carries one.
    """
    return await stub.fetch("https://object/", _platform_object({"headers": {"upgrade": "websocket", **headers}}))
