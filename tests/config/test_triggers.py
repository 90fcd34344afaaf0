"""A list of crons becomes what it should be, and nothing that was written by hand is touched on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lunorash.config.json_text import Remove, applied
from lunorash.config.triggers import Crons, list_edits

PATH = ("triggers", "crons")
OURS = st.lists(st.sampled_from("abcde"), unique=True).map(tuple)


@pytest.mark.parametrize(
    ("current", "generated", "edits"),
    [
        ("ab", "ab", 0),
        ("abX", "ab", 0),
        ("aX", "ab", 1),
        ("X", "ab", 2),
        ("acX", "abc", 1),
        ("Xa", "a", 2),
        ("aa", "a", 1),
        ("ba", "ab", 2),
        ("XX", "", 0),
        ("aX", "", 1),
    ],
)
def test_no_more_is_edited_than_has_to_be(current: str, generated: str, edits: int) -> None:
    by_hand = tuple(each for each in current if each == "X")
    found = list_edits(PATH, Crons(tuple(current), tuple(generated), by_hand))
    assert len(found) == edits
    after = applied({"triggers": {"crons": list(current)}}, found)
    assert after["triggers"]["crons"] == [*generated, *by_hand]


@given(st.lists(st.sampled_from("abcdeXYZ")), OURS)
def test_any_list_gets_there(current: list[str], generated: tuple[str, ...]) -> None:
    by_hand = tuple(each for each in current if each in "XYZ")
    edits = list_edits(PATH, Crons(tuple(current), generated, by_hand))
    assert not any(isinstance(edit, Remove) and current[edit.index] in "XYZ" for edit in edits)
    after = applied({"triggers": {"crons": current}}, edits)
    assert after["triggers"]["crons"] == [*generated, *by_hand]
