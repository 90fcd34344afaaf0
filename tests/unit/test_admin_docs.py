"""docs/admin-api.md names every operation, and no other, and every condition of a filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from lunorash.scheduler.finding import MAX_COUNTED, MAX_LOOKED_AT
from lunorash.studio.admin import PREFIX, AdminParts, admin_operations
from lunorash.studio.job_routes import FilterQuery

_TEXT: Final = (Path(__file__).parents[2] / "docs" / "admin-api.md").read_text(encoding="utf-8")


def test_the_table_is_that_of_the_operations() -> None:
    written = re.findall(r"^\| `(GET|POST) (\S+)` \| (.+?) \|$", _TEXT, re.MULTILINE)
    there = [(each.method, each.path, each.summary) for each in admin_operations(AdminParts())]
    assert sorted(written) == sorted(there)
    assert PREFIX in _TEXT


def test_every_condition_is_named() -> None:
    named = {name for row in re.findall(r"^\| (`.+?) \|", _TEXT, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert set(FilterQuery.model_fields) <= named


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"{MAX_LOOKED_AT:,}" in _TEXT
    assert f"{MAX_COUNTED:,}" in _TEXT
