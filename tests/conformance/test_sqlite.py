"""The conformance suite on the standard library's sqlite3."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lunorash.scheduler.store import SqliteStore
from tests.conformance.suite import CASES


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    made = SqliteStore()
    yield made
    made.close()


@pytest.mark.parametrize("name", CASES)
def test_on_sqlite(name: str, store: SqliteStore) -> None:
    CASES[name](store)
