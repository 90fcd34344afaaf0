"""JSON with comments as text that people wrote: entries are added and removed in place, and all else stays as it is.

No library does this. jsonc-parser of npm, which editors and wrangler use, lays lists out anew, moves a comment behind
the next entry and removes comments together with what stands before them; those for Python either refuse trailing
commas, or write the whole text anew.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lunorash.config.json_layout import (
    WIDTH,
    Item,
    blank_at,
    has_own_line,
    indent_of,
    line_break_of,
    line_start,
    unit_of,
)
from lunorash.config.json_syntax import LINE_BREAK, Child, child_of, children_of, plain, skip_space, without_comments

__all__ = ["Edit", "Insert", "Remove", "applied", "edited"]

_REST: Final = re.compile(r"(?:[ \t]*(?:/\*.*?\*/|//[^\r\n]*))*", re.DOTALL)
_LAST_LINE: Final = re.compile(r"(?:\r\n|\r|\n)[ \t]*\Z")


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


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with entries added and removed, one after the other.

    Args:
        text: JSON with comments, known to be valid, with an object at its top.
        edits: what to do. Entries that follow each other into what is missing are added together.

    Example:
        >>> edited('{ "crons": ["a"] /* two? */ }', [Insert(("crons",), 1, "b"), Remove(("crons",), 0)])
        '{ "crons": ["b"] /* two? */ }'
    """
    waiting = list(edits)
    while waiting:
        edit = waiting[0]
        if isinstance(edit, Remove):
            text, done = _removed(text, edit), 1
        else:
            text, done = _inserted(text, edit, waiting)
        del waiting[:done]
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


def _inserted(text: str, insert: Insert, waiting: Sequence[Edit]) -> tuple[str, int]:
    """The text with one entry more, or with all the waiting ones that go into what is missing; and how many went."""
    code = plain(text)
    at = skip_space(code, 0)
    for depth, key in enumerate(insert.path, 1):
        child = child_of(children_of(code, at)[0], key)
        if child is None or code.startswith("null", child.value):
            together = _together(waiting, insert.path[:depth])
            value = applied({}, [replace(edit, path=("made", *edit.path[depth:])) for edit in together])["made"]
            if child is None:
                text = _add(text, at, len(children_of(code, at)[0]), value, key)
            else:
                item = Item(value, None)
                laid_out = item.text(indent_of(text, child.start), unit_of(text), line_break_of(text))
                written = laid_out if has_own_line(code, child.start) else item.one_line()
                text = text[: child.value] + written + text[child.end :]
            return text, len(together)
        at = child.value
    if isinstance(insert.key, int):
        return _add(text, at, insert.key, insert.value, None), 1
    return _add(text, at, len(children_of(code, at)[0]), insert.value, insert.key), 1


def _together(waiting: Iterable[Edit], path: tuple[str, ...]) -> list[Insert]:
    """The first of the waiting edits, as many as go into the same place."""
    together: list[Insert] = []
    for edit in waiting:
        if isinstance(edit, Remove) or edit.path[: len(path)] != path:
            break
        together.append(edit)
    return together


def _add(text: str, start: int, index: int, value: Any, key: str | None) -> str:
    """Add to the list or object that begins at ``start``."""
    children, close = children_of(plain(text), start)
    item = Item(value, key)
    if not children:
        return _fill(text, start, close, item)
    if index == len(children):
        return _append(text, children[-1], close, item)
    before = children[index - 1] if index else None
    begin = start + 1 if before is None else skip_space(without_comments(text), before.end) + 1
    end = _rest_of_line(text, begin, close)
    line_end = end + len(blank_at(text, end))
    if LINE_BREAK.match(text, line_end):
        added = _on_own_line(text, item, indent_of(text, children[index].start))
        return f"{text[:line_end]}{added},{text[line_end:]}"
    if before is not None:
        return f"{text[:begin]} {item.one_line()},{text[begin:]}"
    gap = blank_at(text, begin)
    return text[:begin] + gap + item.one_line() + "," + (gap or " ") + text[begin + len(gap) :]


def _fill(text: str, start: int, close: int, item: Item) -> str:
    """Add to what is empty, or holds comments only."""
    inside = text[start + 1 : close]
    last_line = _LAST_LINE.search(inside)
    if last_line is not None:
        at = start + 1 + last_line.start()
        return text[:at] + _on_own_line(text, item, indent_of(text, start) + unit_of(text)) + text[at:]
    at = start + 1 + len(inside.rstrip())
    if at > start + 1:
        return f"{text[:at]} {item.one_line()}{'' if at < close else ' '}{text[at:]}"
    pad = " " if text[start] == "{" else ""
    return text[:at] + (inside or pad) + item.one_line() + (inside or pad) + text[close:]


def _append(text: str, last: Child, close: int, item: Item) -> str:
    """Add behind the last entry and the comments of its line; a trailing comma is kept up."""
    code = without_comments(text)
    comma = skip_space(code, last.end)
    trailing = code[comma] == ","
    begin = comma + 1 if trailing else last.end
    end = _rest_of_line(text, begin, close)
    kept = text[begin:end]
    if has_own_line(code, last.start) or _ends_in_line_comment(kept):
        added = _on_own_line(text, item, indent_of(text, last.start))
    elif LINE_BREAK.search(text) and close - line_start(text, close) + len(item.one_line()) > WIDTH:
        added = _on_own_line(text, item, indent_of(text, last.start) + unit_of(text))
    else:
        added = f" {item.one_line()}"
    return text[:begin] + ("" if trailing else ",") + kept + added + ("," if trailing else "") + text[end:]


def _on_own_line(text: str, item: Item, indent: str) -> str:
    line_break = line_break_of(text)
    return line_break + indent + item.text(indent, unit_of(text), line_break)


def _removed(text: str, remove: Remove) -> str:
    code = plain(text)
    at = skip_space(code, 0)
    for key in remove.path:
        child = child_of(children_of(code, at)[0], key)
        if child is None:
            return text
        at = child.value
    children = children_of(code, at)[0]
    child, code = children[remove.index], without_comments(text)
    comma = skip_space(code, child.end)
    own_comma = code[comma] == ","
    start, end = child.start, child.end
    if own_comma and not text[end:comma].strip():
        end = comma + 1
    elif own_comma:
        text = text[:comma] + text[comma + 1 :]
    elif remove.index > 0:
        before = skip_space(code, children[remove.index - 1].end)
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    return _without(text, start, end)


def _without(text: str, start: int, end: int) -> str:
    """The text without a piece of a line, and without the line if nothing else is in it."""
    after = end + len(blank_at(text, end))
    line = line_start(text, start)
    ends_line = LINE_BREAK.match(text, after) is not None
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
    after = end + len(blank_at(text, end))
    return end if after == close or LINE_BREAK.match(text, after) else at


def _ends_in_line_comment(comments: str) -> bool:
    last = re.sub(r"/\*.*?\*/", "", comments, flags=re.DOTALL)
    return "//" in last
