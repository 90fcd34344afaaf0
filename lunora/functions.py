"""The example app's functions, by path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lunora import greetings

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "greetings:hello": greetings.hello,
    "greetings:flaky": greetings.flaky,
    "greetings:slow": greetings.slow,
}
