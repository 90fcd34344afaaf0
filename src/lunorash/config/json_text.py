"""JSON with comments as text that people wrote: entries are added and removed in place, and all else stays as it is.

No library does this. jsonc-parser of npm, which editors and wrangler use, lays lists out anew, moves a comment behind
the next entry and removes comments together with what stands before them; those for Python either refuse trailing
commas, or write the whole text anew.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Edit", "Insert", "Remove", "applied", "edited", "line_of", "plain"]

WIDTH: Final = 100
"""What is added takes more than one line when it is wider than this, if there are several lines at all."""

_STRING: Final = r'"(?:[^"\\\r\n]|\\.)*"?'
_COMMENTS: Final = re.compile(rf"{_STRING}|(?P<gap>^\ufeff|//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
# a comma behind nothing, as in "[,]", is no trailing one
_TRAILING: Final = re.compile(rf"{_STRING}|[\[{{,]\s*,|(?P<gap>,)(?=\s*[\]}}])")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BLANK: Final = re.compile(r"[ \t]*")
_REST: Final = re.compile(r"(?:[ \t]*(?:/\*.*?\*/|//[^\r\n]*))*", re.DOTALL)
_LAST_LINE: Final = re.compile(r"(?:\r\n|\r|\n)[ \t]*\Z")
_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
# numbers stay text: only where they end matters, and Python refuses integers of thousands of digits
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)


@dataclass(frozen=True, slots=True)
class Insert:
    """One entry more.

    Args:
        path: the list or object it goes into; what is missing of it is made.
        key: the place in the list, up to its length, or the name in the object.
        value: the entry.
    """

    path: tuple[str, ...]
    key: int | str
    value: Any


@dataclass(frozen=True, slots=True)
class Remove:
    """One entry less. Comments beside it stay: they are not ours.

    Args:
        path: the list it is in.
        index: its place there.
    """

    path: tuple[str, ...]
    index: int


Edit = Insert | Remove


@dataclass(frozen=True, slots=True)
class _Child:
    """An entry of a list, or a property of an object.

    Args:
        key: the property's name; None in a list.
        start: where it begins, with its name.
        value: where its value begins.
        end: where its value ends.
    """

    key: str | None
    start: int
    value: int
    end: int


def plain(text: str) -> str:
    """JSON with spaces in place of comments and trailing commas: every line and column stays what it was.

    Args:
        text: JSON with comments.

    Example:
        >>> plain('{ "url": "http://a", /* mine */ }')
        '{ "url": "http://a"             }'
    """
    return _blanked(_TRAILING, _code(text))


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with entries added and removed, one after the other.

    Args:
        text: JSON with comments, known to be valid, with an object at its top.
        edits: what to do. Entries that follow each other into one list that is missing are added together.

    Example:
        >>> edited('{ "crons": ["a"] /* two? */ }', [Insert(("crons",), 1, "b"), Remove(("crons",), 0)])
        '{ "crons": ["b"] /* two? */ }'
    """
    groups = itertools.groupby(edits, key=lambda edit: (type(edit), edit.path))
    for (_, path), group in groups:
        inserts: list[Insert] = []
        for edit in group:
            if isinstance(edit, Remove):
                text = _removed(text, edit)
            else:
                inserts.append(edit)
        if inserts:
            text = _inserted(text, path, inserts)
    return text


def applied(config: dict[str, Any], edits: Iterable[Edit]) -> dict[str, Any]:
    """The same on the decoded value, which is not changed itself.

    Example:
        >>> applied({"name": "app"}, [Insert(("triggers", "crons"), 0, "0 8 * * MON")])
        {'name': 'app', 'triggers': {'crons': ['0 8 * * MON']}}
    """
    result = copy.deepcopy(config)
    container: Any
    for edit in edits:
        if isinstance(edit, Remove):
            container = result
            for key in edit.path:
                container = container[key]
            del container[edit.index]
            continue
        container = result
        for depth, key in enumerate(edit.path):
            if container.get(key) is None:
                last = depth == len(edit.path) - 1
                container[key] = [] if last and isinstance(edit.key, int) else {}
            container = container[key]
        if isinstance(edit.key, int):
            container.insert(edit.key, edit.value)
        else:
            container[edit.key] = edit.value
    return result


