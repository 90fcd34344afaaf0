"""No wedge, in its short form: an origin that misbehaves in every way, and the isolate serves on."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tests.soak.storm import Look, Weathered, storms


def test_an_isolate_outlives_two_storms_and_puts_everything_away() -> None:
    """cloudflare/workerd#6624. `make soak` has storms of a minute each."""
    weathered = storms(seconds=15, seed=20_261_130, say=lambda line: print(line, file=sys.stderr))
    assert weathered.violations(resident=False) == []
    assert min(weathered.dispatches) > 20, "hardly anything was sent in one of the storms"


CALM = Look(isolate="one", tasks=1, heap_mb=43.25, resident_mb=300.0)
SOUND = Weathered(
    looks=(CALM, replace(CALM, resident_mb=480.0), replace(CALM, resident_mb=489.0)),
    dispatches=[100, 100],
    unfinished=0,
)


def test_sound_weather_passes() -> None:
    assert SOUND.violations(resident=True) == []


@pytest.mark.parametrize(
    ("number", "change", "found"),
    [
        (1, {"isolate": "two"}, "the isolate was replaced"),
        (2, {"heap_mb": 53.25}, "Python's memory grew"),
        (2, {"resident_mb": 490.0}, "took memory from 480.0 to 490.0"),
        (2, {"tasks": 2}, "1 tasks were left behind"),
    ],
)
def test_each_damage_is_found(number: int, change: dict[str, object], found: str) -> None:
    looks = [*SOUND.looks]
    looks[number] = replace(looks[number], **change)  # type: ignore[arg-type]
    violations = replace(SOUND, looks=tuple(looks)).violations(resident=True)  # type: ignore[arg-type]
    assert len(violations) == 1
    assert found in violations[0]
    assert replace(SOUND, unfinished=3).violations(resident=True) == ["3 jobs never came to rest"]
