from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.errors import LunoraError
from lunorash.scheduler.ids import check_id, mint_id

_ALLOWED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


@given(st.binary(min_size=12, max_size=12))
def test_every_minted_id_is_a_good_id_of_sixteen_characters(random: bytes) -> None:
    minted = mint_id(lambda count: random[:count])
    assert check_id(minted) == minted
    assert len(minted) == 16


@given(st.binary(min_size=11, max_size=11))
def test_no_minted_id_starts_with_a_dash(rest: bytes) -> None:
    """Cloudflare Workflows refuses such instance ids; one in 64 would be one."""
    minted = mint_id(lambda _count: b"\xf8" + rest)
    assert minted.startswith("_")
    check_id(minted)


@given(st.binary(min_size=12, max_size=12), st.binary(min_size=12, max_size=12))
def test_different_randomness_makes_different_ids_but_for_a_leading_dash(one: bytes, two: bytes) -> None:
    dashed = {0b111110, 0b111111}  # the first six bits that read as "-" and "_"
    same = mint_id(lambda _: one) == mint_id(lambda _: two)
    alike = one[0] >> 2 in dashed and two[0] >> 2 in dashed and _behind(one) == _behind(two)
    assert same == (one == two or alike)


def _behind(random: bytes) -> tuple[int, bytes]:
    return random[0] & 3, random[1:]


def test_ids_come_from_the_systems_randomness_by_default() -> None:
    assert len({mint_id() for _ in range(100)}) == 100


@given(st.text(_ALLOWED, min_size=1, max_size=64).filter(lambda text: not text.startswith("-")))
def test_every_id_of_the_allowed_form_is_kept_as_it_is(text: str) -> None:
    assert check_id(text) == text


@given(st.text(max_size=70).filter(lambda text: set(text) - set(_ALLOWED)))
def test_no_id_with_any_other_character_is_taken(text: str) -> None:
    with pytest.raises(LunoraError) as raised:
        check_id(text)
    assert raised.value.code == "INVALID_SCHEDULE_ID"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "-",
        "-a",
        "a" * 65,
        "a b",
        "a\n",
        "\na",
        "a.b",
        "a/b",
        "ä",
        "\u0661",
        "a\x00",
        "a" * 1_000_000,
        None,
        1,
        1.5,
        True,
        b"a",
        ["a"],
        {"id": "a"},
        object(),
    ],
)
def test_a_bad_id_is_refused_with_the_rule(value: Any) -> None:
    with pytest.raises(
        LunoraError, match="1 to 64 of A-Z, a-z, 0-9, '_' and '-', and does not start with '-'"
    ) as raised:
        check_id(value)
    assert raised.value.code == "INVALID_SCHEDULE_ID"
    assert raised.value.status == 400
    assert len(raised.value.message) < 250
