from __future__ import annotations

import json
from http.cookies import SimpleCookie
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.http import HttpAnswer
from lunorash.studio.session import (
    LIFETIME_MS,
    LONGEST_MS,
    Session,
    cookie_name,
    read_cookie,
    read_session,
    set_cookie,
)
from lunorash.studio.session_routes import session_routes
from tests.unit.requests import a_request

TOKEN = "0123456789abcdef0123456789abcdef"
ORIGIN = "https://app.example.com"
NOW = 1_800_000_000_000
ENV = SimpleNamespace(LUNORA_ADMIN_TOKEN=TOKEN)


async def _ask(method: str, *, now: int = NOW, env: SimpleNamespace = ENV, **more: object) -> HttpAnswer:
    handlers = {route.method: route.handler for route in session_routes(lambda: now / 1000)}
    return await handlers[method](a_request(method, env=env, **more))  # type: ignore[arg-type]


def _json(text: str) -> bytes:
    return json.dumps({"token": text}).encode()


def _cookie(answer: HttpAnswer) -> str:
    """What a browser sends back."""
    return answer.headers["set-cookie"].partition(";")[0]


async def _signed_in(now: int = NOW) -> HttpAnswer:
    return await _ask("POST", now=now, headers={"origin": ORIGIN}, body=_json(TOKEN))


async def test_the_token_opens_a_session() -> None:
    answer = await _signed_in()
    assert answer.body == {"until": NOW + LIFETIME_MS}
    assert (await _ask("GET", headers={"cookie": _cookie(answer)})).body == {"until": NOW + LIFETIME_MS}


async def test_the_cookie_is_shut_in_and_holds_no_token() -> None:
    header = (await _signed_in()).headers["set-cookie"]
    (cookie,) = SimpleCookie(header).values()
    assert cookie.key == "__Secure-lunora_studio"
    assert (cookie["path"], cookie["samesite"], cookie["max-age"]) == ("/_lunora", "Strict", "3600")
    assert cookie["httponly"] is cookie["secure"] is True
    assert TOKEN not in header


@pytest.mark.parametrize(
    ("origin", "secure"),
    [
        ("https://localhost:8787", True),
        ("http://localhost:8787", False),
        ("http://127.0.0.1", False),
        ("http://[::1]:8787", False),
        ("http://localhost.example.com", True),
        ("http://app.example.com", True),
    ],
)
def test_only_this_machine_may_keep_it_without_https(origin: str, secure: bool) -> None:
    assert ("; Secure" in set_cookie(origin, "x", 1)) is secure
    assert cookie_name(origin).startswith("__Secure-") is secure


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\ud800"])
async def test_no_other_text_opens_one(token: str) -> None:
    with pytest.raises(LunoraError) as raised:
        await _ask("POST", headers={"origin": ORIGIN}, body=_json(token))
    assert raised.value.code == ("BAD_REQUEST" if token == "\ud800" else "ADMIN_FORBIDDEN")
    assert TOKEN not in raised.value.message


@pytest.mark.parametrize("body", [b"{}", b'{"token": 5}', b'{"token": null}', b'{"token": "a", "more": 1}'])
async def test_anything_but_a_token_is_refused(body: bytes) -> None:
    with pytest.raises(LunoraError) as raised:
        await _ask("POST", headers={"origin": ORIGIN}, body=body)
    assert raised.value.code == "INVALID_INPUT"


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("headers", [{}, {"origin": "https://evil.example.com"}, {"origin": "null"}])
async def test_no_other_page_signs_anybody_in_or_out(method: str, headers: dict[str, str]) -> None:
    with pytest.raises(LunoraError) as raised:
        await _ask(method, headers=headers, body=_json(TOKEN))
    assert raised.value.code == "ADMIN_FORBIDDEN"


@pytest.mark.parametrize("token", [None, "", "short"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_without_a_good_token_in_the_environment_it_is_closed(token: str | None, method: str) -> None:
    env = SimpleNamespace(LUNORA_ADMIN_TOKEN=token)
    with pytest.raises(LunoraError, match="so this is closed to all"):
        await _ask(method, env=env, headers={"origin": ORIGIN}, body=_json(token or ""))


async def test_an_open_page_stays_signed_in_for_half_a_day_and_no_longer() -> None:
    answer, now = await _signed_in(), NOW
    while now < NOW + LONGEST_MS - LIFETIME_MS // 2:
        now += LIFETIME_MS // 2
        answer = await _ask("GET", now=now, headers={"cookie": _cookie(answer)})
        assert answer.body["until"] == min(now + LIFETIME_MS, NOW + LONGEST_MS)
    ended = await _ask("GET", now=NOW + LONGEST_MS, headers={"cookie": _cookie(answer)})
    assert ended.body == {"until": None}
    assert "set-cookie" not in ended.headers


async def test_signing_out_takes_the_cookie_away() -> None:
    answer = await _ask("DELETE", headers={"origin": ORIGIN})
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert _cookie(answer) == "__Secure-lunora_studio="


async def test_nothing_of_it_is_kept_on_the_way() -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await _ask(method, headers={"origin": ORIGIN}, body=_json(TOKEN))
        assert answer.headers["cache-control"] == "no-store"


@given(st.text())
def test_no_text_that_was_not_signed_is_a_session(value: str) -> None:
    assert read_session(TOKEN, value, NOW) is None


@given(st.integers(0, 200), st.characters(max_codepoint=127))
def test_a_cookie_that_was_changed_anywhere_is_none(place: int, sign: str) -> None:
    value = Session.begin(NOW).signed(TOKEN)
    place %= len(value)
    changed = value[:place] + sign + value[place + 1 :]
    assert (read_session(TOKEN, changed, NOW) is not None) is (changed == value)


def test_a_session_that_begins_later_or_lasts_too_long_is_none_even_if_signed() -> None:
    assert read_session(TOKEN, Session(began=NOW + 1, until=NOW + 2).signed(TOKEN), NOW) is None
    assert read_session(TOKEN, Session(began=NOW, until=NOW + LONGEST_MS + 1).signed(TOKEN), NOW) is None


@pytest.mark.parametrize(
    ("header", "value"),
    [("", None), ("a=1", "1"), ("b=2; a=1;c=3", "1"), ("a=1; a=2", None), ("aa=1", None), ("a", "")],
)
def test_a_cookie_is_found_if_it_is_there_once(header: str, value: str | None) -> None:
    assert read_cookie({"cookie": header}, "a") == value
