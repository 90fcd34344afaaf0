"""Text is edited in place: what was there survives byte for byte, wherever people put their commas and comments."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lunorash.config.json_syntax import line_of, plain
from lunorash.config.json_text import Edit, Insert, Remove, applied, edited

LIST = ("crons",)


def decoded(text: str) -> Any:
    return json.loads(plain(text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"crons": ["a"]}', '{"crons": ["a", "new"]}'),
        ('{"crons": ["a",]}', '{"crons": ["a", "new",]}'),
        ('{"crons": [ "a" ]}', '{"crons": [ "a", "new" ]}'),
        ('{"crons":["a" /* a */]}', '{"crons":["a", /* a */ "new"]}'),
        ('{"crons": ["a" // a\n]}', '{"crons": ["a", // a\n"new"\n]}'),
        ('{\n\t"crons": [\n\t\t"a" // a\n\t]\n}', '{\n\t"crons": [\n\t\t"a", // a\n\t\t"new"\n\t]\n}'),
        ('{"crons": [\r\n  "a", // a\r\n]}', '{"crons": [\r\n  "a", // a\r\n  "new",\r\n]}'),
        ('{"crons": [\n  "a"\n  , // a\n]}', '{"crons": [\n  "a"\n  , // a\n  "new",\n]}'),
        ('{"crons": [\n  "a"\n  // last\n]}', '{"crons": [\n  "a",\n  "new"\n  // last\n]}'),
        ('{"crons": [\n  "a" /* b\n c */\n]}', '{"crons": [\n  "a", /* b\n c */\n  "new"\n]}'),
        ('{"crons": [\n  /* a */ "a"]}', '{"crons": [\n  /* a */ "a",\n  "new"]}'),
        ('{"crons": []}', '{"crons": ["new"]}'),
        ('{"crons": [ ]}', '{"crons": [ "new" ]}'),
        ('{"crons": [ /* none */ ]}', '{"crons": [ /* none */ "new" ]}'),
        ('{"crons": [/* none */]}', '{"crons": [/* none */ "new" ]}'),
        ('{\n  "crons": [\n    // none\n  ]\n}', '{\n  "crons": [\n    // none\n    "new"\n  ]\n}'),
        ('{"crons": null}', '{"crons": ["new"]}'),
        ('{"crons": [1], "crons": ["a"]}', '{"crons": [1], "crons": ["a", "new"]}'),
        ("{}", '{ "crons": ["new"] }'),
        ('{"a": 1}', '{"a": 1, "crons": ["new"]}'),
        ('\ufeff{\n    "a": 1 // a\n}\n', '\ufeff{\n    "a": 1, // a\n    "crons": ["new"]\n}\n'),
        ("// x\n{\n  // empty\n}\n", '// x\n{\n  // empty\n  "crons": ["new"]\n}\n'),
    ],
)
def test_an_entry_goes_behind_the_last_one_and_its_comment(before: str, after: str) -> None:
    length = len(decoded(before).get("crons") or [])
    assert edited(before, [Insert(LIST, length, "new")]) == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ('{"crons": ["a"]}', 0, '{"crons": ["new", "a"]}'),
        ('{"crons": [ "a" ]}', 0, '{"crons": [ "new", "a" ]}'),
        ('{"crons": ["a", "b"]}', 1, '{"crons": ["a", "new", "b"]}'),
        ('{"crons": ["a", /* b */ "b"]}', 1, '{"crons": ["a", "new", /* b */ "b"]}'),
        ('{"crons": [\n  "a", // a\n  // b\n  "b"\n]}', 1, '{"crons": [\n  "a", // a\n  "new",\n  // b\n  "b"\n]}'),
        ('{"crons": [ // all\n  // a\n  "a"\n]}', 0, '{"crons": [ // all\n  "new",\n  // a\n  "a"\n]}'),
        ('{"crons": [\n  "a"\n  , "b"\n]}', 1, '{"crons": [\n  "a"\n  , "new", "b"\n]}'),
    ],
)
def test_an_entry_goes_before_another_and_its_comment(before: str, index: int, after: str) -> None:
    assert edited(before, [Insert(LIST, index, "new")]) == after


@pytest.mark.parametrize(
    ("before", "index", "after"),
    [
        ('{"crons": ["a"]}', 0, '{"crons": []}'),
        ('{"crons": ["a",]}', 0, '{"crons": []}'),
        ('{"crons": ["a", "b"]}', 0, '{"crons": ["b"]}'),
        ('{"crons": ["a", "b"]}', 1, '{"crons": ["a"]}'),
        ('{"crons": [ "a", "b" ]}', 1, '{"crons": [ "a" ]}'),
        ('{"crons": ["a", "b",]}', 1, '{"crons": ["a",]}'),
        ('{"crons": [\n  "a", // a\n  "b"\n]}', 0, '{"crons": [\n  // a\n  "b"\n]}'),
        ('{"crons": [\n  "a", // a\n  "b"\n]}', 1, '{"crons": [\n  "a" // a\n]}'),
        ('{"crons": [\r\n  "a",\r\n  "b"\r\n]}', 0, '{"crons": [\r\n  "b"\r\n]}'),
        ('{"crons": [\n  "a" /* a */, "b"\n]}', 0, '{"crons": [\n  /* a */ "b"\n]}'),
        ('{"crons": [\n  "a"\n  , "b"\n]}', 1, '{"crons": [\n  "a"\n]}'),
        ('{"crons": [\n  "a"]}', 0, '{"crons": [\n  ]}'),
    ],
)
def test_an_entry_goes_and_its_comment_stays(before: str, index: int, after: str) -> None:
    assert edited(before, [Remove(LIST, index)]) == after


def test_what_is_long_takes_several_lines_in_the_layout_of_the_file() -> None:
    bindings = [{"name": name, "class_name": "x" * 30} for name in ("SCHEDULER", "SHARD")]
    before = '{\r\n\t"name": "app"\r\n}\r\n'
    after = edited(
        before, [Insert(("durable_objects", "bindings"), index, each) for index, each in enumerate(bindings)]
    )
    assert after.split("\r\n") == [
        "{",
        '\t"name": "app",',
        '\t"durable_objects": {',
        '\t\t"bindings": [',
        '\t\t\t{ "name": "SCHEDULER", "class_name": "' + "x" * 30 + '" },',
        '\t\t\t{ "name": "SHARD", "class_name": "' + "x" * 30 + '" }',
        "\t\t]",
        "\t}",
        "}",
        "",
    ]


def test_the_line_of_an_entry_is_known() -> None:
    text = '// é\r\n{\r\n  "a": [\r\n    1,\r\n    /* x\r\n */ 2\r\n  ]\r\n}'
    paths: list[list[str | int]] = [[], ["a"], ["a", 0], ["a", 1], ["a", 7], ["b"]]
    assert [line_of(text, path) for path in paths] == [2, 3, 4, 6, 3, 2]


COMMENTS = st.sampled_from(["/* c */", "/*\r\n*/", "/* \"'],} */", "// l, ]\n", "// é\r\n", "//\n", "/**/"])
GAPS = st.lists(st.one_of(st.sampled_from([" ", "\t", "\n", "\r\n", "\n    "]), COMMENTS), max_size=3).map("".join)
NAMES = st.sampled_from(["a", "b", "crons", "é//", '"', "\\", "/*"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), NAMES)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may write it, with comments and trailing commas anywhere."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts: list[str] = []
    for key in value if isinstance(value, dict) else range(len(value)):
        name = f"{json.dumps(key)}{draw(GAPS)}:{draw(GAPS)}" if isinstance(value, dict) else ""
        parts.append(f"{draw(GAPS)}{name}{draw(written(value[key]))}{draw(GAPS)}")
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    comma: bool = draw(st.booleans())
    trailing = f",{draw(GAPS)}" if parts and comma else ""
    return f"{opening}{','.join(parts) or draw(GAPS)}{trailing}{closing}"


VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
CONFIGS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"crons": st.lists(VALUES, max_size=4)}, optional={"name": VALUES, "z": VALUES}
)


def tokens(text: str) -> list[str]:
    """Strings, comments, and other runs of characters: all but the layout and the commas."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[^\s,"/\[\]{}:]+|[\[\]{}:]', text, re.DOTALL)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, Any], str, list[Edit]]:
    config = draw(CONFIGS)
    text = draw(GAPS) + draw(written(config)) + draw(GAPS)
    edits: list[Edit] = []
    length = len(config["crons"])
    for _ in range(draw(st.integers(1, 4))):
        if length and draw(st.booleans()):
            edits.append(Remove(LIST, draw(st.integers(0, length - 1))))
            length -= 1
        else:
            edits.append(Insert(LIST, draw(st.integers(0, length)), draw(VALUES)))
            length += 1
    if draw(st.booleans()):
        edits.append(Insert(("new", "deep"), 0, draw(VALUES)))
    return config, text, edits


