"""How JSON is laid out by whoever wrote it: line breaks, indentation, one line or several. What is added follows it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from lunorash.config.json_syntax import LINE_BREAK, children_of, plain, skip_space

__all__ = ["WIDTH", "Item", "blank_at", "has_own_line", "indent_of", "line_break_of", "line_start", "unit_of"]

WIDTH: Final = 120
"""What is added takes more than one line when it is wider than this, if there are several lines at all."""

_BLANK: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Item:
    """What is added: a value, with its name when it goes into an object."""

    value: Any
    key: str | None

    def one_line(self) -> str:
        """As text of one line."""
        return self._head() + _one_line(self.value)

    def text(self, indent: str, unit: str, line_break: str) -> str:
        """As text of one line if that is short, else of several, from the second one on indented.

        Args:
            indent: how far its first line is indented.
            unit: how much further what is inside goes.
            line_break: what ends its lines.
        """
        line = self.one_line()
        if not self.value or not isinstance(self.value, list | dict) or len(indent) + len(line) <= WIDTH:
            return line
        inner = indent + unit
        opening, closing = "{}" if isinstance(self.value, dict) else "[]"
        fields = self.value.items() if isinstance(self.value, dict) else ((None, each) for each in self.value)
        body = f",{line_break}{inner}".join(Item(value, key).text(inner, unit, line_break) for key, value in fields)
        return f"{self._head()}{opening}{line_break}{inner}{body}{line_break}{indent}{closing}"

    def _head(self) -> str:
        return "" if self.key is None else f"{json.dumps(self.key, ensure_ascii=False)}: "


def _one_line(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_one_line, value))}]"
    if isinstance(value, dict) and value:
        return f"{{ {', '.join(Item(value[key], key).one_line() for key in value)} }}"
    return json.dumps(value, ensure_ascii=False)


def has_own_line(code: str, at: int) -> bool:
    """Whether nothing but comments, blanked in ``code``, stands before a place in its line."""
    start = line_start(code, at)
    return start > 0 and not code[start:at].strip()


def line_start(text: str, at: int) -> int:
    """Where the line of a place begins."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def indent_of(text: str, at: int) -> str:
    """How far the line of a place is indented."""
    return blank_at(text, line_start(text, at))


def blank_at(text: str, at: int) -> str:
    """The spaces and tabs at a place."""
    found = _BLANK.match(text, at)
    return "" if found is None else found[0]


def line_break_of(text: str) -> str:
    """How the text ends its lines."""
    found = LINE_BREAK.search(text)
    return "\n" if found is None else found[0]


def unit_of(text: str) -> str:
    """How much the file indents: as far as its first property that has a line of its own."""
    code = plain(text)
    for child in children_of(code, skip_space(code, 0))[0]:
        if has_own_line(code, child.start):
            return indent_of(text, child.start) or "  "
    return "  "
