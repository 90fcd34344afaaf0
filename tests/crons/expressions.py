"""Expressions of every form, for the property tests."""

from __future__ import annotations

from hypothesis import strategies as st

_MONTHS = ["JAN", "FEB", "mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "dec"]
_WEEKDAYS = ["SUN", "MON", "tue", "WED", "THU", "FRI", "SAT"]


@st.composite
def _part(draw: st.DrawFn, low: int, high: int, names: list[str]) -> str:
    def written(value: int) -> str:
        return draw(st.sampled_from([str(value), names[value - low]])) if names else str(value)

    first = draw(st.integers(low, high))
    last = draw(st.integers(first, high))
    step = draw(st.integers(1, high - low))
    form = draw(st.sampled_from(["a", "a", "a-b", "a-b/c", "a/c", "*/c"]))
    span = {"a": written(first), "a-": f"{written(first)}-{written(last)}", "*/": "*", "a/": written(first)}[form[:2]]
    return f"{span}/{step}" if form.endswith("c") else span


def _field(low: int, high: int, names: list[str] | None = None) -> st.SearchStrategy[str]:
    parts = st.lists(_part(low, high, names or []), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), parts)


_weekday = st.one_of(st.sampled_from(_WEEKDAYS), st.integers(1, 7).map(str))
_day_fields = st.one_of(
    _field(1, 31).map(lambda field: f"{field} {{}} *"),
    _field(1, 7, _WEEKDAYS).map(lambda field: f"* {{}} {field}"),
    st.sampled_from(["L {} *", "LW {} *", "* {} L"]),
    st.integers(1, 30).map(lambda before: f"L-{before} {{}} *"),
    st.integers(1, 28).map(lambda day: f"{day}W {{}} *"),
    st.integers(29, 31).map(lambda day: f"{day}W 1,3,5,7-8,10/2 *"),
    _weekday.map(lambda weekday: f"* {{}} {weekday}L"),
    st.builds("* {{}} {}#{}".format, _weekday, st.integers(1, 5)),
)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """A valid expression; it may be one that never fires."""
    days = draw(_day_fields).format(draw(_field(1, 12, _MONTHS)))
    return f"{draw(_field(0, 59))} {draw(_field(0, 23))} {days}"