@settings(max_examples=200, deadline=None)
@given(cases())
def test_any_text_says_what_it_should_afterwards(case: tuple[dict[str, Any], str, list[Edit]]) -> None:
    config, text, edits = case
    assert decoded(text) == config
    after = edited(text, edits)
    assert decoded(after) == applied(config, edits)


@settings(max_examples=200, deadline=None)
@given(cases(), st.text("xyz", min_size=1))
def test_adding_keeps_every_byte_in_its_order(case: tuple[dict[str, Any], str, list[Edit]], new: str) -> None:
    """What was added taken out again, the text differs by the commas and the layout of the additions only."""
    config, text, _ = case
    for index in range(len(config["crons"]) + 1):
        after = edited(text, [Insert(LIST, index, f"<{new}>")])
        at = after.index(f'"<{new}>"')
        before, behind = after[:at], after[at + len(new) + 4 :]
        assert is_within(before + behind, text)
        assert "".join(tokens(before + behind)) == "".join(tokens(text))


@settings(max_examples=200, deadline=None)
@given(cases())
def test_removing_takes_nothing_but_the_entry(case: tuple[dict[str, Any], str, list[Edit]]) -> None:
    config, text, _ = case
    for index, value in enumerate(config["crons"]):
        after = edited(text, [Remove(LIST, index)])
        assert is_within(text, after)
        if not isinstance(value, list | dict):
            gone = tokens(text)
            for token in tokens(after):
                if token in gone:
                    gone.remove(token)
            assert len(gone) == 1
            assert json.loads(gone[0]) == value


def is_within(long: str, short: str) -> bool:
    """Whether all characters of one text stand in another in the same order."""
    rest = iter(long)
    return all(character in rest for character in short)
