"""The simulation can fail: each bug that is planted into the scheduler is found."""

from __future__ import annotations

import pytest

from .__main__ import main
from .planted_bugs import BUGS
from .world import World

SEEDS = range(100)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[bug](monkeypatch)
    assert any(World(seed).run() for seed in SEEDS), f"no seed in {SEEDS} finds it"


def test_a_failing_seed_says_how_to_replay_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    BUGS["an attempt is counted when it ends"](monkeypatch)
    assert main(["0"]) == 1
    shown = capsys.readouterr().out
    assert "seed 0 (outage) breaks: what is charged is accounted for: " in shown
    assert "python -m tests.simulation 0" in shown
    assert main(["--seeds", "2"]) == 1
    assert "failed: 0" in capsys.readouterr().out
