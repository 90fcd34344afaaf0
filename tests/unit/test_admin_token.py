from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.studio.admin_token import MIN_TOKEN_BYTES, require_admin

_TOKEN = "0123456789abcdef0123456789abcdef"


def _refusal(token: Any, authorization: str | None) -> str:
    env = SimpleNamespace() if token is None else SimpleNamespace(LUNORA_ADMIN_TOKEN=token)
    headers = {} if authorization is None else {"authorization": authorization}
    with pytest.raises(LunoraError) as raised:
        require_admin(env, headers)
    assert raised.value.code == "ADMIN_FORBIDDEN"
    assert raised.value.status == 403
    return raised.value.message


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer  "])
def test_who_bears_the_token_may_pass(scheme: str) -> None:
    require_admin(SimpleNamespace(LUNORA_ADMIN_TOKEN=_TOKEN), {"authorization": f"{scheme}{_TOKEN}"})


def test_a_token_may_hold_any_text() -> None:
    token = "Schlüssel 🎉 with spaces, 32 bytes and more"
    require_admin(SimpleNamespace(LUNORA_ADMIN_TOKEN=token), {"authorization": f"Bearer {token}"})


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
    require_admin(SimpleNamespace(LUNORA_ADMIN_TOKEN="ü" * 16), {"authorization": "Bearer " + "ü" * 16})


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
