from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lunorash.scheduler.histogram import BOUNDS_MS, Histogram

_DURATIONS = st.lists(st.integers(0, 10_000_000), min_size=1)


def _of(durations: list[int]) -> Histogram:
    histogram = Histogram()
    for ms in durations:
        histogram.observe(ms)
    return histogram


@given(_DURATIONS, st.floats(0, 1))
def test_a_quantile_is_in_the_bucket_of_the_true_one_and_never_above_the_longest(
    durations: list[int], q: float
) -> None:
    true = sorted(durations)[max(0, -int(-q * len(durations) // 1) - 1)]
    estimated = _of(durations).quantile(q)
    assert estimated is not None
    lower = max((bound for bound in (0, *BOUNDS_MS) if bound < true), default=0)
    upper = min((bound for bound in BOUNDS_MS if bound >= true), default=max(durations))
    assert lower <= estimated <= min(upper, max(durations))


@given(_DURATIONS, _DURATIONS)
def test_histograms_add_up_and_are_stored(first: list[int], second: list[int]) -> None:
    added = _of(first)
    added.add(Histogram.from_list(_of(second).to_list()))
    assert added.to_list() == _of(first + second).to_list()
    assert added.count == added.cumulative()[-1] == len(first + second)
    assert added.total_ms == sum(first + second)


def test_a_bound_belongs_to_its_bucket() -> None:
    """As Prometheus has it: le, less or equal."""
    assert _of([10, 11]).cumulative()[:2] == [1, 2]


def test_of_nothing_there_is_no_quantile() -> None:
    assert Histogram().summary() == {"p50": None, "p99": None, "max": None}
