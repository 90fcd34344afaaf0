"""All cases by name. Each takes a store on fresh storage and raises AssertionError if it does not hold."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final

from lunorash.scheduler.store import Store

from . import (
    alarm_cases,
    batch_cases,
    breaker_cases,
    bulk_cases,
    cost_cases,
    engine_cases,
    finding_cases,
    history_cases,
    journal_cases,
    listing_cases,
    many_cases,
    outage_cases,
    outbox_cases,
    outcome_cases,
    pool_cases,
    pool_change_cases,
    schema_cases,
    statistics_cases,
    store_cases,
)
from .state_cases import TABLE_CASES

__all__ = ["CASES"]


def _cases_of(module: ModuleType) -> dict[str, Callable[[Store], None]]:
    return {name: case for name, case in vars(module).items() if name.startswith("case_")}


_MODULES: Final = (
    store_cases,
    schema_cases,
    engine_cases,
    finding_cases,
    alarm_cases,
    batch_cases,
    breaker_cases,
    bulk_cases,
    cost_cases,
    history_cases,
    journal_cases,
    listing_cases,
    many_cases,
    outage_cases,
    outbox_cases,
    outcome_cases,
    pool_cases,
    pool_change_cases,
    statistics_cases,
)
_GROUPS: Final = (*map(_cases_of, _MODULES), TABLE_CASES)

CASES: Final[dict[str, Callable[[Store], None]]] = {name: case for group in _GROUPS for name, case in group.items()}

assert len(CASES) == sum(map(len, _GROUPS)), "two cases share a name"
