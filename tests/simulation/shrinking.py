"""Cutting a seed that fails down to what it takes: fewer kinds of faults, fewer jobs, a shorter time of trouble."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from .faults import KINDS, Kind
from .scenario import Scenario
from .world import World

__all__ = ["shrink"]

_TRIES: Final = 120
_STEPS: Final = 7
"""How often the time of trouble is halved."""


def shrink(scenario: Scenario, tries: int = _TRIES) -> World:
    """Find a smaller scenario that breaks the same promise.

    Args:
        scenario: one that breaks a promise.
        tries: how many simulations may be spent on it.

    Returns:
        the world of the smallest one that was found, after its end.
    """
    return _Shrinking(scenario, tries).run()


class _Shrinking:
    def __init__(self, scenario: Scenario, tries: int) -> None:
        self._left = tries
        self._smallest = _ended(scenario)
        assert self._smallest.journal.violation is not None, "it breaks nothing"
        self._invariant = self._smallest.journal.violation.invariant

    def run(self) -> World:
        for part in (self._faults, self._jobs, self._time, self._faults, self._jobs):
            for smaller in part():
                if self._left == 0:
                    return self._smallest
                self._try(smaller)
        return self._smallest

    @property
    def _now(self) -> Scenario:
        return self._smallest.scenario

    def _try(self, smaller: Scenario) -> bool:
        self._left -= 1
        world = _ended(smaller)
        violation = world.journal.violation
        fails = violation is not None and violation.invariant == self._invariant
        if fails:
            self._smallest = world
        return fails

    def _faults(self) -> Iterator[Scenario]:
        """Without any fault; else without each kind in turn that has happened."""
        happened = self._happened()
        if happened:
            yield replace(self._now, without=self._now.without.union(happened))
        for kind in self._happened():
            if kind in self._happened():
                yield replace(self._now, without=self._now.without | {kind})

    def _happened(self) -> list[Kind]:
        happened = self._smallest.faults.happened
        return [kind for kind in KINDS if happened[kind]]

    def _jobs(self) -> Iterator[Scenario]:
        """With the first job alone, the first two, ..."""
        clients = self._smallest.clients
        most = max(len(clients.plans), len(clients.orders))
        for jobs in _growing(most):
            if self._now.jobs is None or jobs < self._now.jobs:
                yield replace(self._now, jobs=jobs)

    def _time(self) -> Iterator[Scenario]:
        """With faults only at the beginning."""
        if not self._happened():
            return
        low, high = 0.0, self._smallest.loop.time()
        for _ in range(_STEPS):
            middle = round((low + high) / 2, 1)
            before = self._smallest
            yield replace(self._now, calm_after=middle)
            if self._smallest is before:
                low = middle
            else:
                high = middle


def _growing(most: int) -> Iterator[int]:
    jobs = 1
    while jobs < most:
        yield jobs
        jobs += max(1, jobs // 4)


def _ended(scenario: Scenario) -> World:
    world = World(scenario)
    world.run()
    return world
