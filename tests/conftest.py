"""The order of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

_LONGEST: Final = ("soak", "integration", "simulation", "browser")
"""The folders whose files take longest. They come first, so that no process is left with one in the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by folder; within one the order stays what it was."""
    here = Path(__file__).parent
    places = {folder: place for place, folder in enumerate(_LONGEST)}

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""
        return places.get(folder, len(_LONGEST))

    items.sort(key=place)
