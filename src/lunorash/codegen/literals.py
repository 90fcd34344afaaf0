"""Python literals as ruff formats them."""

from __future__ import annotations

from typing import Any, Final

from lunorash.codegen.document import tolerated
from lunorash.codegen.expression import WIDTH

__all__ = ["literal", "long_text", "long_value"]

_CHUNK: Final = WIDTH - 8


def literal(value: str | bytes | int | None) -> str:
    """A literal in ASCII: the same on every machine, and nothing in it that a linter could take for another letter."""
    if isinstance(value, str):
        return _quoted(ascii(f"'\"{value}")[4:-1].replace("\\'", "'"))
    if isinstance(value, bytes):
        return "b" + _quoted(repr(b"'\"" + value)[5:-1].replace("\\'", "'"))
    return repr(value)


def long_text(prefix: str, text: str) -> list[str]:
    """The lines of ``prefix`` and a text of any length: one piece per line of the text, long ones divided."""
    whole = literal(text)
    if len(prefix) + len(whole) <= WIDTH:
        return [prefix + whole]
    if len(whole) + 4 <= WIDTH:
        return [f"{prefix}(", f"    {whole}", ")"]
    pieces = [piece for line in text.splitlines(keepends=True) for piece in _divided(line)]
    return [f"{prefix}(", *(f"    {literal(piece)}" for piece in pieces), ")"]


def long_value(prefix: str, value: Any, suffix: str = "") -> list[str]:
    """The lines of ``prefix``, a JSON value of any size, and ``suffix``: as much on each line as there is room for.

    Args:
        prefix: what comes before the value, indented.
        value: made of None, bool, int, float, str, list and dict with strings as keys.
        suffix: what comes after it.
    """
    whole = f"{prefix}{_flat(value)}{suffix}"
    if len(whole) <= WIDTH or not value or not isinstance(value, list | dict):
        return [tolerated(whole)]
    space = " " * (len(prefix) - len(prefix.lstrip(" ")))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    lines = [tolerated(prefix + opening)]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        name = f"{literal(key)}: " if isinstance(value, dict) else ""
        lines.extend(long_value(f"{space}    {name}", item, ","))
    return [*lines, f"{space}{closing}{suffix}"]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    # the formatter writes 1e16 for Python's 1e+16
    return repr(value).replace("e+", "e") if isinstance(value, float) else literal(value)


def _quoted(escaped: str) -> str:
    """Text whose backslashes and control characters are escaped, in the quotes that need fewer escapes."""
    if escaped.count('"') > escaped.count("'"):
        return "'" + escaped.replace("'", "\\'") + "'"
    return '"' + escaped.replace('"', '\\"') + '"'


def _divided(line: str) -> list[str]:
    if len(literal(line)) <= _CHUNK:
        return [line]
    middle = len(line) // 2
    space = line.rfind(" ", 1, middle) + 1
    cut = space if space > len(line) // 4 else middle
    return [*_divided(line[:cut]), *_divided(line[cut:])]
