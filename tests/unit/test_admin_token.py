from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.studio.admin_token import MIN_TOKEN_BYTES, require_admin
from lunorash.studio.session import LIFETIME_MS, Session
from tests.unit.requests import a_request

_TOKEN = "0123456789abcdef0123456789abcdef"
_ORIGIN = "https://app.example.com"
_NOW = 1_800_000_000_000


def _env(token: Any) -> SimpleNamespace:
    return SimpleNamespace() if token is None else SimpleNamespace(LUNORA_ADMIN_TOKEN=token)


def _refusal(token: Any, authorization: str | None) -> str:
    headers = {} if authorization is None else {"authorization": authorization}
    with pytest.raises(LunoraError) as raised:
        require_admin(a_request(env=_env(token), headers=headers))
    assert raised.value.code == "ADMIN_FORBIDDEN"
    assert raised.value.status == 403
    return raised.value.message


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer  "])
def test_who_bears_the_token_may_pass(scheme: str) -> None:
    until = require_admin(
        a_request(env=_env(_TOKEN), headers={"authorization": f"{scheme}{_TOKEN}"}), clock=lambda: _NOW / 1000
    )
    assert until == _NOW + LIFETIME_MS


def test_a_token_may_hold_any_text() -> None:
    token = "Schlüssel 🎉 with spaces, 32 bytes and more"
    require_admin(a_request(env=_env(token), headers={"authorization": f"Bearer {token}"}))


@pytest.mark.parametrize("token", [None, "", 5, True, object()])
@pytest.mark.parametrize("authorization", [None, "Bearer ", f"Bearer {_TOKEN}", "Bearer None"])
def test_while_no_token_is_set_it_is_closed_to_all(token: Any, authorization: str | None) -> None:
    assert "LUNORA_ADMIN_TOKEN is not set, so this is closed to all" in _refusal(token, authorization)


@pytest.mark.parametrize("token", ["a", "a" * (MIN_TOKEN_BYTES - 1)])
def test_a_token_that_is_too_short_opens_nothing_even_to_who_knows_it(token: str) -> None:
    message = _refusal(token, f"Bearer {token}")
    assert "shorter than 32 bytes" in message
    assert "openssl rand -hex 32" in message


def test_the_length_of_a_token_is_counted_in_bytes() -> None:
    require_admin(a_request(env=_env("ü" * 16), headers={"authorization": "Bearer " + "ü" * 16}))


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        " ",
        "Bearer",
        "Bearer ",
        _TOKEN,
        f"Basic {_TOKEN}",
        f"Bearer{_TOKEN}",
        f"Bearer {_TOKEN}x",
        f"Bearer {_TOKEN[:-1]}",
        f"Bearer {_TOKEN.upper()}",
        f"Bearer Bearer {_TOKEN}",
        f"Bearer {_TOKEN} {_TOKEN}",
        f"Bearer {_TOKEN}\x00",
        "Bearer \ud800",
        "Bearer " + "x" * 1_000_000,
    ],
    ids=lambda value: repr(value)[:30],
)
def test_everybody_else_gets_one_and_the_same_answer(authorization: str | None) -> None:
    assert _refusal(_TOKEN, authorization) == "this needs the header `authorization: Bearer <LUNORA_ADMIN_TOKEN>`"


@given(st.text(st.characters(max_codepoint=255)))
def test_no_other_text_passes_and_the_token_is_never_shown(given_token: str) -> None:
    if given_token.strip() != _TOKEN:
        assert _TOKEN not in _refusal(_TOKEN, f"Bearer {given_token}")


# -- the cookie of a session ---------------------------------------------------------------------------------


def _with_cookie(
    method: str = "GET", headers: dict[str, str] | None = None, *, token: str = _TOKEN, age_ms: int = 0
) -> int:
    cookie = f"a=b; __Secure-lunora_studio={Session.begin(_NOW - age_ms).signed(_TOKEN)}; c=d"
    request = a_request(method, env=_env(token), origin=_ORIGIN, headers={"cookie": cookie, **(headers or {})})
    return require_admin(request, clock=lambda: _NOW / 1000)


@pytest.mark.parametrize("headers", [{}, {"origin": _ORIGIN}])
def test_a_session_may_read(headers: dict[str, str]) -> None:
    assert _with_cookie(headers=headers) == _NOW + LIFETIME_MS


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_a_session_may_write_from_a_page_of_this_origin(method: str) -> None:
    assert _with_cookie(method, {"origin": _ORIGIN}) == _NOW + LIFETIME_MS


def test_a_session_may_watch_from_a_page_of_this_origin() -> None:
    assert _with_cookie(headers={"upgrade": "websocket", "origin": _ORIGIN}) == _NOW + LIFETIME_MS


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "https://evil.example.com",
        "https://app.example.com.evil.net",
        "https://app.example.com:8443",
        "http://app.example.com",
        "https://sibling.example.workers.dev",
        "HTTPS://APP.EXAMPLE.COM",
    ],
)
@pytest.mark.parametrize(("method", "more"), [("POST", {}), ("DELETE", {}), ("GET", {"upgrade": "websocket"})])
def test_no_other_page_may_write_or_watch(origin: str | None, method: str, more: dict[str, str]) -> None:
    """Siblings on workers.dev are one site to SameSite, so the cookie does come with what they ask."""
    headers = more if origin is None else {**more, "origin": origin}
    with pytest.raises(LunoraError, match="a session of the studio counts only for pages of") as raised:
        _with_cookie(method, headers)
    assert raised.value.code == "ADMIN_FORBIDDEN"


def test_a_page_of_another_origin_may_not_even_read() -> None:
    with pytest.raises(LunoraError, match=r"evil\.example\.com"):
        _with_cookie(headers={"origin": "https://evil.example.com"})


def test_another_token_ends_all_sessions() -> None:
    with pytest.raises(LunoraError, match="this needs the header"):
        _with_cookie(token=_TOKEN[::-1])


def test_a_session_ends() -> None:
    _with_cookie(age_ms=LIFETIME_MS - 1)
    with pytest.raises(LunoraError, match="this needs the header"):
        _with_cookie(age_ms=LIFETIME_MS)


def test_a_wrong_token_is_refused_whatever_the_cookie_says() -> None:
    with pytest.raises(LunoraError, match="this needs the header"):
        _with_cookie(headers={"authorization": "Bearer wrong"})


def test_who_bears_the_token_is_no_browser_and_needs_no_origin() -> None:
    headers = {"authorization": f"Bearer {_TOKEN}", "origin": "https://anywhere.example.net"}
    require_admin(a_request("POST", env=_env(_TOKEN), origin=_ORIGIN, headers=headers))
