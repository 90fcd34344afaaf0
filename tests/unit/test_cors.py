from __future__ import annotations

from typing import Any

import pytest

from lunorash.errors import LunoraError
from lunorash.http import HttpRequest
from lunorash.server.cors import Cors

_PAGE = "https://app.example.com"


def _request(**headers: str) -> HttpRequest:
    async def nothing(*_args: object, **_named: object) -> Any:
        raise AssertionError("nothing of the request is needed but its headers")

    def no_scheduler() -> Any:
        raise AssertionError("nor a scheduler")

    return HttpRequest(
        method="POST",
        path="/api/query",
        query="",
        headers=headers,
        body=nothing,
        env=None,
        scheduler=no_scheduler,
        fetch=nothing,
    )


@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example.com",
        "http://localhost:5173",
        "http://127.0.0.1:8787",
        "https://example.com:8443",
        "http://[::1]:5173",
        "https://xn--mnchen-3ya.example",
    ],
)
def test_an_origin_is_what_a_browser_sends(origin: str) -> None:
    assert Cors([origin]).headers(_request(origin=origin))["access-control-allow-origin"] == origin


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "null",
        "",
        "app.example.com",
        "//app.example.com",
        "https://",
        "https://app.example.com/",
        "https://app.example.com/path",
        "https://app.example.com?a",
        "https://app.example.com#a",
        "https://app.example.com ",
        " https://app.example.com",
        "https://App.example.com",
        "HTTPS://app.example.com",
        "https://user@app.example.com",
        "https://user:password@app.example.com",
        "https://app.example.com:443",
        "http://app.example.com:80",
        "https://app.example.com:",
        "https://app.example.com:0x50",
        "https://app.example.com:99999",
        "https://[",
        "https://münchen.example",
        "https://*.example.com",
        "ftp://app.example.com",
        "file://app",
        "https://app.example.com\n",
        "https://app.example.com\r\nx: y",
        "https://a b.example.com",
        None,
        5,
        b"https://app.example.com",
    ],
)
def test_what_no_browser_sends_is_refused_when_the_app_is_put_together(origin: Any) -> None:
    with pytest.raises(LunoraError) as raised:
        Cors([_PAGE, origin])
    assert raised.value.code == "INVALID_INPUT"
    assert "https://app.example.com" in raised.value.message


def test_a_single_string_is_no_list_of_origins() -> None:
    with pytest.raises(LunoraError):
        Cors(_PAGE)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": ""},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": "https://app.example.com.evil.example"},
        {"origin": "https://evilapp.example.com"},
        {"origin": "http://app.example.com"},
        {"origin": "https://app.example.com:8443"},
        {"origin": "https://APP.example.com"},
        {"origin": "https://app.example.com, https://evil.example"},
    ],
)
def test_a_page_that_was_not_named_may_not_read_the_answer(headers: dict[str, str]) -> None:
    cors = Cors([_PAGE, "http://localhost:5173"])
    assert cors.headers(_request(**headers)) == {"vary": "origin"}
    assert cors.preflight(_request(**headers)) == {"vary": "origin"}


def test_a_page_that_was_named_may_call_with_a_token_and_json_and_without_cookies() -> None:
    cors = Cors([_PAGE, "http://localhost:5173"])
    headers = {"access-control-allow-origin": _PAGE, "vary": "origin"}
    assert cors.headers(_request(origin=_PAGE)) == headers
    assert cors.preflight(_request(origin=_PAGE)) == {
        **headers,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type",
        "access-control-max-age": "600",
    }


def test_without_origins_nothing_is_said() -> None:
    assert Cors().headers(_request(origin=_PAGE)) == {}
    assert Cors().preflight(_request(origin=_PAGE)) == {}
