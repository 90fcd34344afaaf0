"""Requests as route handlers get them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lunorash.http import HttpRequest

__all__ = ["a_request"]


def a_request(
    method: str = "GET",
    path: str = "/",
    *,
    env: SimpleNamespace | None = None,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    origin: str = "https://app.example.com",
) -> HttpRequest:
    """A request that nothing goes out from."""

    async def read() -> bytes:
        return body

    async def fetch(*_: object, **__: object) -> Any:
        raise AssertionError("nothing here goes out")

    def scheduler() -> Any:
        raise AssertionError("nobody here asks the scheduler")

    return HttpRequest(
        method=method,
        path=path,
        query="",
        headers=headers or {},
        body=read,
        env=env or SimpleNamespace(),
        scheduler=scheduler,
        fetch=fetch,
        origin=origin,
    )