def line_of(text: str, path: Sequence[int | str]) -> int:
    """The line of an entry, from 1, or of the innermost thing around it that is there.

    Args:
        text: JSON with comments, known to be valid.
        path: where it is.
    """
    code = plain(text)
    at = _skip(code, 0)
    found = at
    for key in path:
        if code[at] not in "[{":
            break
        child = _child(_children(code, at)[0], key)
        if child is None:
            break
        found, at = child.start, child.value
    return len(_LINE_BREAK.findall(text, 0, found)) + 1


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return match[0] if match["gap"] is None else re.sub(r"[^\r\n]", " ", match[0])

    return pattern.sub(blank, text)


def _code(text: str) -> str:
    """The text with spaces in place of comments and of a byte order mark."""
    return _blanked(_COMMENTS, text)


def _skip(code: str, at: int) -> int:
    """Where the next token begins."""
    space = _SPACE.match(code, at)
    return at if space is None else space.end()


def _children(code: str, start: int) -> tuple[list[_Child], int]:
    """What is in the list or object that begins at ``start``, and where it is closed."""
    closing = "]" if code[start] == "[" else "}"
    at = _skip(code, start + 1)
    children: list[_Child] = []
    while code[at] != closing:
        key, first = None, at
        if closing == "}":
            key, colon = _DECODER.raw_decode(code, at)
            at = _skip(code, _skip(code, colon) + 1)
        end = _DECODER.raw_decode(code, at)[1]
        children.append(_Child(key, first, at, end))
        at = _skip(code, end)
        if code[at] == ",":
            at = _skip(code, at + 1)
    return children, at


def _child(children: Sequence[_Child], key: int | str) -> _Child | None:
    if isinstance(key, int):
        return children[key] if key < len(children) else None
    # of two properties of one name the last one counts
    return next((child for child in reversed(children) if child.key == key), None)


def _inserted(text: str, path: tuple[str, ...], inserts: Sequence[Insert]) -> str:
    code = plain(text)
    at = _skip(code, 0)
    for depth, key in enumerate(path):
        child = _child(_children(code, at)[0], key)
        if child is None or code.startswith("null", child.value):
            made = _made(path[depth + 1 :], inserts)
            if child is None:
                return _add(text, at, len(_children(code, at)[0]), made, key)
            indent, unit = _indent(text, child.start), _unit(text)
            value = _Item(made, None).text(indent, unit if _own_line(code, child.start) else None, _break(text))
            return text[: child.value] + value + text[child.end :]
        at = child.value
    for insert in inserts:
        index, name = (insert.key, None) if isinstance(insert.key, int) else (None, insert.key)
        text = _add(text, at, len(_children(plain(text), at)[0]) if index is None else index, insert.value, name)
    return text


def _made(path: Sequence[str], inserts: Sequence[Insert]) -> Any:
    """The value of a property that is missing: objects down to the container of what is inserted."""
    return applied({}, [Insert(("made", *path), insert.key, insert.value) for insert in inserts])["made"]


@dataclass(frozen=True, slots=True)
class _Item:
    """What is added: a value, with its name when it goes into an object."""

    value: Any
    key: str | None

    def text(self, indent: str, unit: str | None, line_break: str) -> str:
        """As text; in one line if it is short, or has to be since ``unit`` is None."""
        head = "" if self.key is None else f"{json.dumps(self.key, ensure_ascii=False)}: "
        return head + _rendered(self.value, indent, unit, line_break, WIDTH - len(head))


def _rendered(value: Any, indent: str, unit: str | None, line_break: str, room: int) -> str:
    line = _one_line(value)
    if unit is None or len(indent) + len(line) <= room or not value or not isinstance(value, list | dict):
        return line
    inner = indent + unit
    items = (
        [_Item(value[key], key) for key in value] if isinstance(value, dict) else [_Item(item, None) for item in value]
    )
    body = f",{line_break}{inner}".join(item.text(inner, unit, line_break) for item in items)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}{line_break}{inner}{body}{line_break}{indent}{closing}"


def _one_line(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_one_line, value))}]"
    if isinstance(value, dict) and value:
        return f"{{ {', '.join(_Item(value[key], key).text('', None, '') for key in value)} }}"
    return json.dumps(value, ensure_ascii=False)


