"""The numbers that the benchmark sums up with are right, and so is its document. Nothing here is timed."""

from __future__ import annotations

import doctest
import json
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import measurement
from benchmarks.measurement import Measurement, gather, percentile
from benchmarks.report import Failed, Measured, Outcome, Skipped, document

VALUES = st.lists(st.integers(-1000, 1000), min_size=1, max_size=300)


def test_the_examples_are_true() -> None:
    assert doctest.testmod(measurement).failed == 0


@pytest.mark.parametrize(
    ("runs", "median"), [((5.0,), 5.0), ((9.0, 1.0, 4.0, 4.5, 100.0), 4.5), ((1.0, 2.0, 3.0, 10.0), 2.5)]
)
def test_the_median_is_the_middle_and_one_wild_run_does_not_move_it(runs: tuple[float, ...], median: float) -> None:
    shown = Measurement("ms", runs).to_dict()
    assert shown["median"] == median
    assert (shown["lowest"], shown["highest"]) == (min(runs), max(runs))
    assert shown["runs"] == list(runs), "all runs are there, in their order"


@pytest.mark.parametrize("runs", [(), (1.0, math.nan), (math.inf,)])
def test_what_is_no_measurement_is_refused(runs: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Measurement("ms", runs)


@given(VALUES, st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(values: list[int], hundredths: int) -> None:
    found = percentile(values, hundredths / 100)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= hundredths * len(values)
    below = [value for value in values if value < found]
    assert len(below) * 100 < hundredths * len(values)


@given(VALUES)
def test_the_last_percentile_is_the_greatest_value(values: list[int]) -> None:
    assert percentile(values, 1) == max(values)
    if len(values) % 2:
        assert percentile(values, 0.5) == statistics.median(values)


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1], 0), ([1], 1.5)])
def test_there_is_no_percentile_of_nothing(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="no percentile"):
        percentile(values, share)


def test_a_run_that_measured_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="rate"):
        gather({"rate": "jobs/s"}, [{"rate": 1.0}, {"seconds": 1.0}])


@pytest.mark.parametrize(("outcome", "ok"), [(Skipped("not yet"), True), (Failed("it broke"), False)])
def test_the_document_says_what_was_measured_left_out_and_gone_wrong(outcome: Outcome, ok: bool) -> None:
    measured = Measured(gather({"rate": "jobs/s"}, [{"rate": 1.23456}, {"rate": 3.0}]))
    figures: dict[str, tuple[str, Outcome]] = {"drain": ("a drain", measured), "other": ("another", outcome)}
    printed = json.loads(json.dumps(document({"cores": 2}, {"runs": 2}, figures)))
    assert printed["ok"] is ok
    assert (printed["format"], printed["machine"], printed["settings"]) == (1, {"cores": 2}, {"runs": 2})
    assert printed["figures"]["drain"] == {
        "what": "a drain",
        "measures": {
            "rate": {"unit": "jobs/s", "median": 2.117, "lowest": 1.235, "highest": 3.0, "runs": [1.235, 3.0]}
        },
    }
    assert set(printed["figures"]["other"]) == {"what", "failed" if isinstance(outcome, Failed) else "skipped"}
