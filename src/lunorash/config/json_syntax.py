"""JSON with comments as a text: where its values begin and end. It is as strict, and as lenient, as wrangler is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["LINE_BREAK", "Child", "child_of", "children_of", "line_of", "plain", "skip_space", "without_comments"]

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
"""What ends a line."""

_STRING: Final = r'"(?:[^"\\\r\n]|\\.)*"?'
_COMMENTS: Final = re.compile(rf"{_STRING}|(?P<gap>^\ufeff|//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
# a comma behind nothing, as in "[,]", is no trailing one
_TRAILING: Final = re.compile(rf"{_STRING}|[\[{{,]\s*,|(?P<gap>,)(?=\s*[\]}}])")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
# numbers stay text: only where they end matters, and Python refuses integers of thousands of digits
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str)


@dataclass(frozen=True, slots=True)
class Child:
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
    return _blanked(_TRAILING, without_comments(text))


def without_comments(text: str) -> str:
    """The text with spaces in place of comments and of a byte order mark."""
    return _blanked(_COMMENTS, text)


def skip_space(code: str, at: int) -> int:
    """Where the next token begins."""
    space = _SPACE.match(code, at)
    return at if space is None else space.end()


def children_of(code: str, start: int) -> tuple[list[Child], int]:
    """What is in the list or object that begins at ``start``, and where it is closed."""
    closing = "]" if code[start] == "[" else "}"
    at = skip_space(code, start + 1)
    children: list[Child] = []
    while code[at] != closing:
        key, first = None, at
        if closing == "}":
            key, colon = _DECODER.raw_decode(code, at)
            at = skip_space(code, skip_space(code, colon) + 1)
        end = _DECODER.raw_decode(code, at)[1]
        children.append(Child(key, first, at, end))
        at = skip_space(code, end)
        if code[at] == ",":
            at = skip_space(code, at + 1)
    return children, at


def child_of(children: Sequence[Child], key: int | str) -> Child | None:
    """The entry at a place in a list or the property of a name; None if there is none."""
    if isinstance(key, int):
        return children[key] if key < len(children) else None
    # of two properties of one name the last one counts
    return next((child for child in reversed(children) if child.key == key), None)


def line_of(text: str, path: Sequence[int | str]) -> int:
    """The line of an entry, from 1, or of the innermost thing around it that is there.

    Args:
        text: JSON with comments, known to be valid.
        path: where it is.
    """
    code = plain(text)
    at = skip_space(code, 0)
    found = at
    for key in path:
        if code[at] not in "[{":
            break
        child = child_of(children_of(code, at)[0], key)
        if child is None:
            break
        found, at = child.start, child.value
    return len(LINE_BREAK.findall(text, 0, found)) + 1


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return match[0] if match["gap"] is None else re.sub(r"[^\r\n]", " ", match[0])

    return pattern.sub(blank, text)