def _add(text: str, start: int, index: int, value: Any, key: str | None) -> str:
    """Add to the list or object that begins at ``start``."""
    code = _code(text)
    children, close = _children(plain(text), start)
    item = _Item(value, key)
    line_break, unit = _break(text), _unit(text)

    def on_own_line(indent: str) -> str:
        return line_break + indent + item.text(indent, unit, line_break)

    def in_line() -> str:
        return item.text("", None, line_break)

    if not children:
        inside = text[start + 1 : close]
        last_line = _LAST_LINE.search(inside)
        if last_line is not None:
            at = start + 1 + last_line.start()
            return text[:at] + on_own_line(_indent(text, start) + unit) + text[at:]
        written = inside.rstrip()
        at = start + 1 + len(written)
        if written:
            return f"{text[:at]} {in_line()}{'' if at < close else ' '}{text[at:]}"
        pad = " " if code[start] == "{" else ""
        return text[:at] + (inside or pad) + in_line() + ("" if inside else pad) + text[at:]
    if index == len(children):
        last = children[-1]
        comma = _skip(code, last.end)
        trailing = code[comma] == ","
        begin = comma + 1 if trailing else last.end
        end = _rest_of_line(text, begin, close)
        kept = text[begin:end]
        if _own_line(code, last.start) or _ends_in_line_comment(kept):
            added = on_own_line(_indent(text, last.start))
        else:
            added = f" {in_line()}"
        return text[:begin] + ("" if trailing else ",") + kept + added + ("," if trailing else "") + text[end:]
    begin = start + 1 if index == 0 else _skip(code, children[index - 1].end) + 1
    end = _rest_of_line(text, begin, close)
    space = _BLANK.match(text, end)
    if _LINE_BREAK.match(text, end if space is None else space.end()):
        return text[:end] + on_own_line(_indent(text, children[index].start)) + "," + text[end:]
    if index > 0:
        return f"{text[:begin]} {in_line()},{text[begin:]}"
    gap = text[begin : _skip(text, begin)]
    return text[:begin] + gap + in_line() + "," + (text[begin:] if gap else f" {text[begin:]}")


def _removed(text: str, remove: Remove) -> str:
    code = plain(text)
    at = _skip(code, 0)
    for key in remove.path:
        child = _child(_children(code, at)[0], key)
        if child is None:
            return text
        at = child.value
    children = _children(code, at)[0]
    child, code = children[remove.index], _code(text)
    comma = _skip(code, child.end)
    own_comma = code[comma] == ","
    start, end = child.start, child.end
    if own_comma and not text[end:comma].strip():
        end = comma + 1
    elif own_comma:
        text = text[:comma] + text[comma + 1 :]
    elif remove.index > 0:
        before = _skip(code, children[remove.index - 1].end)
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    return _without(text, start, end)


def _without(text: str, start: int, end: int) -> str:
    """The text without a piece of a line, and without the line if nothing else is in it."""
    after = end + len(_blank(text, end))
    line = _line_start(text, start)
    ends_line = _LINE_BREAK.match(text, after) is not None
    begins_line = not text[line:start].strip()
    if begins_line and ends_line:
        return text[: line - (2 if text[:line].endswith("\r\n") else 1)] + text[after:]
    if not begins_line and (ends_line or text[after] == "]"):
        return text[:start].rstrip(" \t") + text[end:]
    return text[:start] + text[after:]


def _rest_of_line(text: str, at: int, close: int) -> int:
    """Where the comments end that belong to what stands before them: if no other entry follows in their line."""
    rest = _REST.match(text, at)
    end = at if rest is None else rest.end()
    after = end + len(_blank(text, end))
    return end if after == close or _LINE_BREAK.match(text, after) else at


def _ends_in_line_comment(comments: str) -> bool:
    last = re.sub(r"/\*.*?\*/", "", comments, flags=re.DOTALL)
    return "//" in last


def _own_line(code: str, at: int) -> bool:
    start = _line_start(code, at)
    return start > 0 and not code[start:at].strip()


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent(text: str, at: int) -> str:
    return _blank(text, _line_start(text, at))


def _blank(text: str, at: int) -> str:
    found = _BLANK.match(text, at)
    return "" if found is None else found[0]


def _break(text: str) -> str:
    found = _LINE_BREAK.search(text)
    return "\n" if found is None else found[0]


def _unit(text: str) -> str:
    """How much the file indents: as far as its first property that has a line of its own."""
    code = plain(text)
    for child in _children(code, _skip(code, 0))[0]:
        if _own_line(code, child.start):
            return _indent(text, child.start) or "  "
    return "  "
